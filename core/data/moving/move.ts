import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { MikroORM } from '@mikro-orm/sql'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { DatabaseDriver, Entity } from '../database.ts'
import type { Migration } from '../migrations.ts'
import { BlobCheckpoint } from './blob-checkpoint.ts'
import { assertRoomFor, type BlobSummary, copyBlobs, type MovedStorage, refuseForeignBlobs } from './blobs.ts'
import { continueNumbering, restoreForeignKeys, suspendForeignKeys } from './constraints.ts'
import { catchUp, copyTable, isUnchanged, type TablePair } from './copy-table.ts'
import { assertDiskSpace } from './disk-space.ts'
import { MoveError } from './errors.ts'
import { PageList } from './page-list.ts'
import { Rows } from './rows.ts'
import { moveKeys } from './secret.ts'
import { tablesOf } from './tables.ts'
import { assertTablesKnown, claimTarget, identifySource, releaseTarget } from './target-state.ts'
import type { Side } from './values.ts'

/** The database, the storage and the data folder of a configuration. The drivers are created, and not open yet. */
export interface Place {
  database: DatabaseDriver
  storage: MovedStorage
  dataDir: string
  secret: string | undefined
}

/** What a move tells while it runs. `total` is an estimate; 0 where there is none. */
export interface MoveProgress {
  step(name: string, total: number, unit: 'rows' | 'bytes' | 'tables'): void
  advance(count: number): void
}

/** How a move keeps everybody from writing to the source during its last step. */
export interface WriteStop {
  /** Resolves when no process can write to the source any more. */
  begin(): Promise<void>
  /** Lets the source be written to again, after a failure. */
  cancel(): Promise<void>
  /** The source is not written to until it is started again. If this fails, `cancel` is called. */
  complete(): Promise<void>
}

export interface MoveOptions {
  source: Place
  target: Place
  /** Whether both have the same database, or the same storage; it then stays as it is. */
  same: { database: boolean; storage: boolean }
  entities: Entity[]
  migrations: Migration[]
  clock: Clock
  log: FastifyBaseLogger
  progress: MoveProgress
  writeStop: WriteStop
}

export interface MoveSummary {
  tables: number
  rows: number
  blobs: number
  bytes: number
  /** The time during which the source could not be written to. */
  stoppedMs: number
}

/** Maximum number of passes over a changing source before its writing is stopped. */
const PASSES = 5
/** A pass with at most this many changed pages leaves little for the last step. */
const FEW_PAGES = 40

/**
 * Copies all rows, blobs and keys of one place to another while the platform serves, and compares them. Then stops all
 * writing to the source, copies what has changed since, and completes the target, so that a platform can start there.
 *
 * Until that moment the target is marked as incomplete, and the source is only read. An interrupted move is started
 * again with the same places: it compares what the target has, and copies the rest.
 *
 * @throws MoveError
 */
export async function move(options: MoveOptions): Promise<MoveSummary> {
  const { source, target, same, writeStop } = options
  const sourceOrm = await source.database.open(options.entities, { lean: true })
  try {
    await source.database.setReadOnly(true)
    const check = await moveKeys(source, target)
    const identity = await identifySource(source.database, options.migrations, check)
    const checkpoint = await BlobCheckpoint.open(target.dataDir, identity)
    if (!same.storage && !checkpoint.resumed) await refuseForeignBlobs(source.storage, target.storage)
    const size = same.storage ? { blobs: 0, bytes: 0 } : await assertRoomFor(source.storage, target.storage)
    const tables = same.database ? null : await openTables(options, sourceOrm, identity)
    try {
      const blobs = same.storage ? null : new Blobs(options, checkpoint, size.bytes)
      await tables?.copy()
      await blobs?.copy(false)
      await tables?.follow()
      const began = performance.now()
      await writeStop.begin()
      try {
        await tables?.finish()
        const found = (await blobs?.copy(true)) ?? { blobs: 0, bytes: 0 }
        await tables?.assertUnchanged()
        // Before the target is complete: two places that can be written to would each have a part of what follows. If the
        // move ends in between, the source stays as it is, and the same command goes on.
        await writeStop.complete()
        await tables?.release()
        await checkpoint.remove()
        const stoppedMs = Math.round(performance.now() - began)
        return {
          tables: tables?.count ?? 0,
          rows: tables?.rows ?? 0,
          blobs: found.blobs,
          bytes: found.bytes,
          stoppedMs,
        }
      } catch (error) {
        await writeStop.cancel()
        throw error
      }
    } finally {
      await checkpoint.flush()
      await tables?.close()
    }
  } finally {
    await source.database.close()
  }
}

