import type Sqlite from 'better-sqlite3'

export type Statement = Sqlite.Statement<unknown[], object>

/**
 * At least this many of the most recently used statements stay prepared, and fewer than twice as many in total. The text
 * of an entity manager's statement depends on which fields it sets, and on how many values it compares.
 */
const KEPT_STATEMENTS = 100

/**
 * Caches the prepared statements of one connection in two generations: the older one is dropped when the newer is full.
 * A look-up of a statement in use then costs nothing, whereas exact LRU order would be updated at each use.
 */
export class KeptStatements {
  readonly #database: Sqlite.Database
  #newer = new Map<string, Statement>()
  #older = new Map<string, Statement>()

  constructor(database: Sqlite.Database) {
    this.#database = database
  }

  prepare(sql: string): Statement {
    const known = this.#newer.get(sql)
    if (known) return known
    const statement = this.#older.get(sql) ?? (this.#database.prepare(sql) as Statement)
    this.#newer.set(sql, statement)
    if (this.#newer.size >= KEPT_STATEMENTS) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    return statement
  }
}
