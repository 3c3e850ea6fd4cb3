import type { Database, Parameter } from '../../core/data/database.ts'

/** Copies of a row of a table. */
export interface RowCopies {
  table: string
  /** Selects the row; of several it is any. */
  where: string
  values: Parameter[]
  /** The columns that differ from copy to copy. */
  keys: readonly string[]
  times: number
}

/** Copies a row of a SQLite database again and again, with another value in some columns. */
export async function multiplyRows(db: Database, { table, where, values, keys, times }: RowCopies): Promise<void> {
  const columns = await db.query<{ name: string }>(`select name from pragma_table_info('${table}')`)
  const names = columns.map(({ name }) => `"${name}"`)
  const selected = columns.map(({ name }) =>
    keys.includes(name)
      ? `case typeof(t."${name}") when 'integer' then t."${name}" + n.i else t."${name}" || '-' || n.i end`
      : `t."${name}"`,
  )
  await db.execute(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
     insert into ${table} (${names.join(', ')})
     select ${selected.join(', ')} from n, (select * from ${table} where ${where} limit 1) t`,
    [times, ...values],
  )
}