async function openTables(options: MoveOptions, sourceOrm: MikroORM, identity: string): Promise<Tables> {
  const { source, target, migrations, clock, log } = options
  const targetOrm = await target.database.open(options.entities, { lean: true })
  try {
    await assertDiskSpace(source.database, target)
    await claimTarget(target.database, { identity, migrations, log, clock })
    await suspendForeignKeys(target.database)
    const tables = tablesOf(sourceOrm, targetOrm)
    await assertTablesKnown(source.database, new Set(tables.map(({ name }) => name)))
    const side = (which: Side['which'], orm: MikroORM, { dialect }: DatabaseDriver): Side => ({
      which,
      dialect,
      platform: orm.em.getPlatform(),
    })
    const sides = {
      source: side('source', sourceOrm, source.database),
      target: side('target', targetOrm, target.database),
    }
    const pages = new PageList(join(target.dataDir, `move-${randomBytes(6).toString('hex')}`))
    const pairs = tables.map((table) => ({
      source: new Rows(source.database, table, sides.source),
      target: new Rows(target.database, table, sides.target),
      pages,
      progress: (rows: number) => options.progress.advance(rows),
    }))
    return new Tables(options, pairs, pages, identity)
  } catch (error) {
    await target.database.close()
    throw error
  }
}

class StillWritten extends MoveError {
  constructor() {
    super('A process still writes to the source: stop every one of them, and run the same command again.')
  }
}

/** All tables of a move. */
class Tables {
  readonly count: number
  /** The number of rows in the end. */
  rows = 0
  readonly #options: MoveOptions
  readonly #pairs: TablePair[]
  readonly #pages: PageList
  readonly #identity: string
  #version = ''

  constructor(options: MoveOptions, pairs: TablePair[], pages: PageList, identity: string) {
    this.count = pairs.length
    this.#options = options
    this.#pairs = pairs
    this.#pages = pages
    this.#identity = identity
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
   */
  async finish(): Promise<void> {
    this.#options.progress.step('Last changes', this.count, 'tables')
    const version = await this.#dataVersion()
    await this.#catchUp({ frozen: true, unchanged: version === this.#version })
    this.#version = version
    this.rows = 0
    for (const { target } of this.#pairs) this.rows += await target.count()
    const { source, target } = this.#options
    await continueNumbering(
      source.database,
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
    if (this.#options.source.database.dialect === 'sqlite') throw new StillWritten()
    for (const pair of this.#pairs) if (!(await isUnchanged(pair))) throw new StillWritten()
  }

  /** Returns a text that changes with each commit of another connection. */
  async #dataVersion(): Promise<string> {
    const { database } = this.#options.source
    const sql =
      database.dialect === 'sqlite'
        ? 'select data_version as version from pragma_data_version()'
        : // The snapshot names the next transaction that writes, and those that have not ended.
          'select cast(pg_current_snapshot() as text) as version'
    const [found] = (await database.query(sql, [])) as { version: number | string }[]
    return String(found?.version)
  }

  async release(): Promise<void> {
    await releaseTarget(this.#options.target.database, this.#identity)
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

/** All blobs of a move. */
class Blobs {
  readonly #options: MoveOptions
  readonly #checkpoint: BlobCheckpoint
  readonly #bytes: number

  constructor(options: MoveOptions, checkpoint: BlobCheckpoint, bytes: number) {
    this.#options = options
    this.#checkpoint = checkpoint
    this.#bytes = bytes
  }

  copy(final: boolean): Promise<BlobSummary> {
    const { source, target, progress } = this.#options
    progress.step(final ? 'Last files' : 'Files', this.#bytes, 'bytes')
    return copyBlobs(
      {
        source: source.storage,
        target: target.storage,
        comparedUpTo: this.#checkpoint.key,
        compared: (key) => this.#checkpoint.reach(key),
        progress: (bytes) => progress.advance(bytes),
      },
      final,
    )
  }
}
