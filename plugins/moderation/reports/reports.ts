import { createHmac } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { isUniqueViolation } from '../../../core/data/database.ts'
import { Conflict, InvalidRequest, NotFound } from '../../../core/errors.ts'
import { inPages } from '../../../core/http/pagination.ts'
import { newId } from '../../../core/ids.ts'
import { holdOwners } from '../../games/index.ts'
import { ReportDecision, ReportRow } from '../entities.ts'
import { OwnThing } from '../errors.ts'
import type { Category, Report } from '../schemas.ts'
import type { TargetRef, Targets } from './targets.ts'

const HOUR_MS = 3_600_000
/** A concurrent request may store or close the same report between two statements. */
const TRIES = 5

/** Somebody who reports: a player, or a visitor by network address. */
export interface Reporter {
  playerId: string | null
  /** The address as rate limits count it. */
  address: string
}

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'rateLimiter' | 'keys'> & {
  targets: Targets
  reportsPerHour: number
}

/** Takes reports, and keeps what reporters wrote. */
export class Reports {
  readonly #parts: Parts
  readonly #key: Buffer

  constructor(parts: Parts) {
    this.#parts = parts
    this.#key = parts.keys.derive('moderation/reporters')
  }

  /**
   * Stores a report. A reporter has one open report about a target: a second one replaces category and text, so that
   * what was forgotten can be added and nobody counts twice.
   *
   * @param target by id or slug
   * @returns the report, and whether it is new
   * @throws NotFound when the reporter can't see the target; OwnThing, RateLimited, InvalidRequest
   */
  async file(
    target: TargetRef,
    { category, text }: { category: Category; text: string },
    reporter: Reporter,
  ): Promise<{ report: Report; created: boolean }> {
    const { db, clock, rateLimiter, targets, reportsPerHour } = this.#parts
    const reporterKey = this.keyOf(reporter)
    await rateLimiter.take(`report/${reporterKey}`, reportsPerHour, HOUR_MS)
    const { kind, id, ownerId, makerIds } = await targets.forReporter(target, reporter.playerId)
    if (reporter.playerId !== null && makerIds.includes(reporter.playerId)) throw new OwnThing()
    const words = text.trim()
    if (words === '') {
      const details = [{ path: 'text', message: 'is required' }]
      throw new InvalidRequest('Say what is wrong, so that somebody else finds it.').with({ details })
    }
    const now = clock.now()
    const openKey = openKeyOf(reporterKey, id)
    for (let tries = 0; tries < TRIES; tries++) {
      const changes = { category, text: words, updatedAt: now }
      const added = {
        id: newId('rep', now),
        targetKind: kind,
        targetId: id,
        reporterId: reporter.playerId,
        reporterKey,
        openKey,
        state: 'open' as const,
        decisionId: null,
        createdAt: now,
        decidedAt: null,
        ...changes,
      }
      try {
        return await db.transaction(async (em) => {
          // Another owner may get the game meanwhile, with the reports that are stored by then.
          const owner = kind === 'game' ? (await holdOwners(em, db, [id])).get(id) : ownerId
          if (owner === undefined) throw new NotFound('game')
          await em.nativeUpdate(ReportRow, { openKey }, changes)
          const row = await em.findOne(ReportRow, { openKey })
          if (row) return { report: describe(row), created: false }
          await em.insert(ReportRow, { ...added, ownerId: owner })
          return { report: describe(added), created: true }
        })
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
      }
    }
    throw new Conflict('You reported this several times at once. Try again.')
  }

  /** Returns a stable key of a reporter, which does not reveal an address. */
  keyOf({ playerId, address }: Reporter): string {
    return playerId ?? `visitor_${createHmac('sha256', this.#key).update(address).digest('base64url').slice(0, 32)}`
  }

  /** Whether the staff still have to decide about a report of this. */
  async isOpen(em: SqlEntityManager, { kind, id }: TargetRef): Promise<boolean> {
    const open = { state: 'open', targetKind: kind, targetId: id } as const
    return (await em.findOne(ReportRow, open, { fields: ['id'] })) !== null
  }

  /** Returns the reports of a player, for their data export. */
  async *export(playerId: string): AsyncGenerator<Report[]> {
    const pages = inPages<ReportRow>((after, limit) => {
      const where = { reporterKey: playerId, ...(after && { id: { $lt: after.id } }) }
      return this.#parts.db.em().find(ReportRow, where, { orderBy: { id: 'desc' }, limit })
    })
    for await (const rows of pages) yield rows.map(describe)
  }

  /**
   * Lets the reports about a game follow it to another owner, in the transaction that changes it. So do the decisions about
   * the game itself. A decision that disabled the former owner, or wrote to them, stays theirs.
   */
  async give(em: SqlEntityManager, gameId: string, ownerId: string): Promise<void> {
    const about = { targetKind: 'game', targetId: gameId } as const
    await em.nativeUpdate(ReportRow, about, { ownerId })
    await em.nativeUpdate(ReportDecision, { ...about, action: { $in: ['dismiss', 'suspend'] } }, { ownerId })
  }

  /**
   * Removes what a deleted account wrote, and the reports about it, in the caller's transaction. An open report about
   * somebody else stays, with its category only.
   */
  async forget(em: SqlEntityManager, playerId: string): Promise<void> {
    await em.nativeDelete(ReportRow, { reporterKey: playerId, state: { $ne: 'open' } })
    const nobody = { reporterId: null, reporterKey: '', openKey: null, text: '' }
    await em.nativeUpdate(ReportRow, { reporterKey: playerId }, nobody)
    await em.nativeDelete(ReportRow, { ownerId: playerId })
    await em.nativeDelete(ReportDecision, { ownerId: playerId })
  }
}

/** The value of `openKey` of an open report. */
export const openKeyOf = (reporterKey: string, targetId: string): string => `${reporterKey}/${targetId}`

type Row = Pick<ReportRow, 'id' | 'targetKind' | 'targetId' | 'category' | 'text' | 'state' | 'createdAt' | 'updatedAt'>

const describe = (row: Row): Report => ({
  id: row.id,
  target: { kind: row.targetKind, id: row.targetId },
  category: row.category,
  text: row.text,
  state: row.state,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
})
