import { access, constants, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type AbstractSqlDriver, MikroORM, type SqlEntityManager } from '@mikro-orm/sql'
import Type, { type Static } from 'typebox'
import { FolderError, makeFolder } from '../../core/data/folders/make-folder.ts'
import { type DriverContext, defineDriver } from '../../core/driver.ts'
import { StartupError, StorageFull } from '../../core/errors.ts'
import { DatabaseBusy, type DatabaseDriver, type Entity, type Parameter, type Statements } from './interface.ts'
import { openReader, SqliteConnections } from './sqlite-connection.ts'
import { GuardedSqliteDialect } from './sqlite-dialect.ts'
import { SqliteOrmDriver } from './sqlite-orm.ts'

const SqliteConfig = Type.Object(
  {
    file: Type.String({
      default: 'gameyard.db',
      minLength: 1,
      description: 'The database file, relative to the data folder; ":memory:" keeps nothing.',
    }),
    durability: Type.Union([Type.Literal('full'), Type.Literal('normal')], {
      default: 'full',
      description: 'full: what was acknowledged survives a power cut. normal: faster, may lose the last instants.',
    }),
    busyTimeout: Type.Integer({
      default: 5000,
      minimum: 1,
      description: 'Longest wait for another transaction, in milliseconds.',
    }),
  },
  { additionalProperties: false },
)

/** Earlier versions can damage a database in write-ahead-log mode. */
const OLDEST_SQLITE = [3, 51, 3]

/** Every start checks a database up to this size, which takes less than 0.1 s; `gameyard doctor` checks any size. */
const CHECKED_BYTES = 32 * 1024 * 1024

/** Maximum attempts to wait for another process that migrates. */
const MIGRATION_ATTEMPTS = 60

/** SQLite in one file or in memory, for a single machine. */
export default defineDriver({
  family: 'database',
  name: 'sqlite',
  config: SqliteConfig,
  create: async (config, context) => new SqliteDatabase(config, context),
})

/**
 * The same driver, whose databases in memory begin with the content of a database file, such as one that has been
 * migrated already.
 */
export const sqliteFrom = (image: Buffer) =>
  defineDriver({
    family: 'database',
    name: 'sqlite',
    config: SqliteConfig,
    create: async (config, context) => new SqliteDatabase(config, context, image),
  })

class SqliteDatabase implements DatabaseDriver {
  readonly dialect = 'sqlite'
  readonly shared = false
  readonly #config: Static<typeof SqliteConfig>
  readonly #file: string
  readonly #image: Buffer | undefined
  readonly #context: DriverContext
  #connections!: SqliteConnections
  #orm!: MikroORM

  /** @param image initial content of a database in memory */
  constructor(config: Static<typeof SqliteConfig>, context: DriverContext, image?: Buffer) {
    this.#config = config
    this.#image = image
    this.#context = context
    this.#file = config.file === ':memory:' ? config.file : resolve(context.dataDir, config.file)
  }

