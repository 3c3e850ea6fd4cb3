import { createHash } from 'node:crypto'
import { isPlatformError } from '../../errors.ts'
import type { DatabaseDriver, Parameter, Statements } from '../database.ts'
import { MoveError } from './errors.ts'
import type { Column, Table } from './tables.ts'
import { canonical, decoded, encoded, quoted, type Side, selected, type Value } from './values.ts'

/** The values of a row, in the order of the table's columns. */
export type Row = Value[]

/** The values of a key, in the order of its columns. */
export type Key = Value[]

/** A part of a table in the order of its key: after `after` and up to `upTo`, both absent for the whole. */
export interface Range {
  after: Key | null
  upTo: Key | null
}

/** What tells whether a range has changed: the number of rows and a digest, comparable within one database only. */
export interface Fingerprint {
  count: number
  digest: string
}

/** The fingerprint of a range without rows. */
export const EMPTY: Fingerprint = { count: 0, digest: createHash('sha256').digest('hex') }

/** A page is read at once, so its size decides the memory. */
const PAGE_ROWS = 256
const PAGE_BYTES = 1024 * 1024
const ALIAS = '"~row"'
/** PostgreSQL takes 65,535 parameters, SQLite half as many. */
const MAX_PARAMETERS = 30_000

/** The rows of one table in one of the two databases. */
export class Rows {
  readonly table: Table
  readonly #driver: Pick<DatabaseDriver, 'query' | 'groupCommit'>
  readonly #side: Side
  readonly #name: string
  readonly #order: string
  readonly #columns: string
  /** The text of a row as the database prints it. */
  readonly #print: string

  constructor(driver: Pick<DatabaseDriver, 'query' | 'groupCommit'>, table: Table, side: Side) {
    this.table = table
    this.#driver = driver
    this.#side = side
    // Without the table's name, `order by` would mean the text that a number was selected as.
    this.#name = `${quoted(table.name)} as ${ALIAS}`
    this.#order = table.key.map(({ name }) => `${ALIAS}.${quoted(name)}`).join(', ')
    this.#columns = table.columns.map((column) => selected(column, side.dialect)).join(', ')
    this.#print = side.dialect === 'postgres' ? `cast(${ALIAS} as text)` : table.columns.map(sqlitePrint).join(' || ')
  }

