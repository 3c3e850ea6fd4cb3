import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import type { DriverContext } from '../../core/driver.ts'
import { isPlatformError, StorageFull, WritesStopped } from '../../core/errors.ts'
import { DatabaseBusy, DatabaseUnavailable, type Parameter, type Statements } from './interface.ts'
import { Checkpoints } from './sqlite-checkpoints.ts'
import { KeptStatements, type Statement } from './sqlite-kept-statements.ts'
import { nativeBinding } from './sqlite-native.ts'
import { ReadGroup } from './sqlite-read-group.ts'

/** A call that shares its commit with others. */
interface Unit {
  work(statements: Statements): Promise<unknown>
  resolve(value: never): void
  reject(error: unknown): void
}

export interface StatementResult {
  rows: object[]
  changes: number
  insertId?: number | bigint
}

/**
 * Maximum time in ms that one attempt may block the process while another process writes; a timer then repeats the
 * attempt.
 */
const ATTEMPT_MS = 1
/** Maximum pause between two attempts. It is shorter than the pause of a process that gives way. */
const RETRY_MS = 2
/** While other processes write too, a process writes for so long, and then pauses so that one of them has its turn. */
const TURN_MS = 25
const GIVE_WAY_MS = 3
/** The time for which a process that has written counts as writing. */
const WRITING_MS = 250

/** The pages that a lean connection keeps: 2 MiB, in SQLite's notation. The default is 16 MiB. */
const LEAN_CACHE = -2048

/** A statement that may be a query; whether it is one, only its preparation tells. */
const IS_QUERY = /^\s*(select|with)\b/i

/**
 * The connections of this process to one database file: one that writes, for one caller at a time, and one that only
 * reads and never waits (write-ahead log). A database in memory has only the first.
 */
export class SqliteConnections {
  readonly writer: Sqlite.Database
  readonly #reader: Sqlite.Database | null
  readonly #checkpoints: Checkpoints | null
  readonly #waitMs: number
  readonly #queue: Array<() => void> = []
  #taken = false
  /** How often the writing connection has been released. */
  #released = 0
  readonly #written: KeptStatements
  readonly #read: KeptStatements | null
  readonly #readGroup: ReadGroup | null
  readonly #fast = new Map<string, Statement>()
  readonly #units: Unit[] = []
  #committing = false
  #readOnly = false
  /** Changes when another connection has written; see SQLite's `pragma data_version`. */
  readonly #dataVersion: Statement
  #version: unknown
  #othersWroteAt = Number.NEGATIVE_INFINITY
  #releasedAt = Number.NEGATIVE_INFINITY
  #turnSince = Number.NEGATIVE_INFINITY

  /**
   * @param waitMs maximum wait for the writing connection, and for another process
   * @param image initial content of a database in memory: the bytes of a database file
   * @param lean whether each connection keeps few pages in memory
   */
  static async open(
    file: string,
    {
      waitMs,
      synchronous,
      image,
      lean = false,
    }: { waitMs: number; synchronous: 'full' | 'normal'; image?: Buffer | undefined; lean?: boolean },
    context: Pick<DriverContext, 'log' | 'workerProgram'>,
  ) {
    const writer = new Sqlite(image ?? file, { timeout: ATTEMPT_MS, ...nativeBinding(file) })
    try {
      await whileBusy(waitMs, () => {
        writer.pragma('journal_mode = wal')
        writer.pragma(`synchronous = ${synchronous}`)
        writer.pragma('foreign_keys = on')
        writer.prepare('select count(*) from sqlite_master').get()
      })
      const reader = file === ':memory:' ? null : openReader(file)
      if (lean) for (const connection of [writer, reader]) connection?.pragma(`cache_size = ${LEAN_CACHE}`)
      const checkpoints = reader && new Checkpoints(writer, { file, synchronous }, context)
      return new SqliteConnections({ writer, reader, checkpoints }, waitMs)
    } catch (error) {
      writer.close()
      throw error
    }
  }

  private constructor(
    {
      writer,
      reader,
      checkpoints,
    }: { writer: Sqlite.Database; reader: Sqlite.Database | null; checkpoints: Checkpoints | null },
    waitMs: number,
  ) {
    this.writer = writer
    this.#reader = reader
    this.#checkpoints = checkpoints
    this.#waitMs = waitMs
    this.#written = new KeptStatements(writer)
    this.#read = reader && new KeptStatements(reader)
    this.#readGroup = reader && new ReadGroup(reader)
    this.#dataVersion = writer.prepare('pragma data_version').pluck() as Statement
    this.#version = this.#dataVersion.get()
  }

