import { setTimeout as sleep } from 'node:timers/promises'
import { type EntityClass, type EntitySchema, UniqueConstraintViolationException } from '@mikro-orm/core'
import type { MikroORM, SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../clock.ts'
import { defineError } from '../errors.ts'
import { type Caller, currentCaller } from '../observe/caller.ts'
import { noTracing, type Tracing } from '../observe/tracing.ts'
import { compareMigrations, type MigratableDatabase, migrate, type OwnedMigration } from './migrations.ts'
import { noteVersion } from './program-versions.ts'

/** A parameter of a raw statement. A date is stored as an instant, an object or array as JSON text. */
export type Parameter = string | number | bigint | boolean | null | Date | Uint8Array | object

/** Prepared statements inside a transaction, with the same `sql` and results as `Database.query` and `execute`. */
export interface Statements {
  query<Row extends object>(sql: string, parameters?: readonly Parameter[]): Promise<Row[]>
  execute(sql: string, parameters?: readonly Parameter[]): Promise<number>
}

/**
 * Throws when the caller may no longer act. It runs as the first statement of each transaction of a request, and locks
 * what it reads until the transaction ends.
 *
 * @param alone whether other transactions of the caller must wait for this one
 */
export type CallerCheck = (statements: Statements, caller: Caller, options: { alone: boolean }) => Promise<void>

/** Throws when what a request relies on is no longer so; see `Database.recheck`. */
export type RequestCheck = (statements: Statements) => Promise<void>

/**
 * Whether an error says that a row with a unique value exists already: of an entity manager or of a prepared statement, on
 * either database. The error handler answers it with 409, unless a service knows better.
 */
export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof UniqueConstraintViolationException ||
  /^(23505$|SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY|ROWID))/.test(String((error as { code?: unknown } | null)?.code ?? ''))

/** A table that a plugin declares. */
export type Entity = EntitySchema | EntityClass<unknown>

/**
 * A database that the platform can use. The family `database`.
 *
 * The same entities and the same calls run on every driver. Times have millisecond precision. A unique or foreign key
 * violation surfaces as MikroORM's own exception class. A transaction is serialised against others on the rows it
 * updates and sees no uncommitted rows of others. A commit survives a power cut unless the driver's configuration says
 * otherwise. When the database does not answer, every method and every call of the entity managers throws
 * `DatabaseUnavailable`; the driver reconnects as soon as the database is back.
 */
export interface DatabaseDriver extends MigratableDatabase {
  /** Whether several machines can use it at once; the configuration must then provide the platform's secret. */
  shared: boolean
  /**
   * Connects. Called once, with every entity of every plugin.
   *
   * @param options.lean whether memory matters more than speed, as for a program that reads each row once
   * @throws StartupError with the reason when the database can't be used
   * @throws DatabaseUnavailable
   */
  open(entities: Entity[], options?: { lean?: boolean }): Promise<MikroORM>
  /** Returns the time of the database server; absent when that is this machine. */
  now?(): Promise<Date>
  /** Checks that the database can be used; absent when a statement says enough. @throws Error with the reason if not */
  ping?(): Promise<void>
  /** Runs one SELECT outside of any transaction; see `Database.query`. */
  query(sql: string, parameters: readonly Parameter[]): Promise<object[]>
  /** Runs one SELECT that may share its read transaction with others; see `Database.groupQuery`. */
  groupQuery(sql: string, parameters: readonly Parameter[]): Promise<object[]>
  /** Runs one writing statement in its own transaction; see `Database.execute`. */
  execute(sql: string, parameters: readonly Parameter[]): Promise<number>
  /** Runs `work` in a transaction that may share its commit with others; see `Database.groupCommit`. */
  groupCommit<T>(work: (statements: Statements) => Promise<T>): Promise<T>
  /**
   * Stops or resumes writing by this process. Once it resolves after `true`, no transaction of this process can still
   * commit a change, and every later one throws `WritesStopped` (core/errors.ts). Reading goes on.
   */
  setReadOnly(readOnly: boolean): Promise<void>
  /**
   * Writes a consistent copy into a new file while the platform runs.
   *
   * @throws BackupUnsupported saying what to use instead
   */
  backup(file: string): Promise<void>
  /**
   * Runs SELECTs that all see the database as of one moment, with the results of `query`. A driver that can't `backup` has
   * it, so that a backup reads the rows of one moment while the platform runs.
   */
  snapshot?<T>(work: (query: DatabaseDriver['query']) => Promise<T>): Promise<T>
  /**
   * Reads a whole database that no process has open. This is slow and CPU-intensive.
   *
   * @returns a description of the damage, or null; the method is absent where the database server checks itself
   */
  findDamage?(): Promise<string | null>
  close(): Promise<void>
}

export const BackupUnsupported = defineError('backup_unsupported', 501, '%s')

