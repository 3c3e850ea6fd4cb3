import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { firstId } from '../../core/ids.ts'
import { recordActivity } from '../games/index.ts'
import { DeployRow, DeployUpload, ManifestRow } from './entities.ts'
import type { DeployState } from './schemas.ts'
import { COUNTED, OVER, releaseStorage } from './stored-bytes.ts'

const DAY_MS = 86_400_000
/** Deploys that never were live expire, since a preview or an error report is useful only for a limited time. */
const NEVER_LIVE_KEPT_MS = 30 * DAY_MS
const GAMES_AT_ONCE = 50

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events' | 'games' | 'quotas'>

interface Old {
  id: string
  state: DeployState
  live: number
}

/**
 * Deletes old deploys: superseded ones beyond the configured number, and those that never were live after thirty days.
 * Garbage collection removes their blobs.
 */
export class Retention {
  readonly #parts: Parts
  readonly #kept: number

  /** @param kept the number of formerly live deploys of a game that can go live again */
  constructor(parts: Parts, kept: number) {
    this.#parts = parts
    this.#kept = kept
  }

  /** The daily job. It checks the history of every game, a few at a time. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { db } = this.#parts
    for (let after = ''; !signal.aborted; ) {
      const games = await db.query<{ id: string }>(
        'select distinct game_id as id from deploys where game_id > ? order by game_id limit ?',
        [after, GAMES_AT_ONCE],
      )
      for (const { id } of games) if (!signal.aborted) await this.#sweepGame(id, signal)
      const last = games.at(-1)
      if (!last) return
      after = last.id
      await nextTurn()
    }
  }

  async #sweepGame(gameId: string, signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#parts
    const before = firstId('dep', new Date(clock.now().getTime() - NEVER_LIVE_KEPT_MS))
    const rows = await db.query<Old>(
      `select id, state, case when live_at is null then 0 else 1 end as live from deploys
       where game_id = ? and pinned = ? and state in ('superseded', 'failed', 'expired') order by live_at desc, id desc`,
      [gameId, false],
    )
    const wereLive = rows.filter(({ live }) => live)
    const neverLive = rows.filter(({ id, live }) => !live && id < before)
    for (const { id } of [...wereLive.slice(this.#kept), ...neverLive]) {
      if (signal.aborted) return
      await removeDeploy(this.#parts, gameId, id)
      await nextTurn()
    }
  }
}

/**
 * Removes a deploy from the history, and notifies the serving nodes.
 *
 * @param options `listed`: the removal is part of the game's activity
 * @returns whether it existed, and was neither live nor pinned
 */
export async function removeDeploy(
  { db, clock, events, games, quotas }: Parts,
  gameId: string,
  deployId: string,
  { listed = false }: { listed?: boolean } = {},
): Promise<boolean> {
  const removed = await db.transaction(async (em) => {
    // Only the call that ends the deploy releases its quota.
    const ended = await em.nativeUpdate(
      DeployRow,
      { id: deployId, gameId, pinned: false, state: { $in: COUNTED.filter((state) => state !== 'live') } },
      { state: 'failed' },
    )
    if (ended > 0) await releaseStorage(em, quotas, [deployId])
    const rows = await em.nativeDelete(DeployRow, { id: deployId, gameId, pinned: false, state: { $in: [...OVER] } })
    if (rows === 0) return false
    await em.nativeDelete(ManifestRow, { deployId })
    await em.nativeDelete(DeployUpload, { deployId })
    if (listed) await recordActivity(em, clock, { gameId, action: 'deploy.remove', target: deployId })
    return true
  })
  const game = removed ? await games.byId(gameId) : null
  if (game) await events.emit('deploy.removed', { gameId, deployId, slug: game.slug })
  return removed
}

/** Protects a deploy from automatic deletion, or removes the protection. @returns false when it does not exist */
export async function pinDeploy(
  { db, clock }: Pick<Parts, 'db' | 'clock'>,
  { id, gameId, pinned: before }: Pick<DeployRow, 'id' | 'gameId' | 'pinned'>,
  pinned: boolean,
): Promise<boolean> {
  return db.transaction(async (em) => {
    const rows = await em.nativeUpdate(DeployRow, { id }, { pinned })
    const action = pinned ? 'deploy.pin' : 'deploy.unpin'
    if (rows > 0 && before !== pinned) await recordActivity(em, clock, { gameId, action, target: id })
    return rows > 0
  })
}
