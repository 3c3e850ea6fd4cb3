import type Sqlite from 'better-sqlite3'
import type { Statement } from './sqlite-kept-statements.ts'

interface Call {
  statement: Statement
  values: readonly unknown[]
  resolve(rows: object[]): void
  reject(error: unknown): void
}

/**
 * Runs the queries of one turn of the event loop in one read transaction. To begin and end one takes three times as long
 * as a look-up by a key, for the locks of the write-ahead log.
 *
 * The transaction begins after the last of its calls, so each of them sees everything that was committed before it.
 */
export class ReadGroup {
  readonly #reader: Sqlite.Database
  readonly #begin: Statement
  readonly #end: Statement
  #calls: Call[] = []

  /** @param reader must run no statement of others within a turn, except whole ones */
  constructor(reader: Sqlite.Database) {
    this.#reader = reader
    this.#begin = reader.prepare('begin')
    this.#end = reader.prepare('commit')
  }

  query(statement: Statement, values: readonly unknown[]): Promise<object[]> {
    return new Promise((resolve, reject) => {
      if (this.#calls.push({ statement, values, resolve, reject }) === 1) setImmediate(this.#run)
    })
  }

  readonly #run = (): void => {
    const calls = this.#calls
    this.#calls = []
    try {
      if (calls.length > 1) this.#begin.run()
      for (const { statement, values, resolve, reject } of calls) {
        try {
          resolve(statement.all(values))
        } catch (error) {
          reject(error)
        }
      }
      if (this.#reader.inTransaction) this.#end.run()
    } catch (error) {
      for (const { reject } of calls) reject(error) // it does nothing to those that have their rows
    }
  }
}
