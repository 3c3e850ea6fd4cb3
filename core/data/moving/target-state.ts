import { createHash } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { DatabaseDriver } from '../database.ts'
import {
  compareMigrations,
  MIGRATIONS_TABLE,
  MOVE_MARK,
  migrate,
  type OwnedMigration,
  writerOf,
} from '../migrations.ts'
import { MoveError } from './errors.ts'
import { guarded } from './rows.ts'

type Queries = Pick<DatabaseDriver, 'query'>

/**
 * Checks that the source has exactly the tables of this program, and identifies it.
 *
 * @returns a text that is different for every platform
 * @throws MoveError
 */
export async function identifySource(source: Queries, migrations: OwnedMigration[], keyCheck: string): Promise<string> {
  const rows = (await source
    .query(`select name, applied_at from ${MIGRATIONS_TABLE} order by name`, [])
    .catch(() => [])) as {
    name: string
    applied_at: number
  }[]
  if (rows.length === 0) throw new MoveError('The source has no platform: its database is empty.')
  if (rows.some(({ name }) => name.startsWith(MOVE_MARK)))
    throw new MoveError('The source is itself the target of a move that is not complete.')
  const { lacking, unknown } = await compareMigrations(source, migrations)
  const last = unknown.at(-1)
  if (last)
    throw new MoveError(
      `The source was written by ${writerOf(last)}: it has the migration ${last.name}, which this program does not know. Use that version for it.`,
    )
  if (lacking.length > 0)
    throw new MoveError(
      `The source was written by an older Gameyard: it lacks the migration ${lacking[0]}. Use that version for it, or start this one on it first.`,
    )
  return createHash('sha256')
    .update(JSON.stringify([keyCheck, rows]))
    .digest('hex')
}

/** Returns the names of all tables but that of the migrations. */
export async function tableNames(source: Pick<DatabaseDriver, 'dialect' | 'query'>): Promise<Set<string>> {
  const sql =
    source.dialect === 'sqlite'
      ? "select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\'"
      : 'select tablename as name from pg_tables where schemaname = current_schema()'
  const tables = (await source.query(sql, [])) as { name: string }[]
  return new Set(tables.map(({ name }) => name).filter((name) => name !== MIGRATIONS_TABLE))
}

/**
 * Marks an empty database as the target of a move from this source, and creates the tables. A database with the same
 * mark belongs to an interrupted run of the same move.
 *
 * @param identity of the source
 * @returns whether the database was empty
 * @throws MoveError when the database has anything else
 */
export async function claimTarget(
  target: DatabaseDriver,
  {
    identity,
    migrations,
    log,
    clock,
  }: { identity: string; migrations: OwnedMigration[]; log: FastifyBaseLogger; clock: Clock },
): Promise<boolean> {
  const mark = MOVE_MARK + identity
  const names = (await target.query(`select name from ${MIGRATIONS_TABLE}`, []).catch(() => [])) as { name: string }[]
  const marks = names.map(({ name }) => name).filter((name) => name.startsWith(MOVE_MARK))
  if (names.length > 0 && marks.length === 0)
    throw new MoveError(
      "The target's database is not empty: it has the tables of a platform. Name an empty database, or remove the tables.",
    )
  if (marks.length > 0 && !marks.includes(mark))
    throw new MoveError(
      "The target's database has part of another platform, from a move that is not complete: name an empty database, or remove the tables.",
    )
  await guarded('target', async () => {
    await target.migrate(async (em) => {
      await em.execute(
        `create table if not exists ${MIGRATIONS_TABLE} (name varchar(255) primary key, applied_at bigint not null)`,
        [],
        'run',
      )
      await em.execute(`delete from ${MIGRATIONS_TABLE} where name = ?`, [mark], 'run')
      await em.execute(
        `insert into ${MIGRATIONS_TABLE} (name, applied_at) values (?, ?)`,
        [mark, clock.now().getTime()],
        'run',
      )
    })
    await migrate(target, migrations, { log, clock, moving: true })
  })
  return names.length === 0
}

/** Removes the mark: from then on a platform can start on the database. */
export async function releaseTarget(target: DatabaseDriver, identity: string): Promise<void> {
  await guarded('target', () =>
    target.execute(`delete from ${MIGRATIONS_TABLE} where name = ?`, [MOVE_MARK + identity]),
  )
}
