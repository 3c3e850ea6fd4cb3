import type { FastifyInstance } from 'fastify'
import { SaveRows } from './save-rows.ts'
import type { Values } from './values/values.ts'

const BATCH = 100

type Parts = Pick<FastifyInstance, 'db' | 'clock'> & { saves: { readonly values: Pick<Values, 'removeUnused'> } }

/** The scheduled task that removes earlier versions after 30 days, and deleted saves with their last version. */
export class Retention {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async sweep(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.#sweepSome(signal)) === BATCH);
  }

  async #sweepSome(signal: AbortSignal): Promise<number> {
    const { db, clock } = this.#parts
    const due = await db.query<{ gameId: string; playerId: string; key: string }>(
      `select game_id as "gameId", player_id as "playerId", key from saves
       where history_due_at is not null and history_due_at <= ? order by history_due_at limit ?`,
      [clock.now(), BATCH],
    )
    for (const { key, ...owner } of due) {
      if (signal.aborted) break
      const removed = await db.groupCommit(async (statements) => {
        const rows = new SaveRows(statements, owner)
        const usage = await rows.hold()
        const current = await rows.current(key)
        if (!current) return []
        const { kept, freed, dueAt } = await rows.sweepVersions(
          key,
          await rows.versions(key),
          current.deletedAt,
          clock.now(),
        )
        if (kept.length === 0) {
          await rows.forget(key)
          usage.versionFloor = Math.max(usage.versionFloor, current.version)
        } else await rows.setHistoryDueAt(key, dueAt)
        await rows.setUsage({ ...usage, keptBytes: usage.keptBytes - freed })
        return rows.removedDigests
      })
      await this.#parts.saves.values.removeUnused(removed)
    }
    return due.length
  }
}
