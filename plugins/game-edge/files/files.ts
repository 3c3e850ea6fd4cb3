import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { FastifyInstance } from 'fastify'
import { type ByteRange, ifRangeHolds, matchesEtag, parseRange } from '../../../core/http.ts'
import { BlobNotFound } from '../../../drivers/storage/interface.ts'
import { type HotFile, HotFiles } from './hot-files.ts'
import { injectWidget } from './inject.ts'
import { candidates } from './paths.ts'
import { headersOf, representationOf } from './representation.ts'
import type { LiveSite } from './sites.ts'

/** Files up to this size are kept ready in memory. */
const HOT_BYTES = 256 * 1024
/** HTML beyond this is sent as it is, without the widget: it has to be read whole. */
const DOCUMENT_BYTES = 4 * 1024 * 1024

/** What sending needs of Fastify's reply. */
interface RawReply {
  readonly raw: ServerResponse
  hijack(): unknown
}

/** Takes the response out of Fastify's hands; until then whatever is thrown becomes an error answer. */
function take(reply: RawReply): ServerResponse {
  reply.hijack()
  return reply.raw
}

/** A game's static files over HTTP: entity tags, ranges, types, caching. Writes to the raw response: this is hot. */
export class Files {
  readonly #app: FastifyInstance
  readonly #hot: HotFiles

  /** @param cacheBytes how much memory the hot files may take */
  constructor(app: FastifyInstance, cacheBytes: number) {
    this.#app = app
    this.#hot = new HotFiles(cacheBytes)
  }

  /**
   * Answers a GET or HEAD, always: with the file, `dir/index.html`, or the start page.
   *
   * @param path as in a manifest
   */
  async send(site: LiveSite, path: string, request: IncomingMessage, reply: RawReply): Promise<void> {
    const name = candidates(path).find((candidate) => site.manifest.has(candidate)) ?? 'index.html'
    const { game } = site
    // Settings are part of what is sent, so they are part of the key; old entries fade by disuse.
    const { authWidget, crossOriginIsolated } = game.settings
    const key = `${site.deployId} ${authWidget} ${crossOriginIsolated} ${game.visibility} ${name}`
    const hot = this.#hot.get(key)
    if (hot) return sendHot(hot, request, reply)

    const file = site.manifest.get(name)
    if (!file) throw new Error(`The deploy ${site.deployId} has no index.html.`)
    const representation = representationOf(name, file.contentType)
    const injects = representation.isDocument && authWidget === 'on' && file.size <= DOCUMENT_BYTES
    const headers = headersOf(representation, game)
    if (injects || file.size <= HOT_BYTES) {
      const loaded = await this.#hot.load(key, async () => {
        const bytes = await buffer(await this.#open(file.sha256))
        const body = injects ? injectWidget(bytes) : bytes
        const digest = body === bytes ? file.sha256 : createHash('sha256').update(body).digest('hex')
        return prepare(body, `"${digest}"`, headers)
      })
      return sendHot(loaded, request, reply)
    }
    await this.#stream(file, headers, request, reply)
  }

  async #stream(
    file: { sha256: string; size: number },
    headers: string[],
    request: IncomingMessage,
    reply: RawReply,
  ): Promise<void> {
    const etag = `"${file.sha256}"`
    const range = negotiate(request, reply, { etag, headers }, file.size)
    if (range === 'answered') return
    // Opened before anything is written, so that a storage that fails is an error and not half a file.
    const stream = request.method === 'HEAD' ? null : await this.#open(file.sha256, range ?? undefined)
    const response = take(reply)
    writeHead(response, range, [...headers, 'etag', etag], file.size)
    if (!stream) return void response.end()
    await pipeline(stream, response).catch((error) => {
      response.destroy()
      this.#app.log.debug({ err: error }, 'a file was not sent to its end')
    })
  }

  async #open(sha256: string, range?: ByteRange): Promise<Readable> {
    try {
      return await this.#app.storage.get(this.#app.deploys.blobKey(sha256), range)
    } catch (error) {
      // The deploy says that it is there: the fault is ours, not the asker's.
      if (error instanceof BlobNotFound)
        throw new Error('A file of a live deploy is not in the storage.', { cause: error })
      throw error
    }
  }
}

function prepare(body: Buffer, etag: string, base: string[]): HotFile {
  const headers = [...base, 'etag', etag]
  return { etag, body, headers, whole: [...headers, 'content-length', String(body.length)] }
}

function sendHot(file: HotFile, request: IncomingMessage, reply: RawReply): void {
  const { 'if-none-match': condition, range: wanted } = request.headers
  const plain = condition === undefined && wanted === undefined
  const range = plain ? null : negotiate(request, reply, file, file.body.length)
  if (range === 'answered') return
  const response = take(reply)
  if (range) {
    writeHead(response, range, file.headers, file.body.length)
    response.end(file.body.subarray(range.start, range.end + 1))
    return
  }
  response.writeHead(200, file.whole)
  response.end(request.method === 'HEAD' ? undefined : file.body)
}

/** Conditions and ranges (RFC 9110 sections 13.2.2 and 14): what to send, or null for all of it, or it is answered. */
function negotiate(
  request: IncomingMessage,
  reply: RawReply,
  { etag, headers }: { etag: string; headers: string[] },
  size: number,
): ByteRange | null | 'answered' {
  const { 'if-none-match': condition, 'if-range': ifRange, range: wanted } = request.headers
  if (matchesEtag(condition, etag)) {
    take(reply)
      .writeHead(304, [...NOT_MODIFIED.flatMap((name) => pairOf(headers, name)), 'etag', etag])
      .end()
    return 'answered'
  }
  // Range is defined for GET alone.
  if (wanted === undefined || request.method === 'HEAD' || !ifRangeHolds(ifRange as string | undefined, etag))
    return null
  const range = parseRange(wanted, size)
  if (range !== 'unsatisfiable') return range
  take(reply)
    .writeHead(416, ['content-range', `bytes */${size}`, 'cache-control', 'no-store', 'content-length', '0'])
    .end()
  return 'answered'
}

/** What a 304 repeats of the 200 (RFC 9110 section 15.4.5), and what a document needs to stay isolated. */
const NOT_MODIFIED = [
  'cache-control',
  'cross-origin-opener-policy',
  'cross-origin-embedder-policy',
  'cross-origin-resource-policy',
]

function pairOf(headers: string[], name: string): string[] {
  const at = headers.indexOf(name)
  return at === -1 ? [] : headers.slice(at, at + 2)
}

function writeHead(response: ServerResponse, range: ByteRange | null, headers: string[], size: number): void {
  if (!range) {
    response.writeHead(200, [...headers, 'content-length', String(size)])
    return
  }
  const { start, end } = range
  const part = ['content-range', `bytes ${start}-${end}/${size}`, 'content-length', String(end - start + 1)]
  response.writeHead(206, [...headers, ...part])
}
