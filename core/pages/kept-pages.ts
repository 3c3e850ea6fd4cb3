import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { cacheControl } from '../http/headers.ts'
import type { BrowserFile } from './browser-files.ts'
import type { PageReply } from './index.ts'
import { chosenTheme } from './theme.ts'

/** A response that is the same for everyone, in memory with its compressed forms. */
export type KeptDocument = Pick<BrowserFile, 'contentType' | 'body' | 'encodings' | 'etag'>

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)

/** Compresses once with maximum quality, on another thread. */
export async function keepDocument(contentType: string, text: string): Promise<KeptDocument> {
  const body = Buffer.from(text)
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: body.length }
  const [br, gz] = await Promise.all([brotli(body, { params }), zip(body, { level: 9 })])
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  return {
    contentType,
    body,
    etag,
    encodings: [
      { coding: 'br', body: br },
      { coding: 'gzip', body: gz },
    ],
  }
}

/** Maximum number of pages, more than a program has that are the same for everyone. */
const MOST_PAGES = 200

/**
 * Caches pages that are the same for all visitors who are not signed in, such as guides: they are rendered and
 * compressed once, at the first request. Viewers who are signed in, or who chose a colour scheme, get pages of their
 * own.
 */
export class KeptPages {
  readonly #app: Pick<FastifyInstance, 'browserFiles' | 'origins'>
  readonly #pages = new Map<string, KeptDocument | null>()

  constructor(app: Pick<FastifyInstance, 'browserFiles' | 'origins'>) {
    this.#app = app
  }

  /**
   * Sends the page. **Return** its result.
   *
   * @param render renders the page and sets its headers: `renderPage`
   */
  async send(
    request: FastifyRequest,
    reply: PageReply & { code(status: number): unknown },
    render: () => Promise<string>,
  ): Promise<string | Buffer> {
    const path = request.url
    if (!this.#isForEverybody(request)) return render()
    const known = this.#pages.get(path)
    if (known) return this.#app.browserFiles.send(request, reply, known, cacheControl.private)
    const page = await render()
    if (known === undefined && this.#pages.size < MOST_PAGES) {
      this.#pages.set(path, null)
      keepDocument('text/html; charset=utf-8', page).then(
        (document) => this.#pages.set(path, document),
        () => this.#pages.delete(path),
      )
    }
    return page
  }

  #isForEverybody({ principal, headers, url }: FastifyRequest): boolean {
    const { portal } = this.#app.origins
    const atHome = headers.host === new URL(portal).host
    return !principal && atHome && !url.includes('?') && chosenTheme(portal, headers.cookie) === null
  }
}