  /** Runs a SELECT of the hot path. Its statement is prepared once and kept, and never waits for a transaction. */
  async query(sql: string, parameters: readonly Parameter[]): Promise<object[]> {
    if (!this.#reader) return (await this.write(sql, parameters.map(bind))).rows
    const statement = this.#prepareFast(this.#reader, sql)
    const values = parameters.length === 0 ? [] : parameters.map(bind)
    try {
      return statement.all(values)
    } catch (error) {
      return this.#readAgain(error, statement, values)
    }
  }

  /** Does the same as `query`, in one read transaction with the other calls of this turn of the event loop. */
  async groupQuery(sql: string, parameters: readonly Parameter[]): Promise<object[]> {
    if (!this.#reader || !this.#readGroup) return this.query(sql, parameters)
    const statement = this.#prepareFast(this.#reader, sql)
    const values = parameters.map(bind)
    try {
      return await this.#readGroup.query(statement, values)
    } catch (error) {
      return this.#readAgain(error, statement, values)
    }
  }

  #prepareFast(reader: Sqlite.Database, sql: string): Statement {
    let statement = this.#fast.get(sql)
    if (!statement) {
      statement = reader.prepare(sql) as Statement
      this.#fast.set(sql, statement)
    }
    return statement
  }

  async #readAgain(error: unknown, statement: Statement, values: unknown[]): Promise<object[]> {
    if (!isBusy(error)) throw translated(error)
    return whileBusy(this.#waitMs, () => statement.all(values))
  }

  /** Runs a writing statement in its own transaction. @returns the number of affected rows */
  async execute(sql: string, parameters: readonly Parameter[]): Promise<number> {
    return (await this.write(sql, parameters.map(bind))).changes
  }

  /** Runs one statement outside of a transaction: a SELECT at once, a writing statement when its turn comes. */
  async run(sql: string, parameters: readonly unknown[]): Promise<StatementResult> {
    if (this.#read && IS_QUERY.test(sql)) {
      const statement = this.#read.prepare(sql)
      if (statement.readonly) return whileBusy(this.#waitMs, () => execute(statement, parameters))
    }
    return this.write(sql, parameters)
  }

  async write(sql: string, parameters: readonly unknown[]): Promise<StatementResult> {
    await this.take(IS_QUERY.test(sql))
    try {
      await this.#giveWay()
      return await whileBusy(this.#waitMs, () => execute(this.#written.prepare(sql), parameters))
    } finally {
      this.release()
    }
  }

  /** Runs one statement in the transaction that the caller holds. */
  runInside(sql: string, parameters: readonly unknown[]): StatementResult {
    // SQLite rolls back by itself when the disk is full. Further statements must not commit one by one.
    if (!this.writer.inTransaction) throw new Error('The database has rolled this transaction back already.')
    try {
      return execute(this.#written.prepare(sql), parameters)
    } catch (error) {
      throw translated(error)
    }
  }

  /**
   * Begins as a write transaction (BEGIN IMMEDIATE). A transaction that first reads and then writes would fail whenever
   * another process wrote in between, whatever the busy timeout.
   */
  async begin(): Promise<void> {
    await this.take()
    try {
      await this.#giveWay()
      await whileBusy(this.#waitMs, () => execute(this.#written.prepare('begin immediate'), []))
      this.#noteOthers()
    } catch (error) {
      this.release()
      throw error
    }
  }

  /** Runs `work` in one transaction together with all other waiting calls. See `Database.groupCommit`. */
  groupCommit<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#units.push({ work, resolve: resolve as Unit['resolve'], reject })
      if (!this.#committing) void this.#commitUnits()
    })
  }

  /** Commits groups until no call waits. A commit blocks the process, and new requests gather meanwhile. */
  async #commitUnits(): Promise<void> {
    this.#committing = true
    while (this.#units.length > 0) {
      await nextTurn() // lets all requests that have arrived join the group
      await this.#commitGroup().catch((error) => {
        for (const unit of this.#units.splice(0)) unit.reject(error) // the database is not available
      })
    }
    this.#committing = false
  }

  async #commitGroup(): Promise<void> {
    await this.begin()
    const units = this.#units.splice(0)
    const results: Array<() => void> = []
    try {
      for (const unit of units) results.push(await this.#runUnit(unit))
      this.runInside('commit', [])
      for (const settle of results) settle()
    } catch (error) {
      for (const unit of units) unit.reject(error)
    } finally {
      if (this.writer.inTransaction) this.writer.exec('rollback')
      this.release()
    }
  }

  /** @returns a function that settles the call after the commit @throws when the whole transaction is lost */
  async #runUnit({ work, resolve, reject }: Unit): Promise<() => void> {
    this.runInside('savepoint unit', [])
    try {
      const value = await work(this.#inside)
      this.runInside('release unit', [])
      return () => resolve(value as never)
    } catch (error) {
      if (!this.writer.inTransaction) throw error
      this.runInside('rollback to unit', [])
      this.runInside('release unit', [])
      return () => reject(error)
    }
  }

  readonly #inside: Statements = {
    query: async (sql, parameters = []) => this.runInside(sql, parameters.map(bind)).rows as never,
    execute: async (sql, parameters = []) => this.runInside(sql, parameters.map(bind)).changes,
  }