export interface DatabaseOptions {
  /** The tables of every plugin. */
  entities: Entity[]
  /** The migrations of every plugin, in any order. */
  migrations: OwnedMigration[]
  log: FastifyBaseLogger
  clock: Clock
  tracing?: Tracing
  /** Version of the program; the database records which version opened it last. */
  version?: string
  /** Called once the database answers and before any write. An error ends the start. */
  refuse?: () => Promise<void>
  /** Called before a non-empty database is migrated. An error ends the start. */
  beforeMigration?: () => Promise<unknown>
}

/**
 * The platform's database. Ordinary work uses `em()` and `transaction()`; work on every request uses `query()`.
 *
 * Never wait for the network inside a transaction: SQLite has only one writer. Inside `transaction`, use the entity
 * manager that it passes: another one waits for the transaction to end, and on SQLite times out.
 */
export class Database {
  readonly dialect: DatabaseDriver['dialect']
  readonly #driver: DatabaseDriver
  readonly #orm: MikroORM
  readonly #tracing: Tracing
  readonly #options: DatabaseOptions
  #callerCheck: CallerCheck | null = null
  /** The checks of each request, by key. A request has a `Caller` of its own. */
  readonly #requestChecks = new WeakMap<Caller, Map<string, RequestCheck>>()

  private constructor(driver: DatabaseDriver, orm: MikroORM, options: DatabaseOptions) {
    this.dialect = driver.dialect
    this.#driver = driver
    this.#orm = orm
    this.#options = options
    this.#tracing = options.tracing ?? noTracing
  }

  /** Calls `connect`, then `migrate`. */
  static async open(driver: DatabaseDriver, options: DatabaseOptions): Promise<Database> {
    const database = await Database.connect(driver, options)
    try {
      await database.migrate()
    } catch (error) {
      await driver.close()
      throw error
    }
    return database
  }

  /**
   * Connects without writing. The tables may not exist before `migrate`.
   *
   * @throws StartupError when the database can't be used
   */
  static async connect(driver: DatabaseDriver, options: DatabaseOptions): Promise<Database> {
    const orm = await driver.open(options.entities)
    try {
      await options.refuse?.()
    } catch (error) {
      await driver.close()
      throw error
    }
    return new Database(driver, orm, options)
  }

