import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import { BlobNotFound, type Storage } from '../../../drivers/storage/interface.ts'
import { blobKey, chunksOf, openBlob, PLACEHOLDERS, reserve } from '../blobs/blobs.ts'
import { forEach } from '../concurrency.ts'
import type { Deploys } from '../deploys.ts'
import { BlobVariant } from '../entities.ts'
import { isCompressible } from './compressible.ts'
import { Compressor, type Variant } from './compressor.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    /** New compressed forms exist for files of a live deploy, and its manifest names them. */
    'deploy.compressed': { gameId: string; deployId: string; slug: string }
  }
}

/** The maximum size of a useful compressed form, as a fraction of the file. */
const WORTH = 0.95
/** The interval of `deploy.compressed` events while a large build is being compressed. */
const TELL_EVERY_MS = 5000

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events' | 'games' | 'workerPrograms'> & {
  storage: Storage
  deploys: Deploys
}

/**
 * Creates brotli and gzip forms of a game's files after it is live. A blob is compressed once for all deploys that
 * contain it. Completed work is kept, so an interruption is safe.
 */
export class Compression {
  readonly #parts: Parts
  readonly #compressor: Compressor

  constructor(parts: Parts) {
    this.#parts = parts
    this.#compressor = new Compressor(parts.workerPrograms)
  }

  /** Compresses the live deploy of a game. It ends early when another goes live, which has its own job. */
  async run(gameId: string, signal: AbortSignal): Promise<void> {
    const { games, deploys, clock } = this.#parts
    const deployId = await this.#liveOf(gameId)
    const manifest = deployId === null ? null : await deploys.manifest(deployId)
    if (deployId === null || !manifest) return
    const sizes = new Map<string, number>()
    for (const [path, { sha256, size, contentType, roomScript }] of manifest) {
      if (!roomScript && isCompressible(path, contentType, size)) sizes.set(sha256, size)
    }
    const todo = await this.#without([...sizes.keys()])
    // Small files come first: they are many and take little time.
    todo.sort((a, b) => (sizes.get(a) as number) - (sizes.get(b) as number))
    let untold = false
    let toldAt = clock.now().getTime()
    const tell = async () => {
      untold = false
      toldAt = clock.now().getTime()
      // A game that was deleted meanwhile is served to nobody.
      const game = await games.byId(gameId)
      if (game) await this.#parts.events.emit('deploy.compressed', { gameId, deployId, slug: game.slug })
    }
    await forEach(this.#compressor.threads, todo, async (sha256) => {
      signal.throwIfAborted()
      if ((await this.#liveOf(gameId)) !== deployId) return
      untold = (await this.#compress({ sha256, size: sizes.get(sha256) as number }, signal)) || untold
      if (untold && clock.now().getTime() - toldAt >= TELL_EVERY_MS) await tell()
    })
    if (untold) await tell()
  }

  close(): Promise<void> {
    return this.#compressor.close()
  }

  async #liveOf(gameId: string): Promise<string | null> {
    const [deploy] = await this.#parts.db.query<{ id: string }>(
      "select id from deploys where game_id = ? and state = 'live'",
      [gameId],
    )
    return deploy?.id ?? null
  }

  /** Returns the digests for which no compression was tried. */
  async #without(digests: string[]): Promise<string[]> {
    const done = new Set<string>()
    for (const chunk of chunksOf(digests)) {
      const sql = `select distinct sha256 from blob_variants where sha256 in (${PLACEHOLDERS})`
      for (const { sha256 } of await this.#parts.db.query<{ sha256: string }>(sql, chunk)) done.add(sha256)
    }
    return digests.filter((sha256) => !done.has(sha256))
  }

  /** @returns whether a new compressed form exists */
  async #compress(file: { sha256: string; size: number }, signal: AbortSignal): Promise<boolean> {
    const { sha256 } = file
    const { storage, db, clock } = this.#parts
    let bytes: Buffer
    try {
      bytes = await buffer(await openBlob(storage, file))
    } catch (error) {
      // The deploy was removed in the meantime, together with its bytes.
      if (error instanceof BlobNotFound) return false
      throw error
    }
    // The forms are everybody's who has these bytes.
    if (hash('sha256', bytes) !== sha256) return false
    const variants = await this.#compressor.compress(bytes, signal)
    const kept = variants.filter((variant) => variant.bytes.length <= bytes.length * WORTH)
    await db.transaction((em) => reserve(em, kept.map((variant) => variant.sha256).sort(), clock.now()))
    for (const variant of kept) await this.#store(variant)
    // The rows are written after the bytes. A coding that does not make the file smaller is recorded too.
    await db.transaction(async (em) => {
      for (const variant of variants) {
        const { coding, bytes } = variant
        const variantSha256 = kept.includes(variant) ? variant.sha256 : null
        await em.upsert(
          BlobVariant,
          { sha256, coding, variantSha256, size: bytes.length },
          { onConflictAction: 'ignore' },
        )
      }
    })
    return kept.length > 0
  }

  async #store({ sha256, bytes }: Variant): Promise<void> {
    const body = Readable.from([Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)], { objectMode: false })
    await this.#parts.storage.put(blobKey(sha256), body, { sha256, size: bytes.length })
  }
}
