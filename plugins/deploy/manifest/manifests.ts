import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '../../../core/data/database.ts'
import { chunksOf, PLACEHOLDERS } from '../blobs/blobs.ts'
import { isCompressible } from '../compression/compressible.ts'
import { type DraftBuilds, isDraftId } from '../drafts/draft-builds.ts'
import { previewId } from '../previews.ts'
import type { NewFile } from '../schemas.ts'
import { mediaTypeOf } from './media-type.ts'
import { type Line, linesOf, toLine } from './stored-manifest.ts'

/** A compressed form of a file, which is a separate blob. */
export interface FileEncoding {
  readonly coding: 'br' | 'gzip'
  readonly sha256: string
  /** In bytes. */
  readonly size: number
}

/** A file of a deploy. `contentType` is the value of the header. */
export interface ManifestFile {
  readonly sha256: string
  /** In bytes. */
  readonly size: number
  readonly contentType: string
  /** The type that its maker announced, if any. */
  readonly announcedType?: string
  /** The compressed forms, best first. It is empty before compression, and for small or already compressed files. */
  readonly encodings: readonly FileEncoding[]
  /** Set for the room script, which is never served. */
  readonly roomScript?: true
}

/** Returns how a file of a build is announced for another one, with the type only if its maker announced it. */
export const announcementOf = (
  path: string,
  { sha256, size, announcedType }: Pick<ManifestFile, 'sha256' | 'size' | 'announcedType'>,
): NewFile => ({ path, sha256, size, ...(announcedType === undefined ? {} : { contentType: announcedType }) })

/** The files of a deploy by path. The content of each never changes. */
export type Manifest = ReadonlyMap<string, ManifestFile>

/** The contents of a manifest: the size and one of the paths, by digest. */
export type Contents = ReadonlyMap<string, { readonly size: number; readonly path: string }>

/** The maximum number of cached files over all manifests, at about 300 bytes each. */
const MAX_FILES = 100_000

/** Manifests, which are read by one query and cached with least-recently-used eviction. */
export class Manifests {
  readonly #db: Database
  readonly #drafts: DraftBuilds
  readonly #kept = new Map<string, Promise<Kept | null>>()
  #files = 0

  constructor(db: Database, drafts: DraftBuilds) {
    this.#db = db
    this.#drafts = drafts
  }

