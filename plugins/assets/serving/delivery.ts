import type { FileHandle } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Blobs } from '../../../core/disk-cache.ts'
import { NotFound } from '../../../core/errors.ts'
import type { ByteRange } from '../../../core/http.ts'
import { pump } from '../../../core/pump.ts'
import { type Head, headOf, planOf, type Ready, readyOf, sendFromMemory } from '../../../core/send-file.ts'
import { BlobNotFound } from '../../../drivers/storage/interface.ts'
import type { AssetBlob } from '../blobs.ts'
import { layOut, within, type ZipLayout } from '../packs/zip.ts'
import type { AssetRecord } from '../record.ts'
import { type Door, headersOf } from './headers.ts'

/** Blobs up to this size are kept ready in memory. */
const HOT_BYTES = 256 * 1024
/** All of them together, the longest unused go first. */
const MEMORY_BYTES = 32 * 1024 * 1024
const CHUNK_BYTES = 256 * 1024

/** Bytes of an asset that can be asked for. */
export interface Piece {
  sha256: string
  size: number
  contentType: string
  /** What a browser saves it as. */
  name: string
  /** For `X-Service-Variant`; null for what has no variants. */
  variant: 'source' | 'lod' | null
}

export interface Audience {
  door: Door
  /** Whether scripts of other origins may read the answer. */
  shared: boolean
}

interface RawReply {
  readonly raw: ServerResponse
  hijack(): unknown
}

/** Takes the response out of Fastify's hands; until then whatever is thrown becomes an error answer. */
function take(reply: RawReply): ServerResponse {
  reply.hijack()
  return reply.raw
}

/** The bytes of assets over HTTP: entity tags, ranges, caching. Writes to the raw response. */
export class Delivery {
  readonly #blobs: Blobs<AssetBlob>
  readonly #log: FastifyBaseLogger
  readonly #hot = new Map<string, Buffer>()
  #bytes = 0
  /** Heads and bodies made for an asset as it was read last; they go with it. */
  readonly #ready = new WeakMap<AssetRecord, Map<string, Ready>>()
  readonly #zips = new WeakMap<AssetRecord, ZipLayout>()

  constructor(parts: { blobs: Blobs<AssetBlob>; log: FastifyBaseLogger }) {
    this.#blobs = parts.blobs
    this.#log = parts.log
  }

  /** Answers a GET or HEAD with a piece of an asset, or a part of it. @throws NotFound when it has been deleted */
  async send(
    request: IncomingMessage,
    reply: RawReply,
    { asset, piece, audience }: { asset: AssetRecord; piece: Piece; audience: Audience },
  ): Promise<void> {
    const key = `${audience.door} ${audience.shared} ${piece.variant} ${piece.sha256} ${piece.name}`
    const known = this.#ready.get(asset)?.get(key)
    if (known) return sendFromMemory(request, take(reply), known)
    const head = headOf(
      { etag: `"${piece.sha256}"`, size: piece.size, isDocument: false },
      headersOf(asset, piece, audience),
    )
    if (piece.size <= HOT_BYTES) {
      const ready = readyOf(head, await this.#load(asset.id, piece))
      const pieces = this.#ready.get(asset) ?? new Map<string, Ready>()
      this.#ready.set(asset, pieces.set(key, ready))
      return sendFromMemory(request, take(reply), ready)
    }
    await this.#stream(request, reply, { head, blob: { assetId: asset.id, ...piece } })
  }

  /** Answers with all files of a pack as a ZIP archive, or a part of that. */
  async sendZip(
    request: IncomingMessage,
    reply: RawReply,
    { asset, audience }: { asset: AssetRecord; audience: Audience },
  ): Promise<void> {
    const layout = this.#zips.get(asset) ?? layOut(asset.files)
    this.#zips.set(asset, layout)
    const about = { contentType: 'application/zip', name: `${asset.slug}.zip`, variant: 'source' }
    const headers = headersOf(asset, about, audience)
    const head = headOf({ etag: `"zip-${layout.digest}"`, size: layout.size, isDocument: false }, headers)
    const { status, headers: sent, bytes } = planOf(request, head)
    if (bytes === null) {
      take(reply).writeHead(status, sent).end()
      return
    }
    const { start, end } = bytes === 'all' ? { start: 0, end: layout.size - 1 } : bytes
    const chunks = this.#zipped(asset, layout, { start, end })
    // The first is fetched before anything is written, so that a storage that fails is an error and not half a file.
    const first = await chunks.next()
    const response = take(reply).writeHead(status, sent)
    const body = async function* () {
      if (!first.done) yield first.value
      yield* chunks
    }
    await this.#finish(response, pipeline(Readable.from(body(), { objectMode: false }), response))
  }

  async *#zipped(asset: AssetRecord, layout: ZipLayout, range: ByteRange): AsyncGenerator<Buffer> {
    for (const { part, from, to } of within(layout, range.start, range.end)) {
      if ('bytes' in part) {
        yield part.bytes.subarray(from, to + 1)
        continue
      }
      const blob = { assetId: asset.id, ...part.file }
      const file = await this.#orNotFound(this.#blobs.file(blob))
      if (file) yield* read(file, from, to)
      else yield* await this.#orNotFound(this.#blobs.open(blob, { start: from, end: to }))
    }
  }

  async #stream(
    request: IncomingMessage,
    reply: RawReply,
    { head, blob }: { head: Head; blob: AssetBlob },
  ): Promise<void> {
    const { status, headers, bytes } = planOf(request, head)
    if (bytes === null) {
      take(reply).writeHead(status, headers).end()
      return
    }
    const file = await this.#orNotFound(this.#blobs.file(blob))
    const range = bytes === 'all' ? undefined : bytes
    const stream = file ? null : await this.#orNotFound(this.#blobs.open(blob, range))
    const response = take(reply).writeHead(status, headers)
    if (file) {
      await this.#finish(response, pump(file, range ?? { start: 0, end: blob.size - 1 }, response))
      await file.close()
    } else {
      await this.#finish(response, pipeline(stream as Readable, response))
    }
  }

  /** A client that goes away, or a storage that fails midway: nothing can be said any more. */
  async #finish(response: ServerResponse, sending: Promise<unknown>): Promise<void> {
    try {
      await sending
    } catch (error) {
      response.destroy()
      this.#log.debug({ err: error }, 'an asset was not sent to its end')
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

  /** Deleted between being found and being read. */
  async #orNotFound<Opened>(opening: Promise<Opened>): Promise<Opened> {
    try {
      return await opening
    } catch (error) {
      if (error instanceof BlobNotFound) throw new NotFound('asset')
      throw error
    }
  }
}

async function* read(file: FileHandle, from: number, to: number): AsyncGenerator<Buffer> {
  try {
    for (let at = from; at <= to; ) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, to - at + 1))
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at)
      if (bytesRead === 0) throw new Error('The file is shorter than it should be.')
      at += bytesRead
      yield chunk.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}
