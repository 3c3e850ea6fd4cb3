import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import type { ByteRange } from '../../../core/data/byte-range.ts'
import { writeFileRange } from '../../../core/data/write-file-range.ts'
import { NotFound } from '../../../core/errors.ts'
import { bufferedFile, type FileHead, fileHead, planResponse, sendFromMemory } from '../../../core/http/send-file.ts'
import { BlobNotFound } from '../../../drivers/storage/interface.ts'
import type { ManifestFile } from '../../deploy/index.ts'
import { mayBeFramed } from '../sign-in/cookies.ts'
import type { GameBlob, GameBlobs } from './blobs.ts'
import { type Coding, chooseCoding } from './codings.ts'
import type { DerivedFiles } from './derived-files.ts'
import { Charsets, opensPage } from './documents.ts'
import type { HotFiles, HotForm } from './hot-files.ts'
import { injectAtStart, injectTags, type Tags, WIDGET_TAG } from './inject-tags.ts'
import { type LargeFile, largeFile } from './large-files.ts'
import { candidates } from './paths.ts'
import { headersOf, type Representation, representationOf } from './representation.ts'
import { isForServiceWorker, withGuard } from './service-worker.ts'
import type { LiveSite } from './sites.ts'

/** The maximum size of a response body that is cached in memory. */
const HOT_BYTES = 256 * 1024
/** The maximum size of files that are read whole to be changed. Larger ones are changed at their start. */
const CHANGED_BYTES = 4 * 1024 * 1024
/** The minimum size of a document that is worth compressing. */
const COMPRESS_FROM_BYTES = 1024

const compress = { br: promisify(brotliCompress), gzip: promisify(gzip) }

/** The part of Fastify's reply that sending requires. */
interface RawReply {
  readonly raw: ServerResponse
  hijack(): unknown
}

/** Takes the response over from Fastify. Before this, a thrown error becomes an error response. */
function take(reply: RawReply): ServerResponse {
  reply.hijack()
  return reply.raw
}

/** The file at a path of a site. */
export type Found =
  | { kind: 'file'; name: string; file: ManifestFile; isFallback: boolean }
  /** A folder without its trailing slash. Relative links of the page would not resolve. */
  | { kind: 'folder' }

/**
 * @param path in the form of a manifest
 * @throws NotFound for the room script, which is never served
 */
export function find(site: LiveSite, path: string): Found {
  for (const [index, name] of candidates(path).entries()) {
    const file = site.manifest.get(name)
    if (!file) continue
    if (file.roomScript) throw new NotFound('file')
    return path !== '' && name === `${path}/index.html`
      ? { kind: 'folder' }
      : { kind: 'file', name, file, isFallback: index > 0 && name === 'index.html' }
  }
  throw new Error(`The deploy ${site.deployId} has no index.html.`)
}

/**
 * Serves a game's static files with entity tags, ranges, types, encodings and caching. It writes to the raw response.
 */
export class Files {
  readonly #log: FastifyInstance['log']
  readonly #blobs: GameBlobs
  readonly #derived: DerivedFiles
  readonly #hot: HotFiles
  readonly #charsets = new Charsets()
  /** The script tag of framed documents, which tells them the current player. */
  readonly #frameTag: () => string
  /** The script tag of framed documents of a draft. */
  readonly #draftTag: () => string
  /** Whether games are reached over HTTPS. */
  readonly #secure: boolean

  constructor(
    log: FastifyInstance['log'],
    {
      blobs,
      derived,
      hot,
      frameTag,
      draftTag,
      secure,
    }: {
      blobs: GameBlobs
      derived: DerivedFiles
      hot: HotFiles
      frameTag: () => string
      draftTag: () => string
      secure: boolean
    },
  ) {
    this.#log = log
    this.#blobs = blobs
    this.#derived = derived
    this.#hot = hot
    this.#frameTag = frameTag
    this.#draftTag = draftTag
    this.#secure = secure
  }

