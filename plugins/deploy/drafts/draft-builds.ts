import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { isId } from '../../../core/ids.ts'
import { assertRoom, type Storage } from '../../../drivers/storage/interface.ts'
import { blobKey, reserve } from '../blobs/blobs.ts'
import { previewUrl } from '../previews.ts'
import type { NewFile } from '../schemas.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    /** The files of a draft changed, which its preview shows. */
    'draft.changed': { gameId: string; draftId: string }
  }
}

/** The files of a draft: a build in editing, which is served as a preview before anybody deploys it. */
export interface DraftBuild {
  gameId: string
  /** The deploy whose files it changes; null for a game without one. */
  baseDeployId: string | null
  files: NewFile[]
  /** The path of the room script among the files; null for none. */
  room: string | null
}

/** The drafts of games, which another plugin keeps. */
export interface DraftSource {
  /** Returns the id of the draft of a game whose id ends in these characters, in lower case; null when there is none. */
  byPreview(gameId: string, short: string): Promise<string | null>
  /** Returns the current files; null when there is no such draft. */
  load(draftId: string): Promise<DraftBuild | null>
  /** Yields the digests that drafts contain, in pages. */
  digests(): AsyncIterable<readonly string[]>
}

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'origins'> & { storage: Storage }

/** Whether an id is that of a draft, and not of a deploy. */
export const isDraftId = (id: string): boolean => isId('drf', id)

/**
 * The link between drafts and deploys. The contents of drafts are blobs like those of deploys, so that a preview serves
 * them, and publishing uploads nothing.
 */
export class DraftBuilds {
  readonly #parts: Parts
  #source: DraftSource | null = null

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Sets the plugin that keeps drafts. Without one there are none. */
  keptBy(source: DraftSource): void {
    this.#source = source
  }

  /** @see DraftSource.byPreview */
  async byPreview(gameId: string, short: string): Promise<string | null> {
    return (await this.#source?.byPreview(gameId, short)) ?? null
  }

  /** @see DraftSource.load */
  async load(draftId: string): Promise<DraftBuild | null> {
    return (await this.#source?.load(draftId)) ?? null
  }

  /** Returns the deploy on which a draft is based; null when there is none. */
  async baseOf(draftId: string): Promise<string | null> {
    return (await this.load(draftId))?.baseDeployId ?? null
  }

  /** @see DraftSource.digests */
  async *digests(): AsyncGenerator<readonly string[]> {
    if (this.#source) yield* this.#source.digests()
  }

  /** Returns the address of a draft's preview; null where games have ports instead of names. */
  previewUrl(slug: string, draftId: string): string | null {
    return previewUrl(this.#parts.origins, slug, draftId)
  }

  /**
   * Stores the content of a file. A content that no draft and no deploy has within a day is removed.
   *
   * @throws BlobBusy, StorageFull
   */
  async store(bytes: Buffer): Promise<{ sha256: string; size: number }> {
    const { db, storage } = this.#parts
    await assertRoom(storage)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    await db.transaction((em) => this.reserve(em, [sha256]))
    const expected = { sha256, size: bytes.length }
    await storage.put(blobKey(sha256), Readable.from([bytes], { objectMode: false }), expected)
    return expected
  }

  /** Protects contents from garbage collection for a day, until a draft has them. @throws BlobBusy */
  reserve(em: SqlEntityManager, digests: readonly string[]): Promise<void> {
    return reserve(em, [...new Set(digests)].sort(), this.#parts.clock.now())
  }
}
