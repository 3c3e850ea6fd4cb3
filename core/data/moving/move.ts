import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../clock.ts'
import type { DatabaseDriver, Entity } from '../database.ts'
import type { OwnedMigration } from '../migrations.ts'
import { BlobCheckpoint } from './blob-checkpoint.ts'
import { assertRoomFor, type BlobSummary, copyBlobs, type MovedStorage, refuseForeignBlobs } from './blobs.ts'
import { type CopyProgress, TablesCopy } from './copy-tables.ts'
import { moveKeys } from './secret.ts'
import { identifySource } from './target-state.ts'

/** The database, the storage and the data folder of a configuration. The drivers are created, and not open yet. */
export interface Place {
  database: DatabaseDriver
  storage: MovedStorage
  dataDir: string
  secret: string | undefined
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
  migrations: OwnedMigration[]
  clock: Clock
  log: FastifyBaseLogger
  progress: CopyProgress
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
    const tables = same.database
      ? null
      : await TablesCopy.open({ ...options, source: source.database, sourceOrm, identity })
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
