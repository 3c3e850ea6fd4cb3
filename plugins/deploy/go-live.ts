import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Database } from '../../core/data/database.ts'
import { recordActivity } from '../games/index.ts'
import type { Note } from './builds/notes.ts'
import { DeployRow, DeployUpload } from './entities.ts'
import type { DeployState } from './schemas.ts'

/** The job that is enqueued for a game when a deploy goes live; see `Compression`. */
export const COMPRESS = 'deploy/compress'

export interface FinalizeOptions {
  /** Leave the live build, and only open the preview; `rollback` puts it live later. */
  preview?: boolean
  /** End the rooms that run another deploy's script. */
  restartRooms?: boolean
  /** Publish files that hold a secret of this platform. */
  allowSecrets?: boolean
  /** The deploy, or null, that must be live still. */
  expectedLive?: string | null
  /** What was found before the examination of the build, kept with its result. */
  notes?: readonly Note[]
}

export interface Activation {
  deployId: string
  gameId: string
  ownerId: string
  /** Who puts it live. */
  playerId: string
  /** The states from which the deploy can go live. */
  from: readonly DeployState[]
  action: 'deploy.live' | 'deploy.rollback'
  /** The deploy, or null, that must be live still; default: any. */
  expectedLive?: string | null | undefined
}

/**
 * Puts a deploy live in one transaction: the deploy becomes the live one of its game, the previous one becomes
 * superseded, and the uploads become the maker's. A crash at any moment leaves all of these changes or none.
 *
 * @returns `beforeId`: the deploy that was live until then; null when the deploy was in none of the states `from`: then
 *   nothing has changed
 * @throws NotBasedOnLive when another deploy is live than expected
 */
export async function goLive(
  { db, clock, games, jobs }: Pick<FastifyInstance, 'db' | 'clock' | 'games' | 'jobs'>,
  { deployId, gameId, ownerId, playerId, from, action, expectedLive }: Activation,
): Promise<{ beforeId: string | null } | null> {
  return db
    .transaction(async (em) => {
      // This check avoids a lock on the game in a call that changes nothing. The update below decides.
      const deploy = await em.findOne(DeployRow, { id: deployId, state: { $in: [...from] } })
      if (!deploy) return null
      // The game's row comes first, because it is the lock between two deploys of one game.
      const sharedMemory = Boolean(deploy.build?.sharedMemory)
      await games.setLive(em, gameId, { deployId, sharedMemory, expectedLive })
      const others = { gameId, state: 'live', id: { $ne: deployId } } as const
      const before = await em.findOne(DeployRow, others)
      const now = laterOf(clock.now(), before?.liveAt)
      const isOvertaken = action === 'deploy.live' && before !== null && wentLiveSince(deploy, before)
      const flipped = await em.nativeUpdate(
        DeployRow,
        { id: deployId, state: { $in: [...from] } },
        {
          state: 'live',
          liveAt: now,
          ...(isOvertaken ? { overtakenById: before.id } : {}),
          replacedById: null,
          replacedByPlayerId: null,
          replacedAt: null,
        },
      )
      if (flipped === 0) throw new LostRace()
      await em.nativeUpdate(DeployRow, others, {
        state: 'superseded',
        replacedById: deployId,
        replacedByPlayerId: playerId,
        replacedAt: now,
      })
      await takeOver(em, deployId)
      await recordActivity(em, clock, { gameId, action, target: deployId, detail: deploy.message ?? null })
      await jobs.enqueue(em, { name: COMPRESS, key: gameId, owner: ownerId, payload: { gameId } })
      return { beforeId: before?.id ?? null }
    })
    .catch((error) => {
      if (error instanceof LostRace) return null
      throw error
    })
}

/** Keeps the times of a game's deploys in order where the clocks of two nodes differ. */
const laterOf = (now: Date, before: Date | null | undefined): Date => (before && before > now ? before : now)

/**
 * Whether the live deploy of a game went live after another one had begun. Times decide only where none was live then, so
 * that different clocks of two nodes matter seldom.
 */
/** Returns when a deploy went live last; null when it never did, or is gone. */
export async function liveSince(db: Pick<Database, 'em'>, deployId: string): Promise<Date | null> {
  const row = await db.em().findOne(DeployRow, { id: deployId }, { fields: ['liveAt'] })
  return row?.liveAt ?? null
}

const wentLiveSince = ({ baseId, createdAt }: DeployRow, { id, liveAt }: DeployRow): boolean =>
  baseId ? id !== baseId : liveAt != null && liveAt >= createdAt

/**
 * Makes the uploads of a deploy its maker's and opens its preview, without changing the live deploy. It can go live
 * later, like a superseded deploy.
 *
 * @returns false when the deploy was in none of the states `from`: then nothing has changed
 */
export async function finalizePreview(
  { db, clock }: Pick<FastifyInstance, 'db' | 'clock'>,
  { deployId, gameId, from }: Pick<Activation, 'deployId' | 'gameId' | 'from'>,
): Promise<boolean> {
  return db.transaction(async (em) => {
    const kept = await em.nativeUpdate(
      DeployRow,
      { id: deployId, state: { $in: [...from] } },
      { state: 'superseded', liveAt: null },
    )
    if (kept === 0) return false
    await takeOver(em, deployId)
    await recordActivity(em, clock, { gameId, action: 'deploy.preview', target: deployId })
    return true
  })
}

/** The number of uploads that one statement assigns. A statement for 20,000 would hold the event loop for 40 ms. */
const TAKEN_AT_ONCE = 1000

/** Assigns the uploaded bytes to the player who brought them, which happens only now. The order is the same as in `reserve`. */
async function takeOver(em: SqlEntityManager, deployId: string): Promise<void> {
  for (;;) {
    const [first] = await em.execute<{ count: number | string; last: string }[]>(
      `select count(*) as count, max(sha256) as last from
       (select sha256 from deploy_uploads where deploy_id = ? order by sha256 limit ?) as first`,
      [deployId, TAKEN_AT_ONCE],
    )
    const count = Number(first?.count ?? 0)
    if (count > 0) {
      await em.execute(
        `insert into owner_blobs (owner_id, sha256)
         select coalesce(d.player_id, d.owner_id), u.sha256 from deploy_uploads u join deploys d on d.id = u.deploy_id
         where u.deploy_id = ? and u.sha256 <= ? order by u.sha256 on conflict do nothing`,
        [deployId, first?.last],
        'run',
      )
      await em.nativeDelete(DeployUpload, { deployId, sha256: { $lte: first?.last as string } })
    }
    if (count < TAKEN_AT_ONCE) return
    await nextTurn()
  }
}

/** Rolls the transaction back when a concurrent call was first. */
class LostRace extends Error {}