  /** Returns the prepared response for a request if it is in memory. */
  hot(site: LiveSite, path: string, request: IncomingMessage): HotForm | undefined {
    const name = path.endsWith('/') ? `${path}index.html` : path
    const variant = variantOf(request, this.#secure)
    const file = isForServiceWorker(request)
      ? site.hot.files.get(SERVICE_WORKER + name)
      : isForWorker(request)
        ? site.hot.files.get(WORKER + name)
        : (variant && site.hot.files.get(variant + name)) || site.hot.files.get(name)
    if (!file) return undefined
    const coding = chooseCoding(request.headers['accept-encoding'] as string | undefined, file.codings)
    const form = file[coding ?? 'plain']
    // This form of the document is not in memory yet.
    return variant && form?.isDocument && site.hot.files.get(name) === file ? undefined : form
  }

  /** Answers a GET or HEAD from memory. */
  sendHot(form: HotForm, request: IncomingMessage, response: ServerResponse): void {
    form.used = true
    sendFromMemory(request, response, form)
  }

  /**
   * Answers a GET or HEAD with a file of the site. @returns whether it is an HTML document that a player opens
   *
   * @param former whether it is a file of an earlier build, which is served for a limited time and not kept in memory
   */
  async send(
    site: LiveSite,
    { name, file, former = false }: { name: string; file: ManifestFile; former?: boolean },
    request: IncomingMessage,
    reply: RawReply,
  ): Promise<boolean> {
    const representation = await this.#representationOf(name, file, site)
    const { isDocument } = representation
    const variant = isDocument ? variantOf(request, this.#secure) : ''
    const tags = isDocument ? this.#tagsOf(site, mayBeFramed(request, this.#secure)) : null
    const service = representation.isScript && isForServiceWorker(request)
    const worker = service || (representation.isScript && isForWorker(request))
    const { encoding } = representation
    const source = service && encoding ? await this.#derived.decoded(file, encoding) : file
    const isLarge = source.size > CHANGED_BYTES
    const change = changeOf(tags, { service, isPage: opensPage(request), isLarge })
    const large = change && isLarge ? await largeFile(source, change, (...blob) => this.#open(...blob)) : null
    const small = isLarge ? null : change
    const codings = small
      ? codingsOfChanged(source)
      : large
        ? this.#derived.codingsOf(large)
        : codingsOf(file, representation)
    const coding = chooseCoding(request.headers['accept-encoding'] as string | undefined, codings)
    const kind = coding ?? 'plain'
    const path = `${variant || (service ? SERVICE_WORKER : worker ? WORKER : '')}/${name}`
    const hot = former ? undefined : site.hot.files.get(path)?.[kind]
    if (hot) {
      this.sendHot(hot, request, take(reply))
      return isDocument
    }
    const encoded = small || large ? undefined : file.encodings.find((encoding) => encoding.coding === coding)
    const decodes = encoding !== null && coding === null && !small && !large
    const blob = decodes ? await this.#derived.decoded(file, encoding) : (encoded ?? source)
    const varies = codings.length > 0
    const headers = headersOf(representation, site, { coding, varies, framing: isDocument, worker, service })
    // A setting decides the isolation. A 304 would leave the headers of a response from before the change as they are.
    const tag = (digest: string) => `"${digest}${site.isolated ? '-isolated' : ''}"`
    if (small || (!large && blob.size <= HOT_BYTES && !former)) {
      const form = await this.#hot.load(site.hot, path, { kind, codings }, async () => {
        const bytes = await buffer(await this.#open(blob))
        const { body, digest } = small
          ? await changed(bytes, { file: blob, change: small, coding })
          : { body: bytes, digest: blob.sha256 }
        return bufferedFile(fileHead({ etag: tag(digest), size: body.length, isDocument }, headers), body)
      })
      this.sendHot(form, request, take(reply))
      return isDocument
    }
    const sent = large ? (coding ? await this.#derived.compressed(large, coding) : large) : blob
    const head = fileHead({ etag: tag(sent.sha256), size: sent.size, isDocument }, headers)
    await this.#stream(sent, head, request, reply)
    return isDocument
  }

  async #stream(
    source: GameBlob | LargeFile,
    head: FileHead,
    request: IncomingMessage,
    reply: RawReply,
  ): Promise<void> {
    const { status, headers, bytes } = planResponse(request, head)
    const { raw: response } = reply
    if (bytes === null) {
      take(reply).writeHead(status, headers).end()
      return
    }
    // The file is opened before anything is written, so that a storage error gives an error response and not half a
    // file.
    const range = bytes === 'all' ? { start: 0, end: source.size - 1 } : bytes
    const file = 'open' in source ? null : await this.#orFault(this.#blobs.file(source))
    const wanted = bytes === 'all' ? undefined : bytes
    const stream = file ? null : await ('open' in source ? source.open(wanted) : this.#open(source, wanted))
    take(reply).writeHead(status, headers)
    try {
      if (file) await writeFileRange(file, range, response)
      else await pipeline(stream as Readable, response)
    } catch (error) {
      response.destroy()
      this.#log.debug({ err: error }, 'sending a file failed before its end')
    } finally {
      // `pipeline` leaves the stream open when the client has already gone.
      stream?.destroy()
      await file?.close()
    }
  }

  async #representationOf(name: string, file: ManifestFile, site: LiveSite): Promise<Representation> {
    const representation = representationOf(name, file, site.changed)
    if (!representation.isDocument || file.announcedType !== undefined) return representation
    const open = (blob: GameBlob, range?: ByteRange) => this.#open(blob, range)
    return { ...representation, contentType: await this.#charsets.typeOf(representation.contentType, file, open) }
  }

  #tagsOf(site: LiveSite, framed: boolean): Tags | null {
    const last = site.game.settings.authWidget === 'on' ? WIDGET_TAG : undefined
    const first = framed ? (site.draft ? this.#draftTag() : '') + this.#frameTag() : undefined
    return first || last ? { first, last } : null
  }

  #open(blob: GameBlob, range?: ByteRange): Promise<Readable> {
    return this.#orFault(this.#blobs.open(blob, range))
  }

  /** The deploy contains the file, so a missing blob is a server error. */
  async #orFault<Opened>(opening: Promise<Opened>): Promise<Opened> {
    try {
      return await opening
    } catch (error) {
      if (error instanceof BlobNotFound)
        throw new Error('A file of a live deploy is not in the storage.', { cause: error })
      throw error
    }
  }
}

/** The prefixes of the paths of workers' scripts in the table of hot files. */
const WORKER = 'worker:'
const SERVICE_WORKER = 'service-worker:'

/** Returns the prefix of the path of a document in that table: its form depends on where it is shown, and whether as a page. */
const variantOf = (request: IncomingMessage, secure: boolean): string =>
  (mayBeFramed(request, secure) ? 'framed:' : '') + (opensPage(request) ? 'page:' : '')

/** Whether a browser asks for the script of a worker. */
const isForWorker = ({ headers }: IncomingMessage): boolean => /worker$/.test(String(headers['sec-fetch-dest'] ?? ''))

/** Adds the platform's part to a file. It returns the same bytes if there is no place for it. */
type Change = (bytes: Buffer) => Buffer

/**
 * Returns what the platform adds to a file for this request; null for nothing.
 *
 * @param isLarge whether only the start of the file is given to it
 */
function changeOf(
  tags: Tags | null,
  { service, isPage, isLarge }: { service: boolean; isPage: boolean; isLarge: boolean },
): Change | null {
  if (service) return withGuard
  if (!tags) return null
  return isLarge ? (start) => injectAtStart(start, tags) : (bytes) => injectTags(bytes, tags, { isPage })
}

const CHANGED: readonly Coding[] = ['br', 'gzip']
const UPLOADED: Readonly<Record<Coding, readonly Coding[]>> = { br: ['br'], gzip: ['gzip'] }
const NONE: readonly Coding[] = []

/** Returns the codings of a file that the platform changes, which are made here. */
const codingsOfChanged = ({ size }: { size: number }): readonly Coding[] =>
  size >= COMPRESS_FROM_BYTES ? CHANGED : NONE

/** Returns the codings of a file: that of its maker, or those made at its deploy. */
function codingsOf(file: ManifestFile, { encoding }: Representation): readonly Coding[] {
  if (encoding) return UPLOADED[encoding]
  return file.encodings.length === 0 ? NONE : file.encodings.map(({ coding }) => coding)
}

/** Changes and compresses a file, and computes a digest of the result. */
async function changed(
  bytes: Buffer,
  { file, change, coding }: { file: { sha256: string }; change: Change; coding: Coding | null },
): Promise<{ body: Buffer; digest: string }> {
  const whole = change(bytes)
  const digest = whole === bytes ? file.sha256 : createHash('sha256').update(whole).digest('hex')
  if (coding === null) return { body: whole, digest }
  const params = { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT }
  const body = await (coding === 'br' ? compress.br(whole, { params }) : compress.gzip(whole))
  return { body, digest: `${digest}-${coding}` }
}
