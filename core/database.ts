import type { EntityClass, EntitySchema } from '@mikro-orm/core'
import type { MikroORM, SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from './clock.ts'
import { defineError } from './errors.ts'
import { type Migration, migrate } from './migrations.ts'
import { noTracing, type Tracing } from './tracing.ts'

/** What a raw statement takes: a date is stored as the instant, an object or array as JSON text. */
export type Parameter = string | number | bigint | boolean | null | Date | Uint8Array | object

/** Prepared statements inside of a transaction; `sql` and results as for `Database.query` and `execute`. */
export interface Statements {
  query<Row extends object>(sql: string, parameters?: readonly Parameter[]): Promise<Row[]>
  execute(sql: string, parameters?: readonly Parameter[]): Promise<number>
}

/** A table, as plugins declare it. */
export type Entity = EntitySchema | EntityClass<unknown>

/**
 * A database the platform can live in. The family `database`.
 *
 * The same entities and the same calls run on every driver. Times have millisecond precision; a unique or foreign key
 * violation surfaces as MikroORM's own exception class; a transaction is serialised against others on the rows it
 * updates and sees no other's uncommitted rows; what a commit acknowledged survives a power cut unless the driver's
 * configuration says otherwise. A database that does not answer surfaces as `DatabaseUnavailable`, from every method
 * and from every call of the entity managers, and is used again as soon as it is back.
 */
export interface DatabaseDriver {
  /** Which of a migration's two statement lists this database takes. */
  dialect: 'sqlite' | 'postgres'
  /** Whether several machines can use it at once; the platform's secret must then come from the configuration. */
  shared: boolean
  /**
   * Connects. Called once, with every entity of every plugin.
   *
   * @throws StartupError when what is there can't be used, saying why
   * @throws DatabaseUnavailable
   */
  open(entities: Entity[]): Promise<MikroORM>
  /**
   * Runs `work` in one transaction while no other process migrates, waiting for the one that does. Foreign keys hold
   * at the end of it, not necessarily in between.
   */
  migrate(work: (em: SqlEntityManager) => Promise<void>): Promise<void>
  /** The time that the database server has; absent where that is this machine's. */
  now?(): Promise<Date>
  /** Runs one reading statement outside of any transaction; see `Database.query`. */
  query(sql: string, parameters: readonly Parameter[]): Promise<object[]>
  /** Runs one writing statement in a transaction of its own; see `Database.execute`. */
  execute(sql: string, parameters: readonly Parameter[]): Promise<number>
  /** Runs `work` in a transaction that may share its commit with others; see `Database.groupCommit`. */
  groupCommit<T>(work: (statements: Statements) => Promise<T>, options?: { fleeting?: boolean }): Promise<T>
  /**
   * Writes a consistent copy into a new file while the platform runs.
   * @throws BackupUnsupported saying what to use instead
   */
  backup(file: string): Promise<void>
  /**
   * Reads a whole database that nobody has opened, which takes its time and the processor.
   * @returns what is damaged, or null; absent where the database looks after itself
   */
  findDamage?(): Promise<string | null>
  close(): Promise<void>
}

export const BackupUnsupported = defineError('backup_unsupported', 501, '%s')

export interface DatabaseOptions {
  /** The tables of every plugin. */
  entities: Entity[]
  /** The migrations of every plugin, in any order. */
  migrations: Migration[]
  log: FastifyBaseLogger
  clock: Clock
  tracing?: Tracing
}

/**
 * The platform's database, migrated. The ordinary goes through `em()` and `transaction()`; what every request does
 * goes through `query()`.
 *
 * Never wait for the network inside a transaction: on SQLite it is the only writer. Inside `transaction`, use the
 * entity manager it passes: another one waits for the transaction to end, and on SQLite gives up after a while.
 */
export class Database {
  readonly dialect: DatabaseDriver['dialect']
  readonly #driver: DatabaseDriver
  readonly #orm: MikroORM
  readonly #tracing: Tracing

  private constructor(driver: DatabaseDriver, orm: MikroORM, tracing: Tracing) {
    this.dialect = driver.dialect
    this.#driver = driver
    this.#orm = orm
    this.#tracing = tracing
  }

  /**
   * Connects and brings the schema up to date, one process at a time.
   *
   * @throws StartupError when a newer program wrote the database, or it can't be used
   */
  static async open(
    driver: DatabaseDriver,
    { entities, migrations, log, clock, tracing = noTracing }: DatabaseOptions,
  ): Promise<Database> {
    const orm = await driver.open(entities)
    try {
      await migrate(driver, migrations, { log, clock })
    } catch (error) {
      await driver.close()
      throw error
    }
    return new Database(driver, orm, tracing)
  }

  /** An entity manager of one's own: one a request or service call, never shared, since it remembers what it loaded. */
  em(): SqlEntityManager {
    return this.#orm.em.fork()
  }

  /** Runs `work` in one transaction, which ends with it: committed when it resolves, rolled back when it rejects. */
  transaction<T>(work: (em: SqlEntityManager) => Promise<T>): Promise<T> {
    return this.#span('transaction', '', () => this.em().transactional((em) => work(em as SqlEntityManager)))
  }

  /**
   * Runs one reading statement, prepared once and kept: the fast path, for what every request does. It sees what is
   * committed, never the inside of a transaction.
   *
   * @param sql the same text each time, values as `?` on both dialects; keep it to what both understand
   * @returns rows in plain form, the same on both dialects: times in ms since 1970, booleans as 0 and 1, JSON as text
   */
  query<Row extends object>(sql: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    return this.#span('query', sql, () => this.#driver.query(sql, parameters) as Promise<Row[]>)
  }

  /** Runs one writing statement in a transaction of its own; `sql` as for `query`. @returns the number of rows it met */
  execute(sql: string, parameters: readonly Parameter[] = []): Promise<number> {
    return this.#span('execute', sql, () => this.#driver.execute(sql, parameters))
  }

  /**
   * Runs `work` in a short transaction of prepared statements: what many requests do at once. Resolves when it is as
   * durable as any other; on SQLite those that come together share one commit, and so one wait for the disk. One that
   * fails undoes itself alone. `work` waits for nothing but its own statements: others stand behind it.
   *
   * @param options `fleeting`: nothing that a machine without power would miss, such as a hold for work that dies with
   *   it: it survives the end of the process, but need not have reached the disk when this resolves
   */
  groupCommit<T>(work: (statements: Statements) => Promise<T>, options: { fleeting?: boolean } = {}): Promise<T> {
    return this.#span('transaction', '', () => this.#driver.groupCommit(work, options))
  }

  /** Rejects when the database does not answer; used by /readyz. */
  async ping(): Promise<void> {
    await this.#driver.query('select 1', [])
  }

  /** Writes a copy as of this moment into a new file. @throws BackupUnsupported */
  backup(file: string): Promise<void> {
    return this.#driver.backup(file)
  }

  close(): Promise<void> {
    return this.#driver.close()
  }

  /** @param sql with `?` for its values, which are in no trace */
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
