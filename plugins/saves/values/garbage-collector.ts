import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { erase } from './blobs.ts'

/** A blob is announced before its bytes are stored, and a version refers to it within this time or never. */
const UNUSED_FOR_MS = 3_600_000
/** A removal that takes longer was interrupted. */
const STALE_MS = 60_000
const PAGE = 500

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'log' | 'storage'>

/**
 * Removes the large values that no version refers to: those that a crash left, and those of ended games and accounts. It
 * may run at any time, concurrently with changes.
 */
export class GarbageCollector {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<void> {
    const { db, clock, log } = this.#parts
    const now = clock.now().getTime()
    const before = new Date(now - UNUSED_FOR_MS)
    const stale = await db.query<{ sha256: string }>('select sha256 from save_blobs where condemned_at < ?', [
      new Date(now - STALE_MS),
    ])
    for (const { sha256 } of stale) await erase(this.#parts, sha256)
    let removed = 0
    for (let after = ''; !signal.aborted; ) {
      const rows = await db.query<{ sha256: string; unused: number }>(
        `select b.sha256, case when b.used_at < ? and b.condemned_at is null
           and not exists (select 1 from save_versions v where v.sha256 = b.sha256) then 1 else 0 end as unused
         from save_blobs b where b.sha256 > ? order by b.sha256 limit ?`,
        [before, after, PAGE],
      )
      for (const { sha256, unused } of rows) if (unused && (await this.#remove(sha256, before))) removed++
      const last = rows.at(-1)
      if (rows.length < PAGE || !last) break
      after = last.sha256
      await nextTurn()
    }
    if (removed > 0) log.info({ removed }, 'removed large saves that no version refers to')
  }

  /** One statement decides. A change announces its blob (`reserve`) before it refers to it. */
  async #remove(sha256: string, before: Date): Promise<boolean> {
    const { db, clock } = this.#parts
    const condemned = await db.execute(
      `update save_blobs set condemned_at = ? where sha256 = ? and used_at < ? and condemned_at is null
       and not exists (select 1 from save_versions v where v.sha256 = save_blobs.sha256)`,
      [clock.now(), sha256, before],
    )
    if (condemned === 1) await erase(this.#parts, sha256)
    return condemned === 1
  }
}
