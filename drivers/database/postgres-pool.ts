import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DatabaseConnection, type Driver, PostgresDialect, PostgresDriver, type TransactionSettings } from 'kysely'
import pg from 'pg'
import { isPlatformError, WritesStopped } from '../../core/errors.ts'
import { DatabaseUnavailable, type Parameter, type Statements } from './interface.ts'
import { isOtherBackend } from './postgres-pooler.ts'

/** Codes of Node and PostgreSQL for a server that is unreachable or shutting down. */
const UNAVAILABLE = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|08|57P0|53300|53400)/

/** Messages of node-postgres errors that have no code. */
const UNAVAILABLE_TEXT = /^(Connection terminated|timeout expired|timeout exceeded|Client has encountered a connection)/

/** Maximum wait of a request for a server that has just become unavailable, in ms; a restart takes a second or two. */
const PATIENCE_MS = 5000
/** Interval between two attempts to connect. */
const ATTEMPT_MS = 100

/**
 * A connection pool for a server that may restart. During the first moments of an outage a caller waits for a
 * connection, which is safe, since nothing has been sent yet. After a longer outage every call fails at once.
 */
export class RetryingPool extends pg.Pool {
  #wasThere = false
  #awaySince: number | null = null
  #readOnly = false
  /** The connections in use, and those of them that only read. */
  readonly #used = new Set<pg.PoolClient>()
  readonly #reading = new WeakSet<pg.PoolClient>()

