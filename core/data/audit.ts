import { defineEntity, p } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../clock.ts'
import { newId } from '../ids.ts'
import type { Database, Parameter, Statements } from './database.ts'
import type { Migration } from './migrations.ts'

/** The actor of an audited action: a player by id, of the staff or not, or a shell command by its system user. */
export interface Actor {
  id: string
  role: 'player' | 'moderator' | 'admin' | 'command'
}

/** The actor of actions that the program performs by itself. */
export const PROGRAM: Actor = { id: 'gameyard', role: 'command' }

/** The kinds of targets; `server` has no id. */
export type AuditKind = 'player' | 'game' | 'asset' | 'domain' | 'job' | 'invitation' | 'jam' | 'report' | 'server'

/** Changed values by name; never a secret. */
export type AuditState = Record<string, string | number | boolean | null>

export interface Action {
  by: Actor
  /** Noun and verb: `game.suspend`. */
  action: string
  target: { kind: AuditKind; id: string }
  reason?: string | null
  before?: AuditState | null
  after?: AuditState | null
}

const AuditSchema = defineEntity({
  name: 'AuditRow',
  tableName: 'audit',
  properties: {
    id: p.string().length(30).primary(),
    actorId: p.string().length(100).index(),
    actorRole: p.string().length(10),
    action: p.string().length(40),
    targetKind: p.string().length(20),
    targetId: p.string().length(100).index(),
    reason: p.text().nullable(),
    before: p.json<AuditState>().nullable(),
    after: p.json<AuditState>().nullable(),
    at: p.datetime(3),
  },
})
export class AuditRow extends AuditSchema.class {}
AuditSchema.setClass(AuditRow)

export const auditMigrations: Migration[] = [
  {
    name: '2026_11_23_audit',
    sqlite: [
      'create table `audit` (`id` text not null primary key, `actor_id` text not null, `actor_role` text not null, `action` text not null, `target_kind` text not null, `target_id` text not null, `reason` text null, `before` json null, `after` json null, `at` datetime not null)',
      'create index `audit_actor_id_index` on `audit` (`actor_id`)',
      'create index `audit_target_id_index` on `audit` (`target_id`)',
    ],
    postgres: [
      'create table "audit" ("id" varchar(30) not null, "actor_id" varchar(100) not null, "actor_role" varchar(10) not null, "action" varchar(40) not null, "target_kind" varchar(20) not null, "target_id" varchar(100) not null, "reason" text null, "before" jsonb null, "after" jsonb null, "at" timestamptz(3) not null, primary key ("id"))',
      'create index "audit_actor_id_index" on "audit" ("actor_id")',
      'create index "audit_target_id_index" on "audit" ("target_id")',
    ],
  },
]

const INSERT = `insert into audit (id, actor_id, actor_role, action, target_kind, target_id, reason, "before", "after", "at")
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/**
 * Writes one row about a staff action, in the transaction of the action, so that both commit or neither does. Nothing
 * changes or removes a row.
 */
export async function recordAction(
  transaction: SqlEntityManager | Statements,
  clock: Clock,
  action: Action,
): Promise<void> {
  const row = rowOf(action, clock.now())
  if ('insert' in transaction) await transaction.insert(AuditRow, row)
  else {
    const { id, actorId, actorRole, targetKind, targetId, reason, before, after, at } = row
    const values = [id, actorId, actorRole, row.action, targetKind, targetId, reason, before, after, at]
    await transaction.execute(INSERT, values)
  }
}

const rowOf = ({ by, action, target, reason = null, before = null, after = null }: Action, at: Date) => ({
  id: newId('aud', at),
  actorId: by.id,
  actorRole: by.role,
  action,
  targetKind: target.kind,
  targetId: target.id.slice(0, 100),
  reason: reason?.trim() || null,
  before,
  after,
  at,
})

/** An audit row for display and export. */
export interface AuditEntry {
  id: string
  at: string
  by: Actor
  action: string
  target: { kind: string; id: string }
  reason: string | null
  before: AuditState | null
  after: AuditState | null
}

/**
 * Reads audit rows, the newest first.
 *
 * @param q an id of an actor or target, an action or its prefix (`game.`), or part of a reason
 */
export async function readAudit(
  db: Database,
  { q = '', limit, before }: { q?: string | undefined; limit: number; before?: string | undefined },
): Promise<AuditEntry[]> {
  const where = ['1 = 1']
  const values: Parameter[] = []
  const asked = q.trim()
  if (asked) {
    const escaped = asked.toLowerCase().replace(/[\\%_]/g, '\\$&')
    where.push(`(actor_id = ? or target_id = ? or action like ? escape '\\' or lower(reason) like ? escape '\\')`)
    values.push(asked, asked, `${escaped}%`, `%${escaped}%`)
  }
  if (before) {
    where.push('id < ?')
    values.push(before)
  }
  const rows = await db.query<StoredRow>(
    `select id, actor_id, actor_role, action, target_kind, target_id, reason, "before", "after", "at"
     from audit where ${where.join(' and ')} order by id desc limit ?`,
    [...values, limit],
  )
  return rows.map(entryOf)
}

const EXPORTED_AT_ONCE = 500

/** Yields every row as a line of JSON, the newest first, with a few hundred in memory at a time. */
export async function* exportAudit(db: Database, q?: string): AsyncGenerator<string> {
  let before: string | undefined
  for (;;) {
    const entries = await readAudit(db, { q, limit: EXPORTED_AT_ONCE, before })
    if (entries.length > 0) yield `${entries.map((entry) => JSON.stringify(entry)).join('\n')}\n`
    if (entries.length < EXPORTED_AT_ONCE) return
    before = entries.at(-1)?.id
  }
}

interface StoredRow {
  id: string
  actor_id: string
  actor_role: Actor['role']
  action: string
  target_kind: string
  target_id: string
  reason: string | null
  before: string | null
  after: string | null
  at: number
}

const entryOf = (row: StoredRow): AuditEntry => ({
  id: row.id,
  at: new Date(row.at).toISOString(),
  by: { id: row.actor_id, role: row.actor_role },
  action: row.action,
  target: { kind: row.target_kind, id: row.target_id },
  reason: row.reason,
  before: row.before === null ? null : JSON.parse(row.before),
  after: row.after === null ? null : JSON.parse(row.after),
})
