import { PostgreSqlDriver } from '@mikro-orm/postgresql'
import { type AbstractSqlDriver, type DriverException, MikroORM, type SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import Type, { type Static } from 'typebox'
import { Authorities, Secret } from '../../core/config.ts'
import { defineDriver } from '../../core/driver.ts'
import { isPlatformError, StartupError } from '../../core/errors.ts'
import { BackupUnsupported, type DatabaseDriver, type Entity, type Parameter, type Statements } from './interface.ts'
import { entityTypes, PreparedStatements, RetryingPool, TranslatingDialect, translated } from './postgres-pool.ts'
import { PoolerCheck } from './postgres-pooler.ts'
import { checkRequirements, missingRight } from './postgres-requirements.ts'
import { takeTls } from './postgres-tls.ts'

const PostgresConfig = Type.Object(
  {
    url: Secret({ description: 'postgres://user:password@host:5432/database' }),
    poolSize: Type.Integer({ default: 10, minimum: 2, maximum: 500, description: 'Connections of each machine.' }),
    ssl: Type.Union([Type.Literal('off'), Type.Literal('on'), Type.Literal('unverified')], {
      default: 'off',
      description:
        "on: encrypted, with the server's certificate checked. unverified: encrypted, unchecked. The stricter of this and of sslmode in the address counts.",
    }),
    ca: Authorities('the database server'),
  },
  { additionalProperties: false },
)

/** Maximum wait for a connection, in ms: a new one to a server that does not answer, or a free one of the pool. */
const CONNECT_MS = 5000

const INSUFFICIENT_PRIVILEGE = '42501'

/** An arbitrary number, the same in every process. The holder of this lock migrates. */
const MIGRATION_LOCK = 7_305_804_402

/** PostgreSQL, for several machines with one database. */
export default defineDriver({
  family: 'database',
  name: 'postgres',
  config: PostgresConfig,
  check({ url, ssl, ca }) {
    takeTls(parsed(url), { ssl, ca })
  },
  create: async (config, { log }) => new PostgresDatabase(config, log),
})

class PostgresDatabase implements DatabaseDriver {
  readonly dialect = 'postgres'
  readonly shared = true
  readonly #pool: RetryingPool
  readonly #statements: PreparedStatements
  readonly #pooler: PoolerCheck
  readonly #log: FastifyBaseLogger
  readonly #address: string
  readonly #database: string
  #orm!: MikroORM

  constructor({ url, poolSize, ssl, ca }: Static<typeof PostgresConfig>, log: FastifyBaseLogger) {
    const address = parsed(url)
    const tls = takeTls(address, { ssl, ca })
    const { host, pathname, username } = address
    this.#address = host + pathname
    this.#database = decodeURIComponent(pathname.slice(1) || username)
    this.#pool = new RetryingPool({
      connectionString: address.href,
      max: poolSize,
      application_name: 'gameyard',
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      types: entityTypes(),
      ssl: tls,
    })
    // A connection that the server drops emits its error here; without a listener the error would end the process. The
    // running statement fails by itself, and the pool opens a new connection for the next one.
    const lost = (error: Error) => log.warn({ err: error }, 'a connection to the database was lost')
    this.#pool.on('error', lost)
    this.#pool.on('connect', (client) => client.on('error', lost))
    this.#statements = new PreparedStatements(this.#pool)
    this.#pooler = new PoolerCheck(this.#pool, this.#address)
    this.#log = log
  }

  async open(entities: Entity[]): Promise<MikroORM> {
    await this.#check()
    if (!(await this.#pooler.allowsNames())) this.#stopNaming('info')
    this.#orm = await MikroORM.init<AbstractSqlDriver>({
      driver: PostgresOrmDriver,
      driverOptions: new TranslatingDialect(this.#pool),
      dbName: this.#database,
      entities,
      ensureDatabase: false,
      discovery: { warnWhenNoEntities: false },
    })
    return this.#orm
  }

  async migrate(work: (em: SqlEntityManager) => Promise<void>): Promise<void> {
    try {
      await this.#orm.em.fork().transactional(async (em) => {
        await em.execute('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK])
        await work(em)
      })
    } catch (error) {
      if ((error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error
      const place = 'select current_schema() as schema, current_user as role'
      const [{ schema, role } = {}] = (await this.query(place, [])) as { schema?: string; role?: string }[]
      throw new StartupError(
        `The database at ${this.#address} ${missingRight(String(schema), String(role))}. The tables must belong to this role, too. Nothing was changed.`,
        { cause: error },
      )
    }
  }

  async now(): Promise<Date> {
    const { rows } = await this.#pool.query<{ ms: string }>('select extract(epoch from now()) * 1000 as ms')
    return new Date(Number(rows[0]?.ms))
  }

  /** Also notices a pooler that has begun to share connections by transaction or by statement. */
  async ping(): Promise<void> {
    try {
      const kept = await this.#pooler.keepsBackend()
      if (!kept && this.#statements.named && !(await this.#pooler.allowsNames())) this.#stopNaming('warn')
    } catch (error) {
      throw translated(error)
    }
  }

  async query(sql: string, parameters: readonly Parameter[]): Promise<object[]> {
    return (await this.#statements.run(sql, parameters)).rows
  }

  /** Does the same as `query`: the server runs statements of several connections at once. */
  groupQuery(sql: string, parameters: readonly Parameter[]): Promise<object[]> {
    return this.query(sql, parameters)
  }

  async execute(sql: string, parameters: readonly Parameter[]): Promise<number> {
    return (await this.#statements.run(sql, parameters)).rowCount ?? 0
  }

  /** Runs each call in its own transaction, since PostgreSQL already groups the flushes of commits. */
  groupCommit<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    return this.#statements.transact(work)
  }

  setReadOnly(readOnly: boolean): Promise<void> {
    return this.#pool.setReadOnly(readOnly)
  }

  async backup(): Promise<void> {
    throw new BackupUnsupported(
      'Only the command line makes a backup of a PostgreSQL database: gameyard backup FILE, on a machine that reaches it.',
    )
  }

  snapshot<T>(work: (query: DatabaseDriver['query']) => Promise<T>): Promise<T> {
    const begin = 'begin isolation level repeatable read read only'
    return this.#statements.transact(({ query }) => work(query), begin)
  }

  async close(): Promise<void> {
    await this.#orm?.close(true)
    if (!this.#pool.ending) await this.#pool.end()
  }

  #stopNaming(level: 'info' | 'warn'): void {
    this.#statements.stopNaming()
    this.#log[level](
      { database: this.#address },
      'a pooler shares connections by transaction: statements are parsed at each execution',
    )
  }

  async #check(): Promise<void> {
    try {
      await checkRequirements(this.#pool, this.#address)
    } catch (error) {
      if (error instanceof StartupError) throw error
      const { message, code = '' } = error as { message: string; code?: string }
      const fix = /CERT|UNABLE_TO_VERIFY|ALTNAME/.test(code)
        ? 'name the server as in its certificate, and the authority with database.ca: { file: ca.pem }'
        : 'check database.url'
      throw new StartupError(`The database at ${this.#address} can't be used (${message || code}); ${fix}.`, {
        cause: error,
      })
    }
  }
}

/** Passes on the errors that the pool has translated. */
class PostgresOrmDriver extends PostgreSqlDriver {
  override convertException(exception: Error): DriverException {
    return isPlatformError(exception) ? (exception as never) : super.convertException(exception)
  }
}

/** In the name of a database, each % begins a character. */
const ESCAPES = /^(?:[^%]|%[0-9a-f]{2})*$/i

/** @throws StartupError, which does not show the URL because it contains the password */
function parsed(url: string): URL {
  const parts = URL.parse(url)
  if (parts && /^postgres(ql)?:$/.test(parts.protocol) && ESCAPES.test(parts.pathname)) return parts
  throw new StartupError('database.url is not of the form postgres://user:password@host:5432/database.')
}