  /**
   * Reads the next rows of a range, with the fingerprint that they have at this moment.
   *
   * @returns null at the end
   */
  async page(range: Range): Promise<{ rows: Row[]; upTo: Key; fingerprint: Fingerprint } | null> {
    const upTo = await this.#end(range)
    if (upTo === null) return null
    const { where, parameters } = this.#within({ after: range.after, upTo })
    const sql = `select ${this.#columns}, ${this.#print} as "~print" from ${this.#name} ${where} order by ${this.#order}`
    const found = await this.#query<Record<string, unknown>>(sql, parameters)
    const rows = found.map((row) => this.#decode(row))
    const hash = createHash('sha256')
    for (const [index, row] of found.entries()) hash.update(`${index === 0 ? '' : '\n'}${row['~print']}`)
    return { rows, upTo, fingerprint: { count: rows.length, digest: hash.digest('hex') } }
  }

  /** Returns the last key of the next page; null when the range has no more rows. */
  async #end(range: Range): Promise<Key | null> {
    const { where, parameters } = this.#within(range)
    const wide = this.table.columns.filter(({ unbounded }) => unbounded)
    const size = wide.map(({ name, kind }) => {
      const column = kind === 'bytes' ? quoted(name) : `cast(${quoted(name)} as text)`
      return `coalesce(octet_length(${column}), 0)`
    })
    const key = this.table.key.map((column) => selected(column, this.#side.dialect)).join(', ')
    const found = await this.#query<Record<string, unknown>>(
      `select ${key}, ${size.join(' + ') || '0'} as "~size" from ${this.#name} ${where} order by ${this.#order} limit ${PAGE_ROWS}`,
      parameters,
    )
    let bytes = 0
    const past = found.findIndex((row) => {
      bytes += Number(row['~size'])
      return bytes > PAGE_BYTES
    })
    // A row above the limit is a page of its own.
    const last = found[past === -1 ? found.length - 1 : Math.max(0, past - 1)]
    return last ? this.table.key.map((column) => decoded(column, last[column.name], this.#side)) : null
  }

  /** Returns the fingerprint that a range has now. The database computes most of it, so this is fast. */
  async fingerprint(range: Range): Promise<Fingerprint> {
    const { where, parameters } = this.#within(range)
    if (this.#side.dialect === 'postgres') {
      const text = `coalesce(string_agg(${this.#print}, chr(10) order by ${this.#order}), '')`
      const sql = `select cast(count(*) as int) as count, encode(sha256(convert_to(${text}, 'UTF8')), 'hex') as digest from ${this.#name} ${where}`
      const [found] = await this.#query<Fingerprint>(sql, parameters)
      return found as Fingerprint
    }
    // An order within the aggregate function would sort all rows again. In another order the digest would be another one,
    // and the rows would be copied without need.
    const rows = `select ${this.#print} as print from ${this.#name} ${where} order by ${this.#order}`
    const sql = `select count(*) as count, group_concat(print, char(10)) as text from (${rows})`
    const [found] = await this.#query<{ count: number; text: string | null }>(sql, parameters)
    const digest = createHash('sha256').update(found?.text ?? '')
    return { count: found?.count ?? 0, digest: digest.digest('hex') }
  }

  async count(): Promise<number> {
    const [found] = await this.#query<{ count: number }>(`select count(*) as count from ${this.#name}`, [])
    return Number(found?.count)
  }

  /** Reads the rows of a few keys, in no particular order. */
  async byKeys(keys: Key[]): Promise<Row[]> {
    const rows: Row[] = []
    for (const chunk of chunks(keys, this.table.key.length)) {
      const { where, parameters } = this.#among(chunk)
      const found = await this.#query<Record<string, unknown>>(
        `select ${this.#columns} from ${this.#name} ${where}`,
        parameters,
      )
      rows.push(...found.map((row) => this.#decode(row)))
    }
    return rows
  }

  /**
   * Deletes and inserts rows in one transaction.
   *
   * @throws MoveError when a row can't be stored as it is
   */
  async change(removed: Key[], added: Row[]): Promise<void> {
    try {
      await this.#guarded(() =>
        this.#driver.groupCommit(async (statements) => {
          for (const chunk of chunks(removed, this.table.key.length)) {
            const { where, parameters } = this.#among(chunk)
            await statements.execute(`delete from ${this.#name} ${where}`, parameters)
          }
          for (const chunk of chunks(added, this.table.columns.length)) await this.#insert(statements, chunk)
        }),
      )
    } catch (error) {
      if (!isRefusedValue(error)) throw error
      throw await this.#culprit(removed, added, error as Error)
    }
  }

  keyOf(row: Row): Key {
    return this.table.key.map((column) => row[this.table.columns.indexOf(column)])
  }

  async #insert(statements: Statements, rows: Row[]): Promise<void> {
    const { columns } = this.table
    const names = columns.map(({ name }) => quoted(name)).join(', ')
    const places = `(${columns.map(() => '?').join(', ')})`
    await statements.execute(
      `insert into ${quoted(this.table.name)} (${names}) values ${rows.map(() => places).join(', ')}`,
      rows.flatMap((row) => columns.map((column, index) => encoded(column, row[index], this.#side))),
    )
  }

  /** Finds the row that the database refuses, for the message. */
  async #culprit(removed: Key[], added: Row[], error: Error): Promise<Error> {
    for (const row of added) {
      const alone = this.#driver.groupCommit(async (statements) => {
        await this.#insert(statements, [row])
        throw ROLLBACK
      })
      const reason = await alone.catch((thrown) => thrown)
      if (!isRefusedValue(reason)) continue
      const key = this.keyOf(row).map(String).join(', ')
      return new MoveError(
        `The row ${key} of the table ${this.table.name} can't be stored in the target (${(reason as Error).message}): correct it in the source, and run the same command again.`,
        { cause: removed.length ? error : reason },
      )
    }
    return error
  }