  /**
   * Stops or resumes writing. Transactions that already wait for their turn still run, and are over when this resolves.
   */
  async setReadOnly(readOnly: boolean): Promise<void> {
    this.#readOnly = readOnly
    await this.take(true)
    try {
      this.writer.pragma(`query_only = ${readOnly ? 'on' : 'off'}`)
    } finally {
      this.release()
    }
  }

  /**
   * Waits for the writing connection, in the order of the calls.
   *
   * @param reading whether the caller only reads, which is possible while writing is stopped
   * @throws DatabaseBusy
   * @throws WritesStopped
   */
  async take(reading = false): Promise<void> {
    if (this.#readOnly && !reading) throw new WritesStopped()
    if (!this.#taken) {
      this.#taken = true
      return
    }
    const before = this.#released
    await new Promise<void>((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#queue.splice(this.#queue.indexOf(turn), 1)
        const advice = 'Inside a transaction use the entity manager that it passes, and wait for no network.'
        const [who, further] = this.#released === before ? ['A transaction has', ` ${advice}`] : ['Others have', '']
        const cause = `${who} held the database for more than ${this.#waitMs} ms.${further}`
        reject(new DatabaseBusy('has too much to write right now').with({ cause: new Error(cause) }))
      }, this.#waitMs)
      this.#queue.push(turn)
    })
  }

  /**
   * Lets another process write first, if this one has had its turn. SQLite has no queue: a process that begins again
   * at once would keep the others out, which look every few milliseconds.
   */
  async #giveWay(): Promise<void> {
    const now = performance.now()
    const hasPaused = now - this.#releasedAt >= GIVE_WAY_MS
    if (!hasPaused && now - this.#turnSince < TURN_MS) return
    if (!hasPaused && now - this.#othersWroteAt < WRITING_MS) await sleep(GIVE_WAY_MS)
    this.#turnSince = performance.now()
  }

  #noteOthers(): void {
    const version = this.#dataVersion.get()
    if (version !== this.#version) this.#othersWroteAt = performance.now()
    this.#version = version
  }

  release(): void {
    this.#released++
    this.#releasedAt = performance.now()
    this.#checkpoints?.noteWrite()
    const next = this.#queue.shift()
    if (next) next()
    else this.#taken = false
  }

  async close(): Promise<void> {
    await this.#checkpoints?.close()
    this.#reader?.close()
    this.writer.close()
  }
}

/** Opens a read-only connection. */
export const openReader = (file: string): Sqlite.Database =>
  new Sqlite(file, { readonly: true, fileMustExist: true, timeout: ATTEMPT_MS, ...nativeBinding(file) })

function execute(statement: Statement, parameters: readonly unknown[]): StatementResult {
  if (!statement.reader) {
    const { changes, lastInsertRowid } = statement.run(parameters)
    return { rows: [], changes, insertId: lastInsertRowid }
  }
  const rows = statement.all(parameters)
  return { rows, changes: rows.length }
}

function bind(value: Parameter): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof Date) return value.getTime()
  if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) return JSON.stringify(value)
  return value
}

/** Retries work while another process locks the database, without blocking this process. @throws DatabaseBusy */
async function whileBusy<T>(waitMs: number, work: () => T): Promise<T> {
  const end = performance.now() + waitMs
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw translated(error)
    }
    await sleep(1 + Math.random() * (RETRY_MS - 1))
  }
}

const codeOf = (error: unknown): string => (error instanceof Sqlite.SqliteError ? error.code : '')

const isBusy = (error: unknown) => codeOf(error).startsWith('SQLITE_BUSY')

/** Translates errors of the machine, as opposed to errors of the statement, into the family's errors. */
function translated(error: unknown): unknown {
  if (isPlatformError(error)) return error
  const code = codeOf(error)
  if (isBusy(error)) return new DatabaseBusy('is held by another process').with({ cause: error })
  if (code === 'SQLITE_FULL') return new StorageFull().with({ cause: error })
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB|CANTOPEN|READONLY)/.test(code))
    return new DatabaseUnavailable().with({ cause: error })
  return error
}
