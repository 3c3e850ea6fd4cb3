import type { FastifyInstance } from 'fastify'
import { announcementOf, type FinalizedDeploy } from '../deploy/index.ts'
import { NotBasedOnLive } from '../games/index.ts'
import { filesOf, roomOf } from './draft-files.ts'
import type { Drafts } from './drafts.ts'
import { DraftRow } from './entities.ts'
import { DraftOutdated, NothingToPublish } from './errors.ts'

/**
 * Publishes a draft by an ordinary deploy. Nothing is uploaded: the contents of the draft are in the storage already.
 * A change that is made meanwhile stays in the draft.
 *
 * @throws NothingToPublish; DraftOutdated when another deploy is live than that on which the draft is based
 * @throws InvalidRequest for files that make no build; InvalidRoomScript, QuotaExceeded: the draft stays
 */
export async function publishDraft(
  { drafts, deploys }: Pick<FastifyInstance, 'deploys'> & { drafts: Drafts },
  playerId: string,
  idOrSlug: string,
  message?: string,
): Promise<FinalizedDeploy & { deployId: string }> {
  const game = await drafts.mustEdit(playerId, idOrSlug)
  const { row, files: changes } = await drafts.store.read(game.id)
  if (row === null || (changes.length === 0 && row.room === null)) throw new NothingToPublish()
  const base = await drafts.store.baseOf(game, { row, files: changes })
  if (base.deployId !== game.liveDeployId) throw new DraftOutdated()
  const files = filesOf(base, changes)
  const room = roomOf(base, row, files)
  const announced = {
    gameId: game.id,
    files: Array.from(files, ([path, file]) => announcementOf(path, file)),
    ...(message ? { message } : {}),
    ...(room ? { room } : {}),
  }
  const live = await deploys.unresumable
    .run(async (deployId) => {
      const { wanted } = await deploys.begin(playerId, announced, deployId)
      await deploys.uploads.adopt(deployId, wanted)
      return { deployId, ...(await deploys.finalize(playerId, deployId, { expectedLive: base.deployId })) }
    })
    .catch((error) => {
      throw error instanceof NotBasedOnLive ? new DraftOutdated() : error
    })
  const published = new Map(changes.map(({ path, revision }) => [path, revision]))
  await drafts.store.change(game, playerId, async (draft) => {
    await draft.em.nativeUpdate(
      DraftRow,
      { gameId: game.id },
      { baseDeployId: live.deployId, ...(draft.row.room === row.room ? { room: null } : {}) },
    )
    for (const { path, revision } of [...draft.files.values()]) {
      if (published.get(path) === revision) await drafts.store.drop(draft, path)
    }
    await drafts.store.touch(draft)
  })
  await drafts.announce(game.id)
  return live
}
