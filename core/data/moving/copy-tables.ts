import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { MikroORM } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { DatabaseDriver, Entity } from '../database.ts'
import { migrationsOfTablesIn, type OwnedMigration } from '../migrations.ts'
import { continueNumbering, restoreForeignKeys, suspendForeignKeys } from './constraints.ts'
import { catchUp, copyTable, isUnchanged, type TablePair } from './copy-table.ts'
import { assertDiskSpace } from './disk-space.ts'
import { MoveError } from './errors.ts'
import { PageList } from './page-list.ts'
import { Rows } from './rows.ts'
import { type Table, tablesOf } from './tables.ts'
import { claimTarget, releaseTarget, tableNames } from './target-state.ts'
import type { Side } from './values.ts'

/** Maximum number of passes over a changing source before its writing is stopped. */
const PASSES = 5
/** A pass with at most this many changed pages leaves little for the last step. */
const FEW_PAGES = 40

/** What a copy tells while it runs. `total` is an estimate; 0 where there is none. */
export interface CopyProgress {
  step(name: string, total: number, unit: 'rows' | 'bytes' | 'tables'): void
  advance(count: number): void
}

/** The database that is read, or one moment of it. */
export type SourceDatabase = Pick<DatabaseDriver, 'dialect' | 'query' | 'groupCommit'>

/** The schema of both databases, and where a copy reports. */
export interface CopyContext {
  entities: Entity[]
  migrations: OwnedMigration[]
  clock: Clock
  log: FastifyBaseLogger
  progress: CopyProgress
}

/** An open source, and a target that is not open yet. */
export interface TablesCopyOptions extends CopyContext {
  source: SourceDatabase
  sourceOrm: MikroORM
  /** `dataDir` has room for the keys of all rows, and for a database that is a file. */
  target: { database: DatabaseDriver; dataDir: string }
  /** Identifies the source in the mark of an incomplete target. */
  identity: string
  /** Called for each table that belongs to no plugin, and is not copied. Without it such a table is refused. */
  skipped?: (table: string) => void
}

/**
 * Copies the rows of all tables into an empty database. The target is marked as incomplete until `release`, so that no
 * platform starts on it. An interrupted copy is started again with the same places: it compares what the target has.
 */
export class TablesCopy {
  readonly count: number
  /** The number of rows in the end. */
  rows = 0
  readonly #options: TablesCopyOptions
  readonly #pairs: TablePair[]
  readonly #pages: PageList
  #version = ''

  /** Opens the target, and creates its tables. @throws MoveError */
  static async open(options: TablesCopyOptions): Promise<TablesCopy> {
    const { source, sourceOrm, target } = options
    const targetOrm = await target.database.open(options.entities, { lean: true })
    try {
      await assertDiskSpace(source, target)
      const migrations = await migrationsOfTablesIn(source, options.migrations)
      await claimTarget(target.database, { ...options, migrations })
      await suspendForeignKeys(target.database)
      const present = await tableNames(source)
      // A plugin that is turned off may have no tables.
      const tables = tablesOf(sourceOrm, targetOrm).filter(({ name }) => present.has(name))
      for (const name of present.difference(new Set(tables.map((table) => table.name)))) {
        if (!options.skipped)
          throw new MoveError(
            `The source has the table ${name}, which belongs to no plugin of this configuration, or is not among its entities: add it there, or remove the table.`,
          )
        options.skipped(name)
      }
      return new TablesCopy(options, tables, targetOrm)
    } catch (error) {
      await target.database.close()
      throw error
    }
  }

  private constructor(options: TablesCopyOptions, tables: Table[], targetOrm: MikroORM) {
    const { source, sourceOrm, target } = options
    this.count = tables.length
    this.#options = options
    this.#pages = new PageList(join(target.dataDir, `move-${randomBytes(6).toString('hex')}`))
    const sides = {
      source: { which: 'source', dialect: source.dialect, platform: sourceOrm.em.getPlatform() },
      target: { which: 'target', dialect: target.database.dialect, platform: targetOrm.em.getPlatform() },
    } satisfies Record<Side['which'], Side>
    this.#pairs = tables.map((table) => ({
      source: new Rows(source, table, sides.source),
      target: new Rows(target.database, table, sides.target),
      pages: this.#pages,
      progress: (rows: number) => options.progress.advance(rows),
    }))
  }

  async copy(): Promise<void> {
    let rows = 0
    for (const { source } of this.#pairs) rows += await source.count()
    this.#options.progress.step('Rows', rows, 'rows')
    for (const pair of this.#pairs) await copyTable(pair)
  }

  /** Copies what changes while the platform serves, until little is left. */
  async follow(): Promise<void> {
    for (let pass = 1; pass <= PASSES; pass++) {
      this.#options.progress.step('Changes', this.count, 'tables')
      this.#version = await this.#dataVersion()
      if ((await this.#catchUp({ frozen: false })) <= FEW_PAGES) return
    }
  }

  /**
   * Makes the target equal to the source, which no longer changes. If nobody has written to the source since the last
   * pass began, its rows are not read again.
   *
   * @param unchanged whether the source is one moment of a database, so that nothing can have changed
   */
  async finish({ unchanged = false } = {}): Promise<void> {
    this.#options.progress.step('Last changes', this.count, 'tables')
    const version = await this.#dataVersion()
    await this.#catchUp({ frozen: true, unchanged: unchanged || version === this.#version })
    this.#version = version
    this.rows = 0
    for (const { target } of this.#pairs) this.rows += await target.count()
    const { source, target } = this.#options
    await continueNumbering(
      source,
      target.database,
      this.#pairs.map((pair) => pair.source.table),
    )
    await restoreForeignKeys(target.database)
  }

  /**
   * Checks that nobody has written to the source since `finish` began. If something was written to a PostgreSQL server,
   * which may have other databases, the fingerprints tell whether it was the source.
   *
   * @throws MoveError
   */
  async assertUnchanged(): Promise<void> {
    if (this.#version === (await this.#dataVersion())) return
    if (this.#options.source.dialect === 'sqlite') throw new StillWritten()
    for (const pair of this.#pairs) if (!(await isUnchanged(pair))) throw new StillWritten()
  }

  /** Returns a text that changes with each commit of another connection. */
  async #dataVersion(): Promise<string> {
    const { source } = this.#options
    const sql =
      source.dialect === 'sqlite'
        ? 'select data_version as version from pragma_data_version()'
        : // The snapshot names the next transaction that writes, and those that have not ended.
          'select cast(pg_current_snapshot() as text) as version'
    const [found] = (await source.query(sql, [])) as { version: number | string }[]
    return String(found?.version)
  }

  /** Removes the mark of the target. */
  async release(): Promise<void> {
    await releaseTarget(this.#options.target.database, this.#options.identity)
  }

  async close(): Promise<void> {
    this.#pages.close()
    await this.#options.target.database.close()
  }

  async #catchUp(state: Parameters<typeof catchUp>[1]): Promise<number> {
    let changed = 0
    for (const pair of this.#pairs) {
      changed += await catchUp({ ...pair, progress: () => {} }, state)
      this.#options.progress.advance(1)
    }
    return changed
  }
}

class StillWritten extends MoveError {
  constructor() {
    super('A process still writes to the source: stop every one of them, and run the same command again.')
  }
}
