import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { InvalidRequest, NotFound } from '../../core/errors.ts'
import { type Game, NotBasedOnLive } from '../games/index.ts'
import { announcementOf, type Manifest } from './manifest/manifests.ts'
import type { FinalizedDeploy, NewDeploy, NewFile } from './schemas.ts'
import type { ExpectedFile } from './uploads/uploads.ts'

/** Files of a build in memory. */
export interface NewBuild {
  /** Id or slug. */
  gameId: string
  /** The bytes by path. */
  files: ReadonlyMap<string, Buffer>
  /** Whether these are all files. Otherwise they replace or join those of the live build. */
  whole: boolean
  /** Paths of the live build that the new one lacks. */
  remove: readonly string[]
  /** The deploy that the caller has read. The build is refused when another is live by now. */
  basedOn?: string
  /** The path of the room script; null for none. Default: that of the live build, while its file is there. */
  room?: string | null
  message?: string
  preview?: boolean
  /** Ends the live rooms, so that new ones begin with the new script. */
  restartRooms?: boolean
}

interface Deploying {
  manifest(deployId: string): Promise<Manifest | null>
  get(playerId: string, deployId: string): Promise<{ room: string | null }>
  begin(ownerId: string, deploy: NewDeploy, deployId: string): Promise<{ deployId: string; wanted: NewFile[] }>
  readonly uploads: { store(deployId: string, expected: ExpectedFile, body: Readable): Promise<void> }
  finalize(
    playerId: string,
    deployId: string,
    options: { preview?: boolean; restartRooms?: boolean; expectedLive?: string | null },
  ): Promise<FinalizedDeploy>
  readonly unresumable: { run<Result>(work: (deployId: string) => Promise<Result>): Promise<Result> }
}

/** The bytes that are read in one turn of the event loop: a millisecond or two. */
const TURN_BYTES = 1024 * 1024

/** Computes the digests of files, and lets whatever else waits have its turn. */
async function* digested(files: ReadonlyMap<string, Buffer>) {
  let left = TURN_BYTES
  for (const [path, content] of files) {
    const hash = createHash('sha256')
    for (const slice of slicesOf(content)) {
      hash.update(slice)
      left -= slice.length
      if (left > 0) continue
      await nextTurn()
      left = TURN_BYTES
    }
    yield { path, content, sha256: hash.digest('hex') }
  }
}

function* slicesOf(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += TURN_BYTES) yield content.subarray(at, at + TURN_BYTES)
}

/** @see Deploys.publish */
export async function publishFiles(
  games: { mustMake(playerId: string, idOrSlug: string): Promise<Game> },
  deploys: Deploying,
  playerId: string,
  build: NewBuild,
): Promise<FinalizedDeploy & { deployId: string }> {
  const game = await games.mustMake(playerId, build.gameId)
  const { liveDeployId } = game
  if (build.basedOn !== undefined && build.basedOn !== liveDeployId) {
    throw new NotBasedOnLive(liveDeployId ?? 'none')
  }
  const live = build.whole || liveDeployId === null ? null : await deploys.manifest(liveDeployId)
  const listed = new Map<string, NewFile>()
  for (const [path, file] of live ?? []) listed.set(path, announcementOf(path, file))
  for (const path of build.remove) {
    if (!listed.delete(path)) {
      throw new InvalidRequest(`There is no file ${path} to remove.`).with({
        details: [{ path: 'remove', message: `${path} is not a file of the live build` }],
      })
    }
  }
  const bytes = new Map<string, Buffer>()
  for await (const { path, content, sha256 } of digested(build.files)) {
    bytes.set(sha256, content)
    listed.set(path, { path, sha256, size: content.length })
  }
  const { message, preview = false, restartRooms = false } = build
  const liveRoom = live && liveDeployId ? (await deploys.get(playerId, liveDeployId)).room : null
  const room = build.room === undefined ? liveRoom && listed.has(liveRoom) && liveRoom : build.room
  const announced = {
    gameId: game.id,
    files: [...listed.values()],
    ...(message ? { message } : {}),
    ...(room ? { room } : {}),
  }
  return deploys.unresumable.run(async (deployId) => {
    const { wanted } = await deploys.begin(playerId, announced, deployId)
    for (const { sha256, size } of wanted) {
      const content = bytes.get(sha256)
      // A file of the live build belongs to the owner, so it is not among the missing ones.
      if (!content) throw new NotFound('file in the live build')
      await deploys.uploads.store(deployId, { sha256, size }, Readable.from(slicesOf(content)))
    }
    // Another publication may have gone live since the live build was read, and its changes must not be lost.
    const expects = !preview && (!build.whole || build.basedOn !== undefined)
    const options = { preview, restartRooms, ...(expects ? { expectedLive: liveDeployId } : {}) }
    return { deployId, ...(await deploys.finalize(playerId, deployId, options)) }
  })
}