  #decode(row: Record<string, unknown>): Row {
    return this.table.columns.map((column) => decoded(column, row[column.name], this.#side))
  }

  #within({ after, upTo }: Range): { where: string; parameters: Parameter[] } {
    const key = this.table.key.length === 1 ? this.#order : `(${this.#order})`
    const place = this.table.key.length === 1 ? '?' : `(${this.table.key.map(() => '?').join(', ')})`
    const conditions = [after && `${key} > ${place}`, upTo && `${key} <= ${place}`].filter(Boolean)
    return {
      where: conditions.length ? `where ${conditions.join(' and ')}` : '',
      parameters: [...this.#parameters(after), ...this.#parameters(upTo)],
    }
  }

  #among(keys: Key[]): { where: string; parameters: Parameter[] } {
    const parameters = keys.flatMap((key) => this.#parameters(key))
    if (this.table.key.length === 1) return { where: `where ${this.#order} in (${keys.map(() => '?')})`, parameters }
    const places = keys.map(() => `(${this.table.key.map(() => '?').join(', ')})`).join(', ')
    // The two dialects write a list of rows in different ways.
    const list = this.#side.dialect === 'postgres' ? places : `values ${places}`
    return { where: `where (${this.#order}) in (${list})`, parameters }
  }

  #parameters(key: Key | null): Parameter[] {
    return key ? this.table.key.map((column, index) => encoded(column, key[index], this.#side)) : []
  }

  #query<Found extends object>(sql: string, parameters: Parameter[]): Promise<Found[]> {
    return this.#guarded(() => this.#driver.query(sql, parameters) as Promise<Found[]>)
  }

  #guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    return guarded(this.#side.which, work)
  }
}

/** A text that is equal for two rows exactly when the platform would read the same from both. */
export const canonicalRow = (columns: Column[], values: Value[]): string =>
  columns.map((column, index) => canonical(column, values[index])).join('')

/** Runs work on one of the two databases; a lost connection and a lack of room become one clear sentence. */
export async function guarded<Result>(which: Side['which'], work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (code === 'storage_full' || code.startsWith('53'))
      throw new MoveError(`The ${which} has no room left: make room, and run the same command again.`, {
        cause: error,
      })
    if (!isPlatformError(error)) throw error
    throw new MoveError(
      `The ${which} can't be used now (${error.message.replace(/\.$/, '')}): run the same command again.`,
      { cause: error },
    )
  }
}

const codeOf = (error: unknown) => String((error as { code?: unknown }).code ?? '')

/** Whether the database refuses a value: too long, out of range, or a character that it can't store. */
const isRefusedValue = (error: unknown): boolean =>
  /^(22|2350[0-4]|23514)/.test(codeOf(error)) ||
  /^SQLITE_(CONSTRAINT_(CHECK|NOTNULL)|MISMATCH|TOOBIG)/.test(codeOf(error))

const ROLLBACK = new Error('rolled back')

/** Splits a list so that each part fits into one statement; few different lengths keep the prepared statements few. */
function* chunks<Item>(items: Item[], parametersEach: number): Generator<Item[]> {
  const most = 2 ** Math.floor(Math.log2(Math.min(PAGE_ROWS, MAX_PARAMETERS / parametersEach)))
  for (let from = 0; from < items.length; ) {
    const left = items.length - from
    const size = Math.min(most, 2 ** Math.floor(Math.log2(left)))
    yield items.slice(from, from + size)
    from += size
  }
}

/** `||` of SQLite prints a floating-point number with 15 digits, and `quote` all of them. */
function sqlitePrint({ name, kind }: Column): string {
  const column = quoted(name)
  if (kind === 'double' || kind === 'float' || kind === 'decimal') return `quote(${column}) || ','`
  const text = kind === 'bytes' ? `hex(${column})` : column
  return `coalesce(octet_length(${column}) || ':' || ${text}, '~')`
}
