import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from './clock.ts'
import type { DatabaseDriver } from './database.ts'
import { StartupError } from './errors.ts'

/**
 * One forward step of the database, in both dialects. Frozen once released: a later change is a new migration.
 * Names sort by date and are unique in the whole program: `2026_11_21_deploys`. They run in that order, so one that
 * refers to another plugin's table must have a later name.
 */
export interface Migration {
  name: string
  sqlite: string[]
  postgres: string[]
}

/** The table of what was applied: the one table that belongs to no plugin. */
export const MIGRATIONS_TABLE = 'schema_migrations'

/**
 * Applies what the database lacks, in one transaction: all of it or, when the process dies midway, none of it.
 *
 * @throws StartupError when the database holds migrations that this program doesn't know
 */
export async function migrate(
  driver: Pick<DatabaseDriver, 'dialect' | 'migrate'>,
  migrations: Migration[],
  { log, clock }: { log: FastifyBaseLogger; clock: Clock },
): Promise<void> {
  const ordered = inOrder(migrations)
  await driver.migrate(async (em) => {
    const run = (sql: string, parameters: unknown[] = []) => em.execute(sql, parameters, 'run')
    await run(
      `create table if not exists ${MIGRATIONS_TABLE} (name varchar(255) primary key, applied_at bigint not null)`,
    )
    const applied = await appliedNames(em)
    refuseUnknown(applied, ordered)
    for (const migration of ordered) {
      if (applied.has(migration.name)) continue
      for (const statement of migration[driver.dialect]) await run(statement)
      await run(`insert into ${MIGRATIONS_TABLE} (name, applied_at) values (?, ?)`, [
        migration.name,
        clock.now().getTime(),
      ])
      log.info({ migration: migration.name }, 'database migrated')
    }
  })
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

function refuseUnknown(applied: Set<string>, known: Migration[]): void {
  const names = new Set(known.map((migration) => migration.name))
  const unknown = [...applied].filter((name) => !names.has(name)).sort()
  if (unknown.length === 0) return
  throw new StartupError(
    `This database was written by a newer Gameyard, or by one with more plugins: it holds the migration ${unknown.at(-1)}, which this program doesn't know. Start that version, or restore a backup.`,
  )
}