  constructor(config: pg.PoolConfig) {
    super(config)
    this.on('acquire', (client) => this.#used.add(client))
    this.on('release', (_error, client) => this.#used.delete(client))
    this.on('remove', (client) => this.#used.delete(client))
  }

  /** Stops or resumes writing. It resolves when every connection that could still write has been returned. */
  async setReadOnly(readOnly: boolean): Promise<void> {
    this.#readOnly = readOnly
    const before = new Set(this.#used)
    while ([...before].some((client) => this.#used.has(client) && this.#reading.has(client) !== readOnly))
      await sleep(RETURN_MS)
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | undefined {
    const connected = this.#connect()
    if (!callback) return connected
    connected.then(
      (client) => callback(undefined, client, (error) => client.release(error)),
      (error) => callback(error, undefined, () => {}),
    )
    return undefined
  }

  /**
   * While writing is stopped, whatever borrows a connection is in a transaction that only reads, also where it begins
   * its own. The session itself stays as it is, because a pooler may give it to another process afterwards.
   */
  async #applyMode(client: pg.PoolClient): Promise<void> {
    try {
      while (this.#reading.has(client) !== this.#readOnly) {
        const begin = this.#readOnly
        await client.query(begin ? 'begin read only' : 'rollback')
        if (begin) this.#reading.add(client)
        else this.#reading.delete(client)
      }
    } catch (error) {
      client.release(true)
      throw error
    }
    if (!this.#reading.has(client)) return
    const { release } = client
    client.release = (lost) => {
      this.#reading.delete(client)
      if (lost) return release(lost)
      client.query('rollback').then(
        () => release(),
        (error) => release(error),
      )
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    for (;;) {
      try {
        const client = await super.connect()
        this.#wasThere = true
        this.#awaySince = null
        await this.#applyMode(client)
        return client
      } catch (error) {
        // A slow failure, such as a timeout, is not retried, because it has used up the waiting time.
        const gone = UNAVAILABLE.test((error as { code?: string }).code ?? '')
        if (!gone || !this.#wasThere || this.ending) throw error
        const now = performance.now()
        this.#awaySince ??= now
        if (now - this.#awaySince > PATIENCE_MS) throw error
        await sleep(ATTEMPT_MS)
      }
    }
  }
}

/** Interval between two looks at the connections in use, in ms. */
const RETURN_MS = 5

type ConnectCallback = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: boolean | Error) => void,
) => void

/** Translates an error of an unavailable server into the family's error; returns any other error unchanged. */
export function translated(error: unknown): unknown {
  if (!(error instanceof Error) || isPlatformError(error)) return error
  const { code = '' } = error as { code?: string }
  if (code === '25006') return new WritesStopped().with({ cause: error })
  return UNAVAILABLE.test(code) || UNAVAILABLE_TEXT.test(error.message)
    ? new DatabaseUnavailable().with({ cause: error })
    : error
}

/** Kysely's PostgreSQL dialect, which the entity managers use, with translated errors. */
export class TranslatingDialect extends PostgresDialect {
  readonly #pool: pg.Pool

  constructor(pool: pg.Pool) {
    super({ pool })
    this.#pool = pool
  }

  override createDriver(): Driver {
    return new TranslatingDriver({ pool: this.#pool })
  }
}

type Connection = Awaited<ReturnType<PostgresDriver['acquireConnection']>>

/**
 * Translates errors, and releases connections that Kysely would keep for ever: one on which a transaction could not
 * begin, one that could not be rolled back because the server is unavailable, and one that is still being opened when
 * the driver is closed. Otherwise an outage would exhaust the pool, and closing would never end.
 */
class TranslatingDriver extends PostgresDriver {
  readonly #seen = new WeakSet<DatabaseConnection>()
  readonly #acquiring = new Set<Promise<Connection>>()

  override async acquireConnection(): Promise<Connection> {
    const acquired = super.acquireConnection()
    this.#acquiring.add(acquired)
    try {
      const connection = await acquired
      if (!this.#seen.has(connection)) {
        this.#seen.add(connection)
        const execute = connection.executeQuery.bind(connection)
        connection.executeQuery = (query, options) => execute(query, options).catch(rethrow) as never
      }
      return connection
    } catch (error) {
      return rethrow(error)
    } finally {
      this.#acquiring.delete(acquired)
    }
  }

  override async destroy(): Promise<void> {
    await Promise.allSettled(this.#acquiring)
    await super.destroy()
  }

  override async beginTransaction(connection: Connection, settings: TransactionSettings): Promise<void> {
    try {
      await super.beginTransaction(connection, settings)
    } catch (error) {
      await this.releaseConnection(connection as Parameters<PostgresDriver['releaseConnection']>[0])
      throw error
    }
  }

  override async rollbackTransaction(connection: Connection): Promise<void> {
    try {
      await super.rollbackTransaction(connection)
    } catch (error) {
      // A lost connection has also ended the transaction.
      if (!(error instanceof DatabaseUnavailable)) throw error
    }
  }
}

function rethrow(error: unknown): never {
  throw translated(error)
}

const { BOOL, DATE, INT8, INTERVAL, NUMERIC, TIMESTAMP, TIMESTAMPTZ, JSON: JSON_TEXT, JSONB } = pg.types.builtins
const asText = (text: string) => text

/** Returns times as text, which the entity managers parse by the types of the columns. */
export const entityTypes = (): pg.CustomTypesConfig => {
  const types = new pg.TypeOverrides()
  for (const oid of [DATE, INTERVAL, TIMESTAMP, TIMESTAMPTZ]) types.setTypeParser(oid, asText)
  return types
}

const asInstant = (oid: number) => {
  const parse = pg.types.getTypeParser(oid) as (text: string) => Date
  return (text: string) => parse(text).getTime()
}

/** Parsers of plain rows, which return the same values as SQLite. */
const plainParsers = new Map<number, (text: string) => unknown>([
  [BOOL, (text) => (text === 't' ? 1 : 0)],
  [INT8, Number],
  [NUMERIC, Number],
  [TIMESTAMP, asInstant(TIMESTAMP)],
  [TIMESTAMPTZ, asInstant(TIMESTAMPTZ)],
  [JSON_TEXT, asText],
  [JSONB, asText],
])
const plainTypes = {
  getTypeParser: (oid: number, format: 'text' | 'binary') =>
    plainParsers.get(oid) ?? pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig

/**
 * Statements of the hot path. Each connection prepares them once, by a name that is a digest of the SQL: behind a pooler
 * another process may have prepared statements on the same backend, and one name must never mean two statements.
 */
export class PreparedStatements {
  readonly #pool: pg.Pool
  #named = true
  /** The number of times that all statements had to be prepared again. */
  #renewals = 0
  readonly #statements = new Map<string, { name: string; text: string; types: pg.CustomTypesConfig }>()

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Whether statements have names. */
  get named(): boolean {
    return this.#named
  }

  /** Executes every statement without a name from now on, since a backend may not be the one that prepared it. */
  stopNaming(): void {
    this.#named = false
  }

  /**
   * @throws DatabaseUnavailable in a transaction whose backend is not the one that prepared the statement, or in which a
   *   statement reads a column that has been widened since it was prepared
   */
  async run(
    sql: string,
    parameters: readonly Parameter[],
    connection: Pick<pg.PoolClient, 'query'> = this.#pool,
  ): Promise<pg.QueryResult<object>> {
    let statement = this.#statements.get(sql)
    if (!statement) {
      const renewed = this.#renewals === 0 ? sql : `${sql} /* ${this.#renewals} */`
      statement = { name: statementName(renewed), text: numbered(renewed), types: plainTypes }
      this.#statements.set(sql, statement)
    }
    const { name, ...rest } = statement
    const values = parameters as unknown[]
    try {
      return await connection.query(this.#named ? { name, ...rest, values } : { ...rest, values })
    } catch (error) {
      if (isOtherBackend(error)) this.stopNaming()
      else if (!isWidened(error)) return rethrow(error)
      // The text differs too, because a pooler that prepares statements itself knows them by it.
      else if (this.#statements.get(sql) === statement) {
        this.#renewals++
        this.#statements.clear()
      }
      // Nothing has been executed, so it can run again; but an error has ended a transaction.
      if (connection !== this.#pool) throw new DatabaseUnavailable().with({ cause: error })
      return this.run(sql, parameters)
    }
  }

  /** Runs `work` in one transaction on a separate connection. */
  async transact<T>(work: (statements: Statements) => Promise<T>, begin = 'begin'): Promise<T> {
    const connection = await this.#pool.connect().catch(rethrow)
    let lost: Error | undefined
    try {
      await connection.query(begin)
      const value = await work({
        query: async (sql, parameters = []) => (await this.run(sql, parameters, connection)).rows as never,
        execute: async (sql, parameters = []) => (await this.run(sql, parameters, connection)).rowCount ?? 0,
      })
      await connection.query('commit')
      return value
    } catch (error) {
      await connection.query('rollback').catch((cause) => {
        lost = cause
      })
      return rethrow(error)
    } finally {
      connection.release(lost)
    }
  }
}

/**
 * Whether a prepared statement reads a column whose type has changed since: a newer version of the program has migrated
 * the database. PostgreSQL then refuses the statement each time. The message is in the language of the server.
 */
const isWidened = (error: unknown): boolean =>
  (error as { code?: unknown; routine?: unknown } | null)?.code === '0A000' &&
  (error as { routine?: unknown }).routine === 'RevalidateCachedQuery'

/** Returns the same name for the same SQL in every process. PostgreSQL keeps at most 63 bytes of a name in its views. */
const statementName = (sql: string) => `gameyard_${createHash('sha256').update(sql).digest('hex').slice(0, 40)}`

/** Replaces each `?` outside of quotes by `$1`, `$2`, … */
export function numbered(sql: string): string {
  let count = 0
  return sql.replace(/'[^']*'|"[^"]*"|\?/g, (match) => (match === '?' ? `$${++count}` : match))
}
