import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../clock.ts'
import { StartupError } from '../errors.ts'

/**
 * One forward step of the database, in both dialects. A released migration never changes: a later change is a new
 * migration. Names sort by date and are unique in the whole program: `2026_11_21_deploys`. Migrations run in the order
 * of their names, so one that refers to another plugin's table must have a later name.
 */
export interface Migration {
  name: string
  sqlite: string[]
  postgres: string[]
}

/** The part of a database that migrations need. */
export interface MigratableDatabase {
  /** Selects which of a migration's two statement lists this database runs. */
  dialect: 'sqlite' | 'postgres'

  /**
   * Runs `work` in one transaction, after any migration in another process has ended. Foreign keys are checked at the
   * end of the transaction, not in between.
   */
  migrate(work: (em: SqlEntityManager) => Promise<void>): Promise<void>
}

/** The table of applied migrations, the only table that belongs to no plugin. */
export const MIGRATIONS_TABLE = 'schema_migrations'

/**
 * The beginning of a name in the table of migrations that marks the target of a move which is not complete. The rest of
 * the name identifies the source. A program does not start on such a database.
 */
export const MOVE_MARK = '~move '

/**
 * Applies the missing migrations in one transaction. When the process dies midway, none of them is applied.
 *
 * @param moving whether the caller is the move whose target this is
 * @throws StartupError when the database contains migrations that this program does not know, or a move into it is not
 *   complete
 */
export async function migrate(
  driver: MigratableDatabase,
  migrations: Migration[],
  { log, clock, moving = false }: { log: Pick<FastifyBaseLogger, 'info'>; clock: Clock; moving?: boolean },
): Promise<void> {
  const ordered = inOrder(migrations)
  let isNew = false
  let missing: Migration[] = []
  await driver.migrate(async (em) => {
    const run = (sql: string, parameters: unknown[] = []) => em.execute(sql, parameters, 'run')
    await run(
      `create table if not exists ${MIGRATIONS_TABLE} (name varchar(255) primary key, applied_at bigint not null)`,
    )
    const applied = await appliedNames(em)
    refuseUnknown(applied, ordered, moving)
    isNew = applied.size === 0
    missing = ordered.filter(({ name }) => !applied.has(name))
    for (const migration of missing) {
      for (const statement of migration[driver.dialect]) await run(statement)
      await run(`insert into ${MIGRATIONS_TABLE} (name, applied_at) values (?, ?)`, [
        migration.name,
        clock.now().getTime(),
      ])
    }
  })
  // A first start has one line for all of them, so that its set-up link stays in sight.
  if (isNew) log.info({ migrations: missing.length }, 'database created')
  else if (missing.length > 0) log.info({ migrations: missing.map(({ name }) => name) }, 'database migrated')
}

/**
 * Compares a database with the migrations of this program: lists the missing and the unknown ones. For an empty
 * database no migration counts as missing.
 */
export async function compareMigrations(
  driver: { query(sql: string, parameters: readonly []): Promise<object[]> },
  migrations: Migration[],
): Promise<{ lacking: string[]; unknown: string[] }> {
  const rows = (await driver.query(`select name from ${MIGRATIONS_TABLE}`, []).catch(() => [])) as { name: string }[]
  if (rows.length === 0) return { lacking: [], unknown: [] }
  const applied = new Set(rows.map(({ name }) => name))
  const known = new Set(migrations.map(({ name }) => name))
  return { lacking: [...known.difference(applied)].sort(), unknown: [...applied.difference(known)].sort() }
}

function inOrder(migrations: Migration[]): Migration[] {
  const ordered = migrations.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  const twice = ordered.find((migration, index) => migration.name === ordered[index + 1]?.name)
  if (twice) throw new StartupError(`Two migrations are named ${twice.name}; rename one of them.`)
  return ordered
}

async function appliedNames(em: SqlEntityManager): Promise<Set<string>> {
  const rows = await em.execute<{ name: string }[]>(`select name from ${MIGRATIONS_TABLE}`)
  return new Set(rows.map((row) => row.name))
}

function refuseUnknown(applied: Set<string>, known: Migration[], moving: boolean): void {
  const names = new Set(known.map((migration) => migration.name))
  const marks = [...applied].filter((name) => name.startsWith(MOVE_MARK))
  const unknown = [...applied].filter((name) => !names.has(name) && !marks.includes(name)).sort()
  if (marks.length > 0 && !moving)
    throw new StartupError(
      'This database is the target of a `gameyard move` or `gameyard restore` that is not complete: run the same command again, then start.',
    )
  if (unknown.length === 0) return
  throw new StartupError(
    `This database was written by a newer Gameyard, or by one with more plugins: it holds the migration ${unknown.at(-1)}, which this program doesn't know. Start that version, or restore a backup.`,
  )
}
