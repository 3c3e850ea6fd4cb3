import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { isPlatformError } from '../../../core/errors.ts'
import type { Storage } from '../../../drivers/storage/interface.ts'
import { receiveBundle } from '../../../plugins/deploy/bundle/receive-bundle.ts'
import { Deploys } from '../../../plugins/deploy/deploys.ts'
import { receive } from '../../../plugins/deploy/uploads/receive-file.ts'
import { inFull } from '../../kit/extent.ts'
import { type Fault, faultyStorage } from '../../kit/fault-storage.ts'
import { type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { type Build, build, filesOf, liveBuild, tarOf } from './build.ts'

const LIMITS = { filesPerDeploy: 100, deployBytes: 1e6, deployFileBytes: 1e6, openDeploysPerPlayer: 1000 }
const MOST = 30

t.test('whichever operation of a relayed upload fails, a game is never half live, and trying again mends it', (t) =>
  everyFault(t, async (platform, deploys, storage, { deployId, files }) => {
    const contents = await deploys.manifests.contentsOf(deployId)
    for (const [sha256, { path }] of contents ?? []) {
      const wanted = await storage.presignPut(
        `uploads/${deployId}/${sha256}`,
        filesOf(files).find((file) => file.path === path) as never,
        {
          expiresAt: new Date(platform.clock.now().getTime() + 1000),
          relay: `${platform.portal}/api/deploy/${deployId}/files/${sha256}`,
        },
      )
      const { pathname, search } = new URL(wanted.url)
      await receive(
        { deploys, storage, limits: LIMITS },
        { deployId, sha256, url: pathname + search, body: bodyOf(files[path] as string) },
      )
    }
  }),
)

inFull(t)?.test('so it is when clients send many files at once', (t) =>
  everyFault(t, async (platform, deploys, _storage, { deployId, files }) => {
    const expiresAt = new Date(platform.clock.now().getTime() + 1000)
    const { url } = deploys.bundles.presign(deployId, filesOf(files), expiresAt)
    const { pathname, search } = new URL(url)
    await receiveBundle(deploys, { deployId, url: pathname + search, body: bodyOf(tarOf(files)) })
  }),
)

inFull(t)?.test('so it is where clients send straight to the storage', (t) =>
  everyFault(t, async (_platform, _deploys, storage, { deployId, files }) => {
    for (const { path, sha256, size } of filesOf(files)) {
      await storage.put(`uploads/${deployId}/${sha256}`, Readable.from([Buffer.from(files[path] as string)]), {
        sha256,
        size,
      })
    }
  }),
)

type Send = (
  platform: Platform,
  deploys: Deploys,
  storage: Storage,
  deploy: { deployId: string; files: Build },
) => Promise<void>

/** Deploys repeatedly, with another storage operation failing each time, until none is left to fail. */
async function everyFault(t: Test, send: Send): Promise<void> {
  // Each fault has a game of its own.
  const platform = await startPlatform(t, { config: { limits: { gamesPerPlayer: 3 * MOST } } })
  const player = await platform.signUp()
  let stamp = 0
  for (const mode of ['before', 'after', 'mid-stream'] as const) {
    let ended = false
    for (let failOn = 1; failOn <= MOST && !ended; failOn++) {
      ended = await oneFault(t, { platform, player, send, stamp: ++stamp }, { failOn, mode })
    }
    t.ok(ended, `${mode}: every operation has failed once`)
  }
}

async function oneFault(
  t: Test,
  { platform, player, send, stamp }: { platform: Platform; player: PlayerClient; send: Send; stamp: number },
  fault: Fault,
): Promise<boolean> {
  const { app } = platform
  const game = await app.games.create(player.id, { title: `Game ${stamp}`, description: '' })
  const before = build(`before ${stamp}`)
  const after = build(`after ${stamp}`)
  const sound = new Deploys(app, LIMITS)
  await run(sound, app.storage, before)

  const storage = faultyStorage(app.storage, fault)
  const deploys = new Deploys({ ...parts(), storage }, LIMITS)
  const failed = await run(deploys, storage, after).then(
    () => null,
    (error) => error,
  )
  const live = await liveBuild(platform, game.id)
  const name = `${fault.mode} ${fault.failOn}`
  if (failed) {
    t.ok(isPlatformError(failed) && failed.statusCode === 503, `${name}: said to be the storage's fault`)
    t.same(live, before, `${name}: the old build is live`)
    await run(sound, app.storage, after)
    t.same(await liveBuild(platform, game.id), after, `${name}: the next attempt is live`)
    return false
  }
  t.same(live, after, `${name}: the new build is live`)
  return storage.operations < fault.failOn

  function parts() {
    const { config, db, clock, events, games, jobs, keys, origins, quotas, identity, workerPrograms } = app
    return { config, db, clock, events, games, jobs, keys, origins, quotas, identity, workerPrograms }
  }
  async function run(deploys: Deploys, storage: Storage, files: Build): Promise<void> {
    const { deployId } = await deploys.start(player.id, { gameId: game.id, files: filesOf(files) })
    await send(platform, deploys, storage, { deployId, files })
    await deploys.finalize(player.id, deployId)
  }
}

/** Returns a request body in the form that the relay accepts. */
function bodyOf(bytes: string | Buffer): never {
  return Object.assign(Readable.from([Buffer.from(bytes)]), {
    headers: { 'content-length': String(Buffer.byteLength(bytes)) },
    complete: true,
  }) as never
}
