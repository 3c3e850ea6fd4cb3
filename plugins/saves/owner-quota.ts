import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { TtlCache } from '../../core/data/ttl-cache.ts'
import { Conflict, isPlatformError } from '../../core/errors.ts'
import { holdOwners } from '../games/index.ts'
import { QuotaExceeded, type StoredKind } from '../quotas/index.ts'
import { addToTotals, recountTotal } from './totals.ts'

/** The kind under which saves count in the quota of their game's owner. */
export const STORED_KIND = 'saves'

/** The number of players whose saves are counted in one transaction. */
const BATCH = 200

const PLACEHOLDERS = '(cast(? as text), cast(? as text), cast(? as bigint))'

interface Uncounted {
  playerId: string
  gameId: string
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
        const text = 'The storage of the maker of this game is full, so this cannot be saved now.'
        throw new QuotaExceeded(text).with({ body: error.body ?? {} })
      }
      return true
    })
  }

  /** The scheduled task: adds what has changed since the last run to the quotas of the owners. */
  async count(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.#countSome()) === BATCH) await nextTurn()
  }

  async #countSome(): Promise<number> {
    const { db, quotas } = this.#parts
    // Any rows will do: an order, or a join before the limit, would read all changed rows again for each batch.
    const found = await db.query<Uncounted>(
      `select player_id as "playerId", game_id as "gameId", counted_bytes as "countedBytes" from save_usage
       where not counted limit ?`,
      [BATCH],
    )
    if (found.length === 0) return 0
    await db.transaction(async (em) => {
      const owners = await holdOwners(
        em,
        db,
        found.map(({ gameId }) => gameId),
      )
      const grown = new Map<string, number>()
      const ownerOf = new Map<string, string>()
      // The change of a save that runs meanwhile is counted by the next run.
      const counted = await em.execute<{ playerId: string; gameId: string; kept: number | string }[]>(
        `update save_usage set counted_bytes = kept_bytes, counted = ?
         where (player_id, game_id, counted_bytes) in (values ${found.map(() => PLACEHOLDERS).join(', ')})
           and not counted
         returning player_id as "playerId", game_id as "gameId", kept_bytes as kept`,
        [true, ...found.flatMap(({ playerId, gameId, countedBytes }) => [playerId, gameId, countedBytes])],
        'all',
      )
      const before = new Map(found.map((row) => [`${row.playerId} ${row.gameId}`, row]))
      for (const { playerId, gameId, kept } of counted) {
        const { countedBytes = 0 } = before.get(`${playerId} ${gameId}`) ?? {}
        const ownerId = owners.get(gameId)
        if (ownerId === undefined) continue
        ownerOf.set(gameId, ownerId)
        grown.set(gameId, (grown.get(gameId) ?? 0) + Number(kept) - Number(countedBytes))
      }
      await addToTotals(em, grown)
      const byOwner = new Map<string, number>()
      for (const [gameId, ownerId] of ownerOf) {
        byOwner.set(ownerId, (byOwner.get(ownerId) ?? 0) + (grown.get(gameId) ?? 0))
      }
      // The accounts of quotas come last, in the order of their ids.
      for (const [ownerId, bytes] of [...byOwner].sort(([a], [b]) => (a < b ? -1 : 1))) {
        if (bytes > 0) await quotas.add(em, ownerId, { kind: STORED_KIND, bytes }, { admitted: true })
        else if (bytes < 0) await quotas.remove(em, ownerId, { kind: STORED_KIND, bytes: -bytes })
      }
    })
    return found.length
  }
}

interface SavesOfGame {
  id: string
  slug: string
  title: string
  createdAt: number
  bytes: number | string
}

/** The saves of a game's players, as storage of the game's owner, who can't delete them. */
export function storedSaves(app: Pick<FastifyInstance, 'db' | 'origins'>): StoredKind {
  return {
    label: 'Saves of players',
    async owners() {
      const rows = await app.db.query<{ id: string }>(
        'select distinct g.owner_id as id from games g where exists (select 1 from save_usage u where u.game_id = g.id)',
      )
      return rows.map(({ id }) => id)
    },
    async tally(ownerId) {
      const games = await app.db.query<{ id: string }>('select id from games where owner_id = ? order by id', [ownerId])
      let bytes = 0
      for (const { id } of games) bytes += await recountTotal(app.db, id)
      return { bytes, blobs: [] }
    },
    async things(ownerId, limit) {
      const largest = await app.db.query<SavesOfGame>(
        `select g.id, g.slug, g.title, g.created_at as "createdAt", t.counted_bytes as bytes
         from games g join save_totals t on t.game_id = g.id where g.owner_id = ? and t.counted_bytes > 0
         order by t.counted_bytes desc, g.id limit ?`,
        [ownerId, limit],
      )
      return largest.map(({ id, slug, title, createdAt, bytes }) => ({
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
    async *ofGame(em, gameId) {
      const [row] = await em.execute<{ bytes: number | string }[]>(
        'select counted_bytes as bytes from save_totals where game_id = ?',
        [gameId],
      )
      yield { bytes: Number(row?.bytes ?? 0), blobs: [] }
    },
  }
}
