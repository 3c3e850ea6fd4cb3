import type { FileHandle } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Blobs } from '../../../core/data/disk-cache.ts'
import { writeFileRange } from '../../../core/data/write-file-range.ts'
import { layOut, within, type ZipLayout } from '../../../core/data/zip/zip-layout.ts'
import { NotFound } from '../../../core/errors.ts'
import {
  type BufferedFile,
  bufferedFile,
  type FileHead,
  fileHead,
  planResponse,
  sendFromMemory,
} from '../../../core/http/send-file.ts'
import { BlobNotFound } from '../../../drivers/storage/interface.ts'
import type { AssetBlob } from '../blobs.ts'
import type { AssetRecord, StoredFile } from '../record.ts'
import { headersOf, type Surface } from './headers.ts'

/** The maximum size of a blob that is cached in memory. */
const HOT_BYTES = 256 * 1024
/** The maximum size of all of them. The least recently used are evicted first. */
const MEMORY_BYTES = 32 * 1024 * 1024

/** A blob of an asset that a client can request. */
export interface AssetBlobRef {
  sha256: string
  size: number
  contentType: string
  /** The file name for downloads. */
  name: string
  /** The value of `X-Service-Variant`; null for a blob without variants. */
  variant: 'source' | 'lod' | null
}

export interface Audience {
  door: Surface
  /** Whether scripts of other origins may read the response. */
  shared: boolean
}

interface RawReply {
  readonly raw: ServerResponse
  hijack(): unknown
}

type ZipPiece = ReturnType<typeof within<StoredFile>> extends Generator<infer Piece> ? Piece : never

/** Takes the response over from Fastify. Before this, a thrown error becomes an error response. */
function take(reply: RawReply): ServerResponse {
  reply.hijack()
  return reply.raw
}

/** Releases what may not have been read to its end: `pipeline` leaves it open when the client has already gone. */
async function release(opened: FileHandle | Readable | null | undefined): Promise<void> {
  if (opened instanceof Readable) opened.destroy()
  else await opened?.close()
}

const keyOf = ({ variant, sha256, name }: AssetBlobRef, { door, shared }: Audience) =>
  `${door} ${shared} ${variant} ${sha256} ${name}`

/** Serves the bytes of assets over HTTP with entity tags, ranges and caching. It writes to the raw response. */
export class Delivery {
  readonly #blobs: Blobs<AssetBlob>
  readonly #log: FastifyBaseLogger
  readonly #hot = new Map<string, Buffer>()
  #bytes = 0
  /** Prepared headers and bodies of the cached record of an asset. They are collected with it. */
  readonly #ready = new WeakMap<AssetRecord, Map<string, BufferedFile>>()
  readonly #zips = new WeakMap<AssetRecord, ZipLayout<StoredFile>>()

  constructor(parts: { blobs: Blobs<AssetBlob>; log: FastifyBaseLogger }) {
    this.#blobs = parts.blobs
    this.#log = parts.log
  }

