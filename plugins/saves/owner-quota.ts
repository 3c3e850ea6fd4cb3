import type { FastifyInstance } from 'fastify'
import { TtlCache } from '../../core/data/ttl-cache.ts'
import { Conflict, isPlatformError } from '../../core/errors.ts'
import { QuotaExceeded, type StoredKind } from '../quotas/index.ts'

/** The kind under which saves count in the quota of their game's owner. */
export const STORED_KIND = 'saves'

/** The number of players whose saves are counted in one transaction. */
const BATCH = 200

interface Uncounted {
  playerId: string
  gameId: string
  ownerId: string
  keptBytes: number
  countedBytes: number
}

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'quotas' | 'games'>

/**
 * Counts the saves of a game's players in the quota of the game's owner.
 *
 * A change of a save does not touch the owner's account: all changes of all players would wait for one row. A scheduled
 * task adds the differences instead (`count`), so the count is late by at most its interval, and exact after a crash.
 */
export class OwnerQuota {
  readonly #parts: Parts
  /** The games whose owners have room left. */
  readonly #room: TtlCache<true>

  constructor(parts: Parts) {
    this.#parts = parts
    this.#room = new TtlCache(parts.clock)
  }

  /** @throws QuotaExceeded when the storage of the game's owner is full */
  async mustHaveRoom(gameId: string): Promise<void> {
    await this.#room.get(gameId, async () => {
      const game = await this.#parts.games.byId(gameId)
      try {
        if (game) await this.#parts.quotas.mustHaveRoom(game.ownerId)
      } catch (error) {
        if (!isPlatformError(error) || error.code !== 'quota_exceeded') throw error
        const text = 'The storage of whoever made this game is full, so this can not be saved here now.'
        throw new QuotaExceeded(text).with({ body: error.body ?? {} })
      }
      return true
    })
  }

  /** The scheduled task: adds what has changed since the last run to the quotas of the owners. */
  async count(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.#countSome()) === BATCH);
  }

  async #countSome(): Promise<number> {
    const { db, quotas } = this.#parts
    const found = await db.query<Uncounted>(
      `select u.player_id as "playerId", u.game_id as "gameId", g.owner_id as "ownerId", u.kept_bytes as "keptBytes",
         u.counted_bytes as "countedBytes"
       from save_usage u join games g on g.id = u.game_id where not u.counted order by g.owner_id limit ?`,
      [BATCH],
    )
    if (found.length === 0) return 0
    await db.transaction(async (em) => {
      const grown = new Map<string, number>()
      for (const { playerId, gameId, ownerId, countedBytes } of found) {
        // The change of a save that runs meanwhile is counted by the next run.
        const [row] = await em.execute<{ kept: number | string }[]>(
          `update save_usage set counted_bytes = kept_bytes, counted = ?
           where player_id = ? and game_id = ? and counted_bytes = ? and not counted returning kept_bytes as kept`,
          [true, playerId, gameId, countedBytes],
          'all',
        )
        if (row) grown.set(ownerId, (grown.get(ownerId) ?? 0) + Number(row.kept) - Number(countedBytes))
      }
      for (const [ownerId, bytes] of grown) {
        if (bytes > 0) await quotas.add(em, ownerId, { kind: STORED_KIND, bytes }, { admitted: true })
        else if (bytes < 0) await quotas.remove(em, ownerId, { kind: STORED_KIND, bytes: -bytes })
      }
    })
    return found.length
  }
}

/** The saves of a game's players, as storage of the game's owner, who can't delete them. */
export function storedSaves(app: Pick<FastifyInstance, 'db' | 'origins'>): StoredKind {
  const sums = (ownerId: string) =>
    app.db.query<{ id: string; slug: string; title: string; createdAt: number; bytes: number | string }>(
      `select g.id, g.slug, g.title, g.created_at as "createdAt", sum(u.counted_bytes) as bytes
       from games g join save_usage u on u.game_id = g.id where g.owner_id = ?
       group by g.id, g.slug, g.title, g.created_at order by g.id`,
      [ownerId],
    )
  return {
    label: 'Saves of players',
    async owners() {
      const rows = await app.db.query<{ id: string }>(
        'select distinct g.owner_id as id from games g where exists (select 1 from save_usage u where u.game_id = g.id)',
      )
      return rows.map(({ id }) => id)
    },
    async tally(ownerId) {
      const rows = await sums(ownerId)
      return { bytes: rows.reduce((total, { bytes }) => total + Number(bytes), 0), blobs: [] }
    },
    async things(ownerId) {
      return (await sums(ownerId))
        .filter(({ bytes }) => Number(bytes) > 0)
        .map(({ id, slug, title, createdAt, bytes }) => ({
          kind: STORED_KIND,
          id,
          title: `${title}: saves of its players`,
          bytes: Number(bytes),
          frees: Number(bytes),
          createdAt: new Date(createdAt).toISOString(),
          url: `${app.origins.portal}/games/${slug}/overview`,
          removable: false,
        }))
    },
    async remove() {
      throw new Conflict('The saves of a game belong to its players. They are deleted with the game.')
    },
  }
}
