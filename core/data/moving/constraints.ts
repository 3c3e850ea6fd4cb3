import type { DatabaseDriver } from '../database.ts'
import { MoveError } from './errors.ts'
import { guarded } from './rows.ts'
import type { Table } from './tables.ts'
import { quoted } from './values.ts'

type Queries = Pick<DatabaseDriver, 'dialect' | 'query'>

/** The table of the target that has the foreign keys while they are removed. It exists only during a move. */
export const REMOVED_KEYS = 'moved_foreign_keys'

/**
 * Turns foreign keys off in the target, since tables are copied one after another and rows may refer to later ones. In
 * PostgreSQL they are removed and noted, in one transaction, so that an interrupted move finds them again.
 */
export async function suspendForeignKeys(target: DatabaseDriver): Promise<void> {
  await guarded('target', async () => {
    if (target.dialect === 'sqlite') {
      await target.execute('pragma foreign_keys = off', [])
      return
    }
    await target.groupCommit(async ({ query, execute }) => {
      await execute(`create table if not exists ${REMOVED_KEYS} (restore text primary key)`)
      const keys = await query<{ owner: string; name: string; definition: string }>(
        `select cast(cast(conrelid as regclass) as text) as owner, conname as name, pg_get_constraintdef(oid) as definition
         from pg_constraint where contype = 'f' and connamespace = cast(current_schema() as regnamespace)`,
      )
      for (const { owner, name, definition } of keys) {
        const restore = `alter table ${owner} add constraint ${quoted(name)} ${definition}`
        await execute(`insert into ${REMOVED_KEYS} (restore) values (?) on conflict do nothing`, [restore])
        await execute(`alter table ${owner} drop constraint ${quoted(name)}`)
      }
    })
  })
}

/**
 * Turns foreign keys on again, and checks them.
 *
 * @throws MoveError when a row refers to nothing
 */
export async function restoreForeignKeys(target: DatabaseDriver): Promise<void> {
  await guarded('target', async () => {
    if (target.dialect === 'sqlite') {
      const [broken] = (await target.query('select "table" from pragma_foreign_key_check() limit 1', [])) as {
        table: string
      }[]
      if (broken) throw new MoveError(`A row of the table ${broken.table} of the source refers to nothing: correct it.`)
      await target.execute('pragma foreign_keys = on', [])
      return
    }
    await target.groupCommit(async ({ query, execute }) => {
      const keys = await query<{ restore: string }>(`select restore from ${REMOVED_KEYS}`)
      for (const { restore } of keys)
        await execute(restore).catch((error: Error) => {
          throw new MoveError(`The source has rows that refer to nothing (${error.message}): correct them.`, {
            cause: error,
          })
        })
      await execute(`drop table ${REMOVED_KEYS}`)
    })
  })
}

/** Lets the target number new rows where the source would go on, also after rows with higher numbers were deleted. */
export async function continueNumbering(source: Queries, target: DatabaseDriver, tables: Table[]): Promise<void> {
  for (const table of tables)
    for (const { name, numbered } of table.columns) {
      if (!numbered) continue
      const last = Math.max(await lastNumber(source, table.name, name), await lastNumber(target, table.name, name))
      if (last > 0) await guarded('target', () => setLastNumber(target, table.name, name, last))
    }
}

async function lastNumber(database: Queries, table: string, column: string): Promise<number> {
  const [max] = (await database.query(`select max(${quoted(column)}) as last from ${quoted(table)}`, [])) as {
    last: number | null
  }[]
  // SQLite creates its table of numbers with the first table that needs it.
  const sequence =
    database.dialect === 'sqlite'
      ? database.query('select seq as last from sqlite_sequence where name = ?', [table]).catch(() => [])
      : database.query('select pg_sequence_last_value(cast(pg_get_serial_sequence(?, ?) as regclass)) as last', [
          quoted(table),
          column,
        ])
  const [noted] = (await sequence) as { last: number | null }[]
  return Math.max(Number(max?.last ?? 0), Number(noted?.last ?? 0))
}

async function setLastNumber(database: DatabaseDriver, table: string, column: string, last: number): Promise<void> {
  if (database.dialect === 'postgres') {
    await database.query('select setval(cast(pg_get_serial_sequence(?, ?) as regclass), ?)', [
      quoted(table),
      column,
      last,
    ])
    return
  }
  const [numbered] = (await database.query(
    "select 1 as found from sqlite_master where type = 'table' and name = ? and sql like '%autoincrement%'",
    [table],
  )) as object[]
  if (!numbered) return
  await database.groupCommit(async ({ execute }) => {
    await execute('delete from sqlite_sequence where name = ?', [table])
    await execute('insert into sqlite_sequence (name, seq) values (?, ?)', [table, last])
  })
}
