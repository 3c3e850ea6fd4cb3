import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { BrowserManifest, FileSource } from '../data/built-files.ts'
import { NotFound, StartupError } from '../errors.ts'
import { cacheControl, chooseEncoding, matchesEtag } from '../http/headers.ts'

/** A built file in memory, with its compressed forms. */
export interface BrowserFile {
  /** Name in the build: `styles.css`. */
  name: string
  /** Name with the digest of its content: `styles.3F2A….css`. */
  fileName: string
  contentType: string
  body: Buffer
  /** Compressed forms, best first; empty for content that is already compressed. */
  encodings: { coding: 'br' | 'gzip'; body: Buffer }[]
  /** Strong entity tag of the uncompressed form. */
  etag: string
}

/** The part of Fastify's request and reply that sending needs, for any type provider. */
interface SendRequest {
  readonly headers: Record<string, string | string[] | undefined>
}
interface SendReply {
  code(status: number): unknown
  header(name: string, value: string | number): unknown
}

/** The built styles, scripts, fonts and images, read once at the start. The kernel decorates the app with it. */
export class BrowserFiles {
  readonly #byName: Map<string, BrowserFile>
  readonly #byFile: Map<string, BrowserFile>

  constructor(files: BrowserFile[]) {
    this.#byName = new Map(files.map((file) => [file.name, file]))
    this.#byFile = new Map(files.map((file) => [file.fileName, file]))
  }

  /**
   * Returns the path under which pages load a file: `url('styles.css')` → `/_assets/styles.3F2A….css`.
   *
   * @throws Error for an unknown name
   */
  url(name: string): string {
    return `/_assets/${this.get(name).fileName}`
  }

  /** Returns a file, for a plugin that serves it under its own address. @throws Error for an unknown name */
  get(name: string): BrowserFile {
    const file = this.#byName.get(name)
    if (!file) throw new Error(`The browser build has no ${name}; it has ${[...this.#byName.keys()].join(', ')}.`)
    return file
  }

  /** Returns the file with this digest in its name, or undefined. */
  find(fileName: string): BrowserFile | undefined {
    return this.#byFile.get(fileName)
  }

  /**
   * Answers a GET or HEAD with a built file: entity tag, 304, and the best encoding that the client accepts. **Return**
   * its result: `return app.browserFiles.send(request, reply, 'auth-widget.js')`.
   *
   * @param caching default: always revalidate, which suits an address that remains the same when the file changes
   */
  send(
    request: SendRequest,
    reply: SendReply,
    file: string | Pick<BrowserFile, 'contentType' | 'body' | 'encodings' | 'etag'>,
    caching: string = cacheControl.revalidate,
  ): Buffer | string {
    const { body, encodings, etag, contentType } = typeof file === 'string' ? this.get(file) : file
    const chosen = chooseEncoding(String(request.headers['accept-encoding'] ?? ''), encodings)
    const tag = chosen ? `${etag.slice(0, -1)}-${chosen.coding}"` : etag
    reply.header('cache-control', caching)
    reply.header('etag', tag)
    if (encodings.length > 0) reply.header('vary', 'accept-encoding')
    if (matchesEtag(request.headers['if-none-match'], tag)) {
      reply.code(304)
      return ''
    }
    reply.header('content-type', contentType)
    if (chosen) reply.header('content-encoding', chosen.coding)
    return chosen?.body ?? body
  }
}

const loaded = new WeakMap<FileSource, BrowserFiles>()

/** Reads the whole browser build into memory, once for each source. @throws StartupError when there is none */
export async function loadBrowserFiles(source: FileSource): Promise<BrowserFiles> {
  const known = loaded.get(source)
  if (known) return known
  const files = await readBrowserFiles(source)
  loaded.set(source, files)
  return files
}

async function readBrowserFiles(source: FileSource): Promise<BrowserFiles> {
  const text = await source('manifest.json')
  if (!text) throw new StartupError('The browser files have not been built; run `npm run build:browser` first.')
  const manifest = JSON.parse(Buffer.from(text).toString()) as BrowserManifest
  const read = async (file: string) => {
    const bytes = await source(file)
    if (!bytes) throw new StartupError(`The browser build lacks ${file}; run \`npm run build:browser\` again.`)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }
  const files = Object.entries(manifest.files).map(
    async ([name, { file, contentType, encodings }]): Promise<BrowserFile> => {
      const body = await read(file)
      const compressed = encodings.map(async (coding) => ({
        coding,
        body: await read(`${file}.${coding === 'br' ? 'br' : 'gz'}`),
      }))
      const digest = createHash('sha256').update(body).digest('base64url').slice(0, 27)
      return { name, fileName: file, contentType, body, encodings: await Promise.all(compressed), etag: `"${digest}"` }
    },
  )
  return new BrowserFiles(await Promise.all(files))
}

/**
 * Routes of the built files, under `/_assets/`.
 *
 * @param origins the kinds of origin that have pages, for the kernel's route constraint; an empty list means no
 *   constraint
 */
export function browserFileRoutes(
  app: FastifyInstance,
  { files, origins }: { files: BrowserFiles; origins: string[] },
) {
  for (const origin of origins.length > 0 ? origins : [undefined]) {
    app.get<{ Params: { file: string } }>(
      '/_assets/:file',
      {
        // The files are public and the same for everyone. Games on other origins load scripts from here, verified by
        // `integrity`. The first visit takes a dozen, and all visitors behind one router share a rate limit.
        config: { auth: 'none', cors: {}, rateLimit: false } as object,
        ...(origin ? { constraints: { origin } } : {}),
        schema: { hide: true } as object,
      },
      async (request, reply) => {
        const file = files.find(request.params.file)
        if (!file) throw new NotFound('file')
        return files.send(request, reply, file, cacheControl.immutable)
      },
    )
  }
}