  /**
   * Brings the schema up to date, one process at a time.
   *
   * @throws StartupError when a newer program wrote the database
   */
  async migrate(): Promise<void> {
    const { migrations, log, clock, version, beforeMigration } = this.#options
    const { lacking, unknown } = await compareMigrations(this.#driver, migrations)
    // `migrate` refuses a database with unknown migrations, so it needs no backup.
    if (lacking.length > 0 && unknown.length === 0) await beforeMigration?.()
    await migrate(this.#driver, migrations, { log, clock })
    if (version !== undefined) await noteVersion(this.#driver, version, clock)
  }

  /**
   * Creates an entity manager for one request or service call. It must not be shared, since it caches what it loads.
   */
  em(): SqlEntityManager {
    return this.#orm.em.fork()
  }

  /** Sets the check that every transaction of a request makes first. The plugin that owns players calls it. */
  checkCallers(check: CallerCheck): void {
    this.#callerCheck = check
  }

  /**
   * Makes every later transaction of the current request begin with another check: what was found before the transaction,
   * such as a game, must still be so in it. The check locks what it reads. Outside of a request it does nothing.
   *
   * @param key replaces an earlier check of the same key
   */
  recheck(key: string, check: RequestCheck): void {
    const caller = currentCaller()
    if (!caller) return
    const checks = this.#requestChecks.get(caller)
    if (checks) checks.set(key, check)
    else this.#requestChecks.set(caller, new Map([[key, check]]))
  }

  /** Ends such a check, for a request that itself ends what it relied on. */
  endRecheck(key: string): void {
    const caller = currentCaller()
    if (caller) this.#requestChecks.get(caller)?.delete(key)
  }

  /** Adds to the work of a transaction what must still be so. */
  #checked<Context, Result>(
    work: (context: Context) => Promise<Result>,
    statementsIn: (context: Context) => Statements,
    options: { alone: boolean },
  ): (context: Context) => Promise<Result> {
    const [caller, check] = [currentCaller(), this.#callerCheck]
    if (!caller || !check) return work
    return async (context) => {
      const statements = statementsIn(context)
      await check(statements, caller, options)
      for (const recheck of this.#requestChecks.get(caller)?.values() ?? []) await recheck(statements)
      return work(context)
    }
  }

  /**
   * Runs `work` in one transaction, which commits when `work` resolves and rolls back when it rejects. In a request it
   * first reads the caller again (core/observe/caller.ts), and makes the checks of `recheck`.
   *
   * @param options.alone for work that ends the caller's account or changes its address: the caller's other
   *   transactions wait meanwhile
   */
  transaction<T>(work: (em: SqlEntityManager) => Promise<T>, { alone = false } = {}): Promise<T> {
    const checked = this.#checked(work, statementsOf, { alone })
    return this.#span('transaction', '', () => this.em().transactional((em) => checked(em as SqlEntityManager)))
  }

  /**
   * Runs one SELECT with a cached prepared statement: the fast path for work on every request. It sees only committed
   * rows, never those of an open transaction.
   *
   * @param sql the same text on each call, with `?` for values; only syntax that both dialects accept
   * @returns plain rows, the same on both dialects: times in ms since 1970, booleans as 0 and 1, JSON as text
   */
  query<Row extends object>(sql: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    return this.#span('query', sql, () => this.#driver.query(sql, parameters) as Promise<Row[]>)
  }

  /**
   * Does the same as `query`, for a look-up that many requests do concurrently. On SQLite the calls of one turn of the
   * event loop share one read transaction, which costs a third. Each begins at the end of the turn, and sees everything
   * that was committed before the call.
   */
  groupQuery<Row extends object>(sql: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    return this.#span('query', sql, () => this.#driver.groupQuery(sql, parameters) as Promise<Row[]>)
  }

  /**
   * Runs one writing statement in its own transaction, without reading the caller again; `sql` as for `query`.
   *
   * @returns the number of affected rows
   */
  execute(sql: string, parameters: readonly Parameter[] = []): Promise<number> {
    return this.#span('execute', sql, () => this.#driver.execute(sql, parameters))
  }

  /**
   * Runs `work` in a short transaction of prepared statements, for work that many requests do concurrently. It resolves
   * when the transaction is as durable as any other. On SQLite concurrent calls share one commit, and so one wait for
   * the disk; a call that fails is rolled back alone. `work` must wait for nothing but its own statements, since other
   * calls queue behind it. In a request it begins with the same checks as `transaction`.
   */
  groupCommit<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    const checked = this.#checked(work, (statements: Statements) => statements, { alone: false })
    return this.#span('transaction', '', () => this.#driver.groupCommit(checked))
  }

  /** Rejects when the database does not answer; used by /readyz. */
  async ping(): Promise<void> {
    if (this.#driver.ping) await this.#driver.ping()
    else await this.#driver.query('select 1', [])
  }

  /** Stops or resumes writing by this process; see `DatabaseDriver.setReadOnly`. */
  setReadOnly(readOnly: boolean): Promise<void> {
    return this.#driver.setReadOnly(readOnly)
  }

  /** Writes a copy of the current state into a new file. @throws BackupUnsupported */
  backup(file: string): Promise<void> {
    return this.#driver.backup(file)
  }

  close(): Promise<void> {
    return this.#driver.close()
  }

  /** @param sql with `?` for its values, so that traces do not contain them */
  #span<Result>(operation: string, sql: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#tracing === noTracing) return work()
    const text = sql && { 'db.query.text': sql.replace(/\s+/g, ' ') }
    return this.#tracing.span(
      `db ${operation}`,
      { 'db.system.name': this.dialect === 'postgres' ? 'postgresql' : 'sqlite', ...(text || {}) },
      work,
    )
  }
}

/** The statements of an entity manager's transaction. Only the result of `query` is plain. */
const statementsOf = (em: SqlEntityManager): Statements => ({
  query: (sql, parameters = []) => em.execute(sql, parameters as unknown[], 'all'),
  execute: async (sql, parameters = []) =>
    (await em.execute<{ affectedRows: number }>(sql, parameters as unknown[], 'run')).affectedRows,
})

/** Target duration of a statement in ms. A statement blocks SQLite's only writer, and the event loop. */
const AIM_MS = 5
const FIRST_ROWS = 50
const MOST_ROWS = 2000

/** Selects the rows of a table to delete. */
export interface Deletion {
  table: string
  /** The columns of the primary key. */
  key: readonly string[]
  /** An index must find these rows without reading others; otherwise even an empty batch takes long. */
  where: string
  /** Values of `where`. */
  parameters: readonly Parameter[]
}

/**
 * Deletes any number of rows without blocking other writers: each statement takes a few milliseconds and is followed by
 * a pause of the same length. The batch size follows from how long the previous statement took.
 *
 * @param signal stops the deletion between two statements; the next call deletes the remaining rows
 * @returns how many rows were deleted
 */
export async function deleteInBatches(
  db: Pick<Database, 'execute'>,
  { table, key, where, parameters }: Deletion,
  signal?: AbortSignal,
): Promise<number> {
  const columns = key.join(', ')
  const named = key.length === 1 ? columns : `(${columns})`
  const sql = `delete from ${table} where ${named} in (select ${columns} from ${table} where ${where} limit ?)`
  let deleted = 0
  for (let rows = FIRST_ROWS; !signal?.aborted; ) {
    const began = performance.now()
    const count = await db.execute(sql, [...parameters, rows])
    const took = performance.now() - began
    deleted += count
    if (count < rows) break
    rows = took > AIM_MS ? Math.max(1, Math.floor(rows / 2)) : took < AIM_MS / 2 ? Math.min(MOST_ROWS, rows * 2) : rows
    await sleep(Math.min(took, 100))
  }
  return deleted
}
