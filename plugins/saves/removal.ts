import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { deleteInBatches } from '../../core/data/database.ts'
import { holdOwners } from '../games/index.ts'
import { type Loss, loss } from '../oauth-idp/index.ts'
import { SaveRow, SaveUsage, SaveVersion } from './entities.ts'
import { STORED_KIND } from './owner-quota.ts'
import { addToTotals, removeTotal } from './totals.ts'

/** The job that deletes the saves of a permanently deleted game, which can be many millions. */
export const PURGE = 'saves/purge'

type Parts = Pick<FastifyInstance, 'db' | 'jobs' | 'quotas'>

/** Deletes saves with their game, and with the account of their player. */
export class Removal {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Runs in the transaction that permanently deletes a game. The rows follow in a job. */
  async ofGame(em: SqlEntityManager, gameId: string): Promise<void> {
    const { jobs, quotas } = this.#parts
    const [game] = await em.execute<{ ownerId: string }[]>(
      `select owner_id as "ownerId" from games where id = ? and exists (select 1 from save_usage where game_id = ?)`,
      [gameId, gameId],
    )
    if (!game) return
    await quotas.remove(em, game.ownerId, { kind: STORED_KIND, bytes: await removeTotal(em, gameId) })
    await jobs.enqueue(em, { name: PURGE, key: gameId, owner: game.ownerId, payload: { gameId } })
  }

  /** The job `PURGE`. */
  async purge(gameId: string, signal: AbortSignal): Promise<void> {
    const { db } = this.#parts
    const of = { where: 'game_id = ?', parameters: [gameId] }
    const key = ['game_id', 'player_id', 'key']
    await deleteInBatches(db, { table: 'save_versions', key: [...key, 'version'], ...of }, signal)
    await deleteInBatches(db, { table: 'saves', key, ...of }, signal)
    await deleteInBatches(db, { table: 'save_usage', key: ['player_id', 'game_id'], ...of }, signal)
    // On PostgreSQL a count that began before the deletion may have committed after it.
    await deleteInBatches(db, { table: 'save_totals', key: ['game_id'], ...of }, signal)
    signal.throwIfAborted()
  }

  /** Counts the saves that go with an account. */
  async lossOf(playerId: string): Promise<Loss | null> {
    const [row] = await this.#parts.db.query<{ saves: number | string | null }>(
      'select sum("keys") as saves from save_usage where player_id = ?',
      [playerId],
    )
    return loss(row?.saves ?? 0, 'save')
  }

  /** Runs in the transaction that ends an account. */
  async ofPlayer(em: SqlEntityManager, playerId: string): Promise<void> {
    const of = 'from save_usage where player_id = ? order by game_id'
    const games = await em.execute<{ gameId: string }[]>(`select game_id as "gameId" ${of}`, [playerId])
    const owners = await holdOwners(
      em,
      this.#parts.db,
      games.map(({ gameId }) => gameId),
    )
    // The bytes are read after the games are held: until then they may have been counted for somebody else.
    const rows = await em.execute<{ gameId: string; bytes: number | string }[]>(
      `select game_id as "gameId", counted_bytes as bytes ${of}`,
      [playerId],
    )
    for (const { gameId } of rows) {
      await em.nativeDelete(SaveVersion, { gameId, playerId })
      await em.nativeDelete(SaveRow, { gameId, playerId })
    }
    await em.nativeDelete(SaveUsage, { playerId })
    const existing = rows.filter(({ gameId }) => owners.has(gameId))
    await addToTotals(em, new Map(existing.map(({ gameId, bytes }) => [gameId, -Number(bytes)])))
    // The accounts of quotas come last, in the order of their ids.
    const counted = existing.map(({ gameId, bytes }) => ({ ownerId: owners.get(gameId) ?? '', bytes: Number(bytes) }))
    for (const { ownerId, bytes } of counted.toSorted((a, b) => (a.ownerId < b.ownerId ? -1 : 1))) {
      if (bytes > 0) await this.#parts.quotas.remove(em, ownerId, { kind: STORED_KIND, bytes })
    }
  }
}
