import {
  type Configuration,
  isRaw,
  type LoggingOptions,
  type RawQueryFragment,
  type Transaction,
} from '@mikro-orm/core'
import { AbstractSqlDriver, type DriverException, NativeQueryBuilder, SqlitePlatform } from '@mikro-orm/sql'
import { SqliteConnection } from '@mikro-orm/sqlite'
import { CompiledQuery, type Kysely } from 'kysely'
import { isPlatformError } from '../../core/errors.ts'

/** SQLite takes no more parameters in one statement. */
const MOST_PARAMETERS = 32_766

/** The driver of the entity managers. Statements get their values as parameters, so that they stay prepared. */
export class SqliteOrmDriver extends AbstractSqlDriver<SqliteConnection, SqlitePlatform> {
  constructor(config: Configuration) {
    super(config, new SqlitePlatform(), BindingConnection, ['kysely', 'better-sqlite3'])
  }

  /** Passes on the errors that the connection has translated. */
  override convertException(exception: Error): DriverException {
    return isPlatformError(exception) ? (exception as never) : super.convertException(exception)
  }
}

/** MikroORM writes values into the text of statements. This connection binds them, which saves parsing and memory. */
class BindingConnection extends SqliteConnection {
  override async execute<T>(
    query: string | NativeQueryBuilder | RawQueryFragment,
    params: readonly unknown[] | Record<string, unknown> = [],
    method: 'all' | 'get' | 'run' = 'all',
    ctx?: Transaction,
    loggerContext?: LoggingOptions,
  ): Promise<T> {
    const fragment = query instanceof NativeQueryBuilder ? query.toRaw() : query
    const { sql, params: values } = isRaw(fragment) ? fragment : { sql: fragment, params }
    const statement = Array.isArray(values) ? bound(sql as string, values) : null
    if (!statement) return super.execute(query, params, method, ctx, loggerContext) as Promise<T>
    await this.ensureConnection()
    const client = (ctx ?? this.getClient()) as Kysely<unknown>
    const compiled = CompiledQuery.raw(statement.sql, statement.parameters)
    const context = { ...loggerContext, query: sql as string, params: values }
    return this.executeQuery(
      statement.sql,
      async () => this.transformRawResult(await client.executeQuery(compiled), method) as T,
      context as never,
    )
  }
}

/**
 * Returns a statement of MikroORM with values that can be bound, or null if one of them is no plain value. `??` is an
 * identifier, and `\?` a question mark.
 */
function bound(sql: string, values: readonly unknown[]): { sql: string; parameters: unknown[] } | null {
  if (values.length > MOST_PARAMETERS || sql.includes('??') || sql.includes('\\?')) return null
  const parameters: unknown[] = []
  for (const value of values) {
    const parameter = parameterOf(value)
    if (parameter === undefined) return null
    parameters.push(parameter)
  }
  return { sql, parameters }
}

/** Returns what SQLite stores of a value, as a literal would be; undefined if it is no plain value. */
function parameterOf(value: unknown): string | number | bigint | Buffer | null | undefined {
  if (value === null || value === undefined) return null
  if (typeof value === 'string' || typeof value === 'bigint' || Buffer.isBuffer(value)) return value
  if (typeof value === 'boolean') return value ? 1n : 0n
  // The library binds every number as a floating-point number.
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  return value instanceof Date ? BigInt(value.getTime()) : undefined
}
