import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteDialect,
} from 'kysely'
import type { SqliteConnections } from './sqlite-connection.ts'

/**
 * Kysely's SQLite dialect, which the entity managers use, on `SqliteConnections`. Kysely's own dialect gives its one
 * connection to a transaction while all other callers wait without limit, and begins transactions that can't be
 * upgraded.
 */
export class GuardedSqliteDialect extends SqliteDialect {
  readonly #connections: SqliteConnections

  constructor(connections: SqliteConnections) {
    super({ database: connections.writer })
    this.#connections = connections
  }

  override createDriver(): Driver {
    return new GuardedDriver(this.#connections)
  }

  override createAdapter(): SqliteAdapter {
    return new QueuelessAdapter()
  }
}

/** Disables Kysely's mutex, because `SqliteConnections` decides the order of waiting callers. */
class QueuelessAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class GuardedDriver implements Driver {
  readonly #connections: SqliteConnections

  constructor(connections: SqliteConnections) {
    this.#connections = connections
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<Connection> {
    return new Connection(this.#connections)
  }

  async beginTransaction(connection: Connection): Promise<void> {
    await this.#connections.begin()
    connection.inside = true
  }

  async commitTransaction(connection: Connection): Promise<void> {
    await connection.executeQuery({ sql: 'commit', parameters: [] })
    this.#end(connection)
  }

  async rollbackTransaction(connection: Connection): Promise<void> {
    try {
      // SQLite has already rolled back when the disk was full, and another attempt would hide the cause.
      if (this.#connections.writer.inTransaction) await connection.executeQuery({ sql: 'rollback', parameters: [] })
    } finally {
      this.#end(connection)
    }
  }

  async savepoint(connection: Connection, name: string): Promise<void> {
    await connection.executeQuery({ sql: `savepoint "${name}"`, parameters: [] })
  }

  async rollbackToSavepoint(connection: Connection, name: string): Promise<void> {
    await connection.executeQuery({ sql: `rollback to "${name}"`, parameters: [] })
  }

  async releaseSavepoint(connection: Connection, name: string): Promise<void> {
    await connection.executeQuery({ sql: `release "${name}"`, parameters: [] })
  }

  async releaseConnection(connection: Connection): Promise<void> {
    // After a failed commit the transaction must end before the next caller gets the connection.
    if (connection.inside) await this.rollbackTransaction(connection)
  }

  async destroy(): Promise<void> {
    this.#connections.close()
  }

  #end(connection: Connection): void {
    if (!connection.inside) return
    connection.inside = false
    this.#connections.release()
  }
}

/** The connection of one Kysely caller. It takes the writing connection only when it begins a transaction. */
class Connection implements DatabaseConnection {
  readonly #connections: SqliteConnections
  inside = false

  constructor(connections: SqliteConnections) {
    this.#connections = connections
  }

  async executeQuery<Row>({ sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>): Promise<QueryResult<Row>> {
    const { rows, changes, insertId } = this.inside
      ? this.#connections.runInside(sql, parameters)
      : await this.#connections.run(sql, parameters)
    return { rows: rows as Row[], numAffectedRows: BigInt(changes), ...(insertId && { insertId: BigInt(insertId) }) }
  }

  /** Yields all rows at once, since an unfinished SELECT would block all writers. */
  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query)
  }
}