  /** Answers a GET or HEAD with a blob of an asset or a range of it. @throws NotFound when it has been deleted */
  async send(
    request: IncomingMessage,
    reply: RawReply,
    { asset, piece, audience }: { asset: AssetRecord; piece: AssetBlobRef; audience: Audience },
  ): Promise<void> {
    const key = keyOf(piece, audience)
    const known = this.#ready.get(asset)?.get(key)
    if (known) return sendFromMemory(request, take(reply), known)
    const head = fileHead(
      { etag: `"${piece.sha256}"`, size: piece.size, isDocument: false },
      headersOf(asset, piece, audience),
    )
    if (piece.size <= HOT_BYTES) {
      const ready = bufferedFile(head, await this.#load(asset.id, piece))
      const pieces = this.#ready.get(asset) ?? new Map<string, BufferedFile>()
      this.#ready.set(asset, pieces.set(key, ready))
      return sendFromMemory(request, take(reply), ready)
    }
    await this.#stream(request, reply, { head, blob: { assetId: asset.id, ...piece } })
  }

  /** Returns the response of `send` if it is already in memory. */
  ready(asset: AssetRecord, piece: AssetBlobRef, audience: Audience): BufferedFile | undefined {
    return this.#ready.get(asset)?.get(keyOf(piece, audience))
  }

  /** Sends all files of a pack as a ZIP archive, or a range of it. */
  async sendZip(
    request: IncomingMessage,
    reply: RawReply,
    { asset, audience }: { asset: AssetRecord; audience: Audience },
  ): Promise<void> {
    const layout = this.#zips.get(asset) ?? layOut(asset.files)
    this.#zips.set(asset, layout)
    const about = { contentType: 'application/zip', name: `${asset.slug}.zip`, variant: 'source' }
    const headers = headersOf(asset, about, audience)
    const head = fileHead({ etag: `"zip-${layout.digest}"`, size: layout.size, isDocument: false }, headers)
    const { status, headers: sent, bytes } = planResponse(request, head)
    if (bytes === null) {
      take(reply).writeHead(status, sent).end()
      return
    }
    const { start, end } = bytes === 'all' ? { start: 0, end: layout.size - 1 } : bytes
    const parts = [...within(layout, start, end)]
    // The first file is opened before anything is written, so that a storage error gives an error response and not half
    // a file.
    const files = this.#opened(asset, parts)
    const first = await files.next()
    const response = take(reply).writeHead(status, sent)
    await this.#finish(response, this.#writeParts(parts, { first, files }, response))
  }

  /** Yields the files of an archive. Each is opened while the one before is being sent. */
  async *#opened(asset: AssetRecord, parts: readonly ZipPiece[]): AsyncGenerator<FileHandle | Readable> {
    const open = async ({ part, from, to }: ZipPiece) => {
      if ('bytes' in part) return null
      const blob = { assetId: asset.id, ...part.file }
      const file = await this.#orNotFound(this.#blobs.file(blob))
      return file ?? (await this.#orNotFound(this.#blobs.open(blob, { start: from, end: to })))
    }
    const wanted = parts.filter(({ part }) => 'file' in part)
    let ahead = wanted[0] ? open(wanted[0]) : null
    try {
      for (let index = 0; index < wanted.length; index++) {
        const current = await ahead
        const next = wanted[index + 1]
        ahead = next ? open(next) : null
        // The error is reported when the file's turn comes.
        ahead?.catch(() => {})
        if (current) yield current
      }
    } finally {
      await release(await ahead?.catch(() => null))
    }
  }

  async #writeParts(
    parts: readonly ZipPiece[],
    { first, files }: { first: IteratorResult<FileHandle | Readable>; files: AsyncGenerator<FileHandle | Readable> },
    response: ServerResponse,
  ): Promise<void> {
    let opened = first
    try {
      for (const { part, from, to } of parts) {
        if ('bytes' in part) {
          response.write(part.bytes.subarray(from, to + 1))
          continue
        }
        const file = opened.value as FileHandle | Readable
        if (file instanceof Readable) await pipeline(file, response, { end: false })
        else await writeFileRange(file, { start: from, end: to }, response, { last: false }).finally(() => file.close())
        opened = await files.next()
      }
      response.end()
    } finally {
      await release(opened.value)
      await files.return(undefined)
    }
  }

  async #stream(
    request: IncomingMessage,
    reply: RawReply,
    { head, blob }: { head: FileHead; blob: AssetBlob },
  ): Promise<void> {
    const { status, headers, bytes } = planResponse(request, head)
    if (bytes === null) {
      take(reply).writeHead(status, headers).end()
      return
    }
    const file = await this.#orNotFound(this.#blobs.file(blob))
    const range = bytes === 'all' ? undefined : bytes
    const stream = file ? null : await this.#orNotFound(this.#blobs.open(blob, range))
    const response = take(reply).writeHead(status, headers)
    if (file) await this.#finish(response, writeFileRange(file, range ?? { start: 0, end: blob.size - 1 }, response))
    else await this.#finish(response, pipeline(stream as Readable, response))
    await release(file ?? stream)
  }

  /** The response can't be changed any more after a client disconnect or a storage error midway. */
  async #finish(response: ServerResponse, sending: Promise<unknown>): Promise<void> {
    try {
      await sending
    } catch (error) {
      response.destroy()
      this.#log.debug({ err: error }, 'sending an asset failed before its end')
    }
  }

  async #load(assetId: string, { sha256, size }: { sha256: string; size: number }): Promise<Buffer> {
    const known = this.#hot.get(sha256)
    if (known) {
      this.#hot.delete(sha256)
      this.#hot.set(sha256, known)
      return known
    }
    const bytes = await buffer(await this.#orNotFound(this.#blobs.open({ assetId, sha256, size })))
    if (bytes.length !== size) throw new Error('A file of an asset has another size than it should.')
    if (this.#hot.has(sha256)) return bytes
    this.#hot.set(sha256, bytes)
    this.#bytes += bytes.length
    for (const [oldest, { length }] of this.#hot) {
      if (this.#bytes <= MEMORY_BYTES) break
      this.#hot.delete(oldest)
      this.#bytes -= length
    }
    return bytes
  }

  /** The blob may be deleted between the lookup and the read. */
  async #orNotFound<Opened>(opening: Promise<Opened>): Promise<Opened> {
    try {
      return await opening
    } catch (error) {
      if (error instanceof BlobNotFound) throw new NotFound('asset')
      throw error
    }
  }
}