  async open(entities: Entity[], { lean = false } = {}): Promise<MikroORM> {
    this.#connections = await this.#connect(lean)
    this.#orm = await MikroORM.init<AbstractSqlDriver>({
      driver: SqliteOrmDriver,
      driverOptions: new GuardedSqliteDialect(this.#connections),
      dbName: this.#file,
      entities,
      ensureDatabase: false,
      discovery: { warnWhenNoEntities: false },
    })
    // MikroORM turns foreign keys on when it connects, which must happen before `migrate` turns them off.
    await this.#orm.connect()
    return this.#orm
  }

  /**
   * Changing a column rebuilds its table, and with foreign keys on, dropping the old table would delete the rows that
   * refer to it. They can be turned off only outside a transaction. They are checked before the transaction commits.
   */
  async migrate(work: (em: SqlEntityManager) => Promise<void>): Promise<void> {
    const { writer } = this.#connections
    writer.pragma('foreign_keys = off')
    try {
      await this.#afterOthers(async (em) => {
        await work(em)
        const broken = await em.execute<{ table: string }[]>('pragma foreign_key_check')
        if (broken[0]) throw new Error(`A migration left a row of ${broken[0].table} that refers to nothing.`)
      })
    } finally {
      writer.pragma('foreign_keys = on')
    }
  }

  query(sql: string, parameters: readonly Parameter[]): Promise<object[]> {
    return this.#connections.query(sql, parameters)
  }

  groupQuery(sql: string, parameters: readonly Parameter[]): Promise<object[]> {
    return this.#connections.groupQuery(sql, parameters)
  }

  execute(sql: string, parameters: readonly Parameter[]): Promise<number> {
    return this.#connections.execute(sql, parameters)
  }

  groupCommit<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    return this.#connections.groupCommit(work)
  }

  setReadOnly(readOnly: boolean): Promise<void> {
    return this.#connections.setReadOnly(readOnly)
  }

  /** Uses SQLite's online backup from a read transaction: the copy is of one moment, whatever is written meanwhile. */
  async backup(file: string): Promise<void> {
    if (this.#file === ':memory:') {
      await this.#connections.writer.backup(file)
      return
    }
    const source = openReader(this.#file)
    try {
      source.exec('begin; select count(*) from sqlite_master')
      await source.backup(file)
    } finally {
      source.close()
    }
  }

  async findDamage(): Promise<string | null> {
    if (this.#file === ':memory:') return null
    try {
      const reader = openReader(this.#file)
      try {
        const [found] = reader.pragma('integrity_check(1)') as { integrity_check: string }[]
        if (found?.integrity_check !== 'ok') return found?.integrity_check.replaceAll('\n', ' ') ?? 'unknown'
        const [broken] = reader.pragma('foreign_key_check') as { table: string }[]
        return broken ? `a row of ${broken.table} refers to nothing` : null
      } finally {
        reader.close()
      }
    } catch (error) {
      return (error as Error).message
    }
  }

  async close(): Promise<void> {
    // Kysely closes only connections that it has used, so all are closed here.
    await this.#orm?.close(true)
    await this.#connections?.close()
  }

  async #connect(lean: boolean): Promise<SqliteConnections> {
    const fresh = this.#file === ':memory:' || (await isAbsent(this.#file))
    try {
      if (this.#file !== ':memory:') await makeFolder(dirname(this.#file))
      if (!fresh) await access(this.#file, constants.R_OK | constants.W_OK)
      const options = {
        waitMs: this.#config.busyTimeout,
        synchronous: this.#config.durability,
        image: this.#file === ':memory:' ? this.#image : undefined,
        lean,
      }
      const connections = await SqliteConnections.open(this.#file, options, this.#context)
      await refuseOldSqlite(connections)
      if (!fresh && (await stat(this.#file)).size <= CHECKED_BYTES) await refuseDamage(connections)
      return connections
    } catch (error) {
      if (error instanceof FolderError) throw new StartupError(this.#unmade(`${error.path}: ${error.reason}`))
      if (error instanceof StartupError || error instanceof DatabaseBusy) throw error
      throw new StartupError(this.#problem(error as Error, fresh), { cause: error })
    }
  }

  #unmade(reason: string): string {
    return `The database file ${this.#file} can't be made (${reason}); check that its folder may be written to.`
  }

  #problem(error: Error, fresh: boolean): string {
    const { message, code = '' } = (error.cause ?? error) as Error & { code?: string }
    const file = `The database file ${this.#file}`
    if (error instanceof StorageFull) return `${file} can't be used (the disk is full); make room on it.`
    if (fresh) return this.#unmade(message)
    return /^SQLITE_(CORRUPT|NOTADB)/.test(code)
      ? `${file} is damaged (${message}); restore a backup, or move the file away to start over.`
      : `${file} can't be used (${message}); check that this user may write to it and its folder.`
  }

  async #afterOthers(work: (em: SqlEntityManager) => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      let begun = false
      try {
        return await this.#orm.em.fork().transactional((em) => {
          begun = true
          return work(em as SqlEntityManager)
        })
      } catch (error) {
        if (begun || !(error instanceof DatabaseBusy) || attempt === MIGRATION_ATTEMPTS) throw error
      }
    }
  }
}

async function refuseOldSqlite(connections: SqliteConnections): Promise<void> {
  const { version } = connections.writer.prepare('select sqlite_version() as version').get() as { version: string }
  const parts = version.split('.').map(Number)
  const index = OLDEST_SQLITE.findIndex((least, at) => parts[at] !== least)
  if (index === -1 || (parts[index] ?? 0) > (OLDEST_SQLITE[index] ?? 0)) return
  await connections.close()
  throw new StartupError(
    `SQLite ${version} can damage a database; Gameyard needs ${OLDEST_SQLITE.join('.')}: update better-sqlite3.`,
  )
}

async function refuseDamage(connections: SqliteConnections): Promise<void> {
  try {
    const [found] = connections.writer.pragma('quick_check(1)') as { quick_check: string }[]
    if (found?.quick_check === 'ok') return
    throw Object.assign(new Error(found?.quick_check.replaceAll('\n', ' ')), { code: 'SQLITE_CORRUPT' })
  } catch (error) {
    await connections.close()
    throw error
  }
}

const isAbsent = (file: string) =>
  access(file).then(
    () => false,
    () => true,
  )