  /** Returns the deploy or draft at `<slug>--<short>.<domain>`; null when there is none, or it was never finalized. */
  async byPreview(gameId: string, short: string): Promise<string | null> {
    return (await previewId(this.#db, gameId, short)) ?? this.#drafts.byPreview(gameId, short)
  }

  async of(deployId: string): Promise<Manifest | null> {
    return (await this.#get(deployId))?.manifest ?? null
  }

  async contentsOf(deployId: string): Promise<Contents | null> {
    const kept = await this.#get(deployId)
    if (!kept) return null
    if (!kept.contents) {
      // A long manifest has just taken its turn, and its contents take another.
      await nextTurn()
      kept.contents ??= new Map(Array.from(kept.manifest, ([path, { sha256, size }]) => [sha256, { size, path }]))
    }
    return kept.contents
  }

  /** Returns the path, the digest and the size of a deploy's room script; null when it has none. */
  async roomScriptOf(
    deployId: string,
  ): Promise<{ gameId: string | null; path: string; sha256: string; size: number } | null> {
    const kept = await this.#get(deployId)
    const path = kept?.roomPath ?? null
    const file = path === null ? undefined : kept?.manifest.get(path)
    return kept && path !== null && file ? { gameId: kept.gameId, path, sha256: file.sha256, size: file.size } : null
  }

  /** Removes a manifest from the cache, because its files were compressed or it was deleted. */
  forget(deployId: string): void {
    const entry = this.#kept.get(deployId)
    if (entry) this.#drop(deployId, entry)
  }

  #drop(deployId: string, entry: Promise<Kept | null>): void {
    this.#kept.delete(deployId)
    entry.then(
      (kept) => {
        this.#files -= kept?.manifest.size ?? 0
      },
      () => {},
    )
  }

  #get(deployId: string): Promise<Kept | null> {
    // A draft changes, so it is not cached.
    if (isDraftId(deployId)) return this.#loadDraft(deployId)
    let entry = this.#kept.get(deployId)
    if (entry) {
      // Moves the entry to the end. The first entry is the least recently used.
      this.#kept.delete(deployId)
    } else {
      entry = this.#load(deployId)
    }
    this.#kept.set(deployId, entry)
    return entry
  }

  async #load(deployId: string): Promise<Kept | null> {
    try {
      const [row] = await this.#db.query<{ files: string; roomPath: string | null; gameId: string | null }>(
        `select m.files, d.room_path as "roomPath", d.game_id as "gameId" from deploy_manifests m
         left join deploys d on d.id = m.deploy_id where m.deploy_id = ?`,
        [deployId],
      )
      if (row) {
        const manifest = await this.#build(linesOf(row.files), row.roomPath)
        this.#makeRoom(deployId, manifest.size)
        return { manifest, roomPath: row.roomPath, gameId: row.gameId }
      }
    } catch (error) {
      this.#kept.delete(deployId)
      throw error
    }
    // Unknown ids are not cached, because clients can invent any number of them.
    this.#kept.delete(deployId)
    return null
  }

  async #loadDraft(draftId: string): Promise<Kept | null> {
    const draft = await this.#drafts.load(draftId)
    if (!draft) return null
    const manifest = await this.#build([draft.files.map(toLine)], draft.room)
    return { manifest, roomPath: draft.room, gameId: draft.gameId }
  }

  #makeRoom(newest: string, files: number): void {
    this.#files += files
    for (const [deployId, entry] of this.#kept) {
      if (this.#files <= MAX_FILES) return
      if (deployId !== newest) this.#drop(deployId, entry)
    }
  }

  /** A manifest may be long, so each turn of the event loop gets a part of the work. */
  async #build(parts: AsyncIterable<Line[]> | Iterable<Line[]>, roomPath: string | null): Promise<Manifest> {
    const manifest = new Map<string, ManifestFile>()
    for await (const lines of parts) {
      const files = lines.map(([path, sha256, size, announcedType]) => {
        const contentType = announcedType ?? mediaTypeOf(path)
        const compressible = path !== roomPath && isCompressible(path, contentType, size)
        const announced = announcedType === undefined ? {} : { announcedType }
        return { path, file: { sha256, size, contentType, ...announced, encodings: NONE }, compressible }
      })
      const digests = new Set(files.filter(({ compressible }) => compressible).map(({ file }) => file.sha256))
      const encodings = await encodingsOf(this.#db, [...digests])
      for (const { path, file, compressible } of files) {
        manifest.set(path, compressible ? { ...file, encodings: encodings.get(file.sha256) ?? NONE } : file)
      }
    }
    const script = roomPath === null ? undefined : manifest.get(roomPath)
    if (roomPath !== null && script) manifest.set(roomPath, { ...script, roomScript: true })
    return manifest
  }
}

interface Kept {
  manifest: Manifest
  /** The path of the room script. */
  roomPath: string | null
  gameId: string | null
  contents?: Contents
}

const NONE: readonly FileEncoding[] = []

/** Reads the existing compressed forms, smallest first. */
async function encodingsOf(db: Database, digests: readonly string[]): Promise<Map<string, FileEncoding[]>> {
  const found = new Map<string, FileEncoding[]>()
  for (const chunk of chunksOf(digests)) {
    const rows = await db.query<{ source: string; coding: 'br' | 'gzip'; sha256: string; size: number }>(
      `select sha256 as source, coding, variant_sha256 as sha256, size from blob_variants
       where variant_sha256 is not null and sha256 in (${PLACEHOLDERS}) order by size`,
      chunk,
    )
    for (const { source, ...encoding } of rows) found.set(source, [...(found.get(source) ?? []), encoding])
  }
  return found
}
