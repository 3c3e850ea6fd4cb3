import type { FastifyInstance } from 'fastify'
import type { Database } from '../../../core/data/database.ts'
import type { Category, ReportState, TargetKind } from '../schemas.ts'
import type { Target, TargetRef, Targets } from './targets.ts'

/** Reports of these categories come first. */
const URGENT: readonly Category[] = ['harm', 'malware']
/** The number of reports that the queue shows of one target, and of earlier decisions. */
const REPORTS_SHOWN = 20
const DECISIONS_SHOWN = 5

/** Open reports about one target. */
export interface Case extends TargetRef {
  reports: number
  urgent: boolean
  /** Most frequent first. */
  categories: Category[]
  /** The time of the oldest report. */
  firstAt: Date
}

/** The closed reports of a reporter, or about an owner. */
export interface Tally {
  upheld: number
  dismissed: number
}

export interface ShownReport {
  category: Category
  text: string
  at: Date
  /** Null for visitors and deleted accounts. */
  reporterId: string | null
  history: Tally
}

export interface PastDecision {
  id: string
  action: string
  targetId: string
  message: string | null
  at: Date
  undone: boolean
}

/** Everything that the queue shows about one target. */
export interface CaseDetails {
  reports: ShownReport[]
  /** The closed reports about all things of the owner. */
  owner: Tally
  /** Earlier decisions about this target, or other things of the owner, newest first. */
  decisions: PastDecision[]
}

const CASES = `select target_kind, target_id, count(*) as reports, min(created_at) as first_at,
    max(case when category in (${URGENT.map((category) => `'${category}'`).join(', ')}) then 1 else 0 end) as urgent
  from reports where state = 'open'`
const LIST = `${CASES} group by target_kind, target_id order by 5 desc, 3 desc, 4, target_id limit ? offset ?`
const ONE = `${CASES} and target_id = ? group by target_kind, target_id`

/**
 * Reads open reports by target: urgent ones first, then those with most reports, then the oldest.
 *
 * @param part `offset` is the number of targets to skip; or the id of one target
 */
export async function readCases(
  db: Database,
  part: { limit: number; offset: number } | { targetId: string },
): Promise<Case[]> {
  const rows = await ('targetId' in part
    ? db.query<CaseRow>(ONE, [part.targetId])
    : db.query<CaseRow>(LIST, [part.limit, part.offset]))
  if (rows.length === 0) return []
  const counts = await db.query<{ target_id: string; category: Category }>(
    `select target_id, category, count(*) as reports from reports
     where state = 'open' and target_id in (${rows.map(() => '?').join(', ')})
     group by target_id, category order by 3 desc, category`,
    rows.map(({ target_id }) => target_id),
  )
  return rows.map((row) => ({
    kind: row.target_kind,
    id: row.target_id,
    reports: Number(row.reports),
    urgent: Number(row.urgent) === 1,
    categories: counts.filter(({ target_id }) => target_id === row.target_id).map(({ category }) => category),
    firstAt: new Date(row.first_at),
  }))
}

/** Returns the number of targets with open reports. */
export async function countCases(db: Database): Promise<number> {
  const [row] = await db.query<{ cases: number }>(
    "select count(distinct target_id) as cases from reports where state = 'open'",
  )
  return Number(row?.cases ?? 0)
}

/** Returns the number of targets with open reports that are urgent. */
async function countUrgent(db: Database): Promise<number> {
  const [row] = await db.query<{ cases: number }>(
    `select count(distinct target_id) as cases from reports
     where state = 'open' and category in (${URGENT.map((category) => `'${category}'`).join(', ')})`,
  )
  return Number(row?.cases ?? 0)
}

/** The queue of reports as the staff see it. */
export class Queue {
  readonly #db: Database
  readonly #targets: Targets

  constructor({ db, targets }: Pick<FastifyInstance, 'db'> & { targets: Targets }) {
    this.#db = db
    this.#targets = targets
  }

  /** Returns a part of the queue with its targets; null for a target that was deleted. */
  async page(part: { limit: number; offset: number }): Promise<(Case & { target: Target | null })[]> {
    const cases = await readCases(this.#db, part)
    const targets = await this.#targets.findAll(cases)
    return cases.map((each) => ({ ...each, target: targets.get(each.id) ?? null }))
  }

  /** Returns the open reports about one target, or null. */
  async caseOf(targetId: string): Promise<(Case & { target: Target | null }) | null> {
    const [found] = await readCases(this.#db, { targetId })
    return found ? { ...found, target: await this.#targets.find(found) } : null
  }

  /** Returns the number of targets with open reports. */
  count(): Promise<number> {
    return countCases(this.#db)
  }

  /** Returns the number of targets with urgent open reports. */
  countUrgent(): Promise<number> {
    return countUrgent(this.#db)
  }

  /** Returns what is known about one target, its reporters and its owner. */
  async details({ id }: TargetRef, ownerId: string | null): Promise<CaseDetails> {
    const reports = await this.#db.query<ReportLine>(
      `select category, text, reporter_id, reporter_key, created_at from reports
       where state = 'open' and target_id = ? order by id limit ?`,
      [id, REPORTS_SHOWN],
    )
    const keys = [...new Set(reports.map(({ reporter_key }) => reporter_key).filter((key) => key !== ''))]
    const histories = await this.#tallies('reporter_key', keys)
    const decisions = await this.#db.query<DecisionLine>(
      `select id, action, target_id, message, "at", undone_at from report_decisions
       where target_id = ? or owner_id = ? order by id desc limit ?`,
      [id, ownerId ?? id, DECISIONS_SHOWN],
    )
    return {
      reports: reports.map((row) => ({
        category: row.category,
        text: row.text,
        at: new Date(row.created_at),
        reporterId: row.reporter_id,
        history: histories.get(row.reporter_key) ?? { upheld: 0, dismissed: 0 },
      })),
      owner: (ownerId && (await this.#tallies('owner_id', [ownerId])).get(ownerId)) || { upheld: 0, dismissed: 0 },
      decisions: decisions.map((row) => ({
        id: row.id,
        action: row.action,
        targetId: row.target_id,
        message: row.message,
        at: new Date(row.at),
        undone: row.undone_at !== null,
      })),
    }
  }

  /** Counts closed reports by reporter or by owner. */
  async #tallies(column: 'reporter_key' | 'owner_id', values: readonly string[]): Promise<ReadonlyMap<string, Tally>> {
    const tallies = new Map<string, Tally>()
    if (values.length === 0) return tallies
    const rows = await this.#db.query<{ value: string; state: Exclude<ReportState, 'open'>; reports: number }>(
      `select ${column} as value, state, count(*) as reports from reports
       where ${column} in (${values.map(() => '?').join(', ')}) and state <> 'open' group by ${column}, state`,
      values,
    )
    for (const { value, state, reports } of rows) {
      const tally = tallies.get(value) ?? { upheld: 0, dismissed: 0 }
      tally[state] = Number(reports)
      tallies.set(value, tally)
    }
    return tallies
  }
}

interface CaseRow {
  target_kind: TargetKind
  target_id: string
  reports: number
  first_at: number
  urgent: number
}

interface ReportLine {
  category: Category
  text: string
  reporter_id: string | null
  reporter_key: string
  created_at: number
}

interface DecisionLine {
  id: string
  action: string
  target_id: string
  message: string | null
  at: number
  undone_at: number | null
}
