import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from 'fastify'
import type { PlatformError } from '../../errors.ts'
import type { Origin } from '../../origins/origins.ts'
import { isFromPageOf } from '../../origins/same-origin.ts'
import { fieldErrors } from './field-errors.ts'

/** A form that the server refused, for the page that shows it again. */
export interface RefusedForm {
  /** Path of the POST. */
  readonly action: string
  /** Path and query of the page that shows the form. */
  readonly page: string
  /** What is wrong with the whole form; empty when each fault belongs to a field. */
  readonly message: string
  /** The message for a page on which the faulty field is not found. */
  readonly fallback: string
  /** What is wrong, by the name of the field. */
  readonly problems: ReadonlyMap<string, string>
  /** What was entered, by the name of the field. */
  readonly values: ReadonlyMap<string, readonly string[]>
  /** Whether the page has the form; the page sets it. */
  isShown: boolean
}

/** Names the page of a form in the address of its POST. Only pages that show a refused form use it. */
export const FORM_PAGE = 'form-page'

const current = new AsyncLocalStorage<RefusedForm>()

/** Returns the refused form while its page is rendered. */
export const refusedForm = (): RefusedForm | undefined => current.getStore()

/**
 * Answers a refused form with its page, in which the form is filled with what was entered. The page is that which sent
 * the form, or the next one at or above the path of the POST.
 *
 * @returns the page, or null when it can't be shown: the answer is then an error page
 */
export async function returnForm(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  { error, known }: { error: FastifyError; known: PlatformError },
): Promise<string | null> {
  const { pathname: action } = addressOf(request.url)
  for (const page of pagesOf(app, request)) {
    const refused = { action, page, values: valuesOf(request), isShown: false, ...problemsOf(error, known) }
    const { remoteAddress = '' } = request.socket
    const get: InjectOptions = { method: 'GET', url: page, headers: headersOf(request), remoteAddress }
    // The request begins when its promise is awaited, which must be inside of the context.
    const response = await current.run(refused, async () => await app.inject(get))
    const { 'content-type': type, 'content-security-policy': policy, 'set-cookie': cookies } = response.headers
    if (response.statusCode !== 200 || !refused.isShown) continue
    reply.code(known.statusCode).headers({ ...known.headers, 'cache-control': 'no-store', 'content-type': type })
    if (policy) reply.header('content-security-policy', policy)
    if (cookies) reply.header('set-cookie', cookies)
    return response.body
  }
  return null
}

/**
 * Whether a request is a form of one of our own pages. Another site could otherwise fill in a form here, for the player
 * to send.
 */
export function isOwnForm(app: FastifyInstance, request: FastifyRequest): boolean {
  if (request.method !== 'POST' || !request.routeOptions.config.page) return false
  const { kind } = app.origins.of(request.raw)
  const origin = kind === 'portal' ? app.origins.portal : kind === 'studio' ? app.origins.studio : null
  return origin !== null && isFromPageOf(request.headers, origin)
}

/** Any origin; only path and query are used. */
const addressOf = (path: string): URL => new URL(path.startsWith('/') ? `http://_${path}` : 'http://_/')

function pagesOf(app: FastifyInstance, request: FastifyRequest): string[] {
  const own = addressOf(request.url)
  const named = own.searchParams.get(FORM_PAGE)
  const pages = named ? [addressOf(named)] : []
  const { referer, host } = request.headers
  const sender = referer === undefined ? null : URL.parse(referer)
  if (sender && sender.host === host) pages.push(sender)
  // Some proxies remove the Referer; the page of a form is mostly above the address of its POST.
  for (let path = own.pathname; path !== ''; path = path.slice(0, path.lastIndexOf('/')))
    pages.push(new URL(path + own.search, own))
  const { kind } = app.origins.of(request.raw)
  return [...new Set(pages.map(({ pathname, search }) => pathname + withoutPage(search)))].filter((page) =>
    app.routeTable.methodsAt(kind as Origin, page.split('?', 1)[0] ?? '').includes('GET'),
  )
}

function withoutPage(search: string): string {
  if (!search.includes(FORM_PAGE)) return search
  const query = new URLSearchParams(search)
  query.delete(FORM_PAGE)
  return query.size > 0 ? `?${query}` : ''
}

function valuesOf({ body }: FastifyRequest): RefusedForm['values'] {
  const values = new Map<string, string[]>()
  if (typeof body !== 'object' || body === null) return values
  for (const [name, value] of Object.entries(body)) {
    const texts = [value].flat().filter((text) => typeof text === 'string')
    if (texts.length > 0) values.set(name, texts)
  }
  return values
}

function problemsOf(error: FastifyError, known: PlatformError): Pick<RefusedForm, 'message' | 'fallback' | 'problems'> {
  const { details = [], message: fallback } = known
  if (error.validation) return { message: '', fallback: UNEXPECTED, problems: fieldErrors(error.validation) }
  const [first, ...others] = details
  if (!first) return { message: fallback, fallback, problems: new Map() }
  // The message of the error is about its only field, and is a sentence.
  const problems = new Map(
    others.length === 0 ? [[first.path, fallback]] : details.map((each) => [each.path, each.message]),
  )
  return { message: '', fallback, problems }
}

const UNEXPECTED = 'The server did not expect this form. Reload the page, then try again.'

/** Headers that belong to the POST and its connection, not to the visitor. */
const NOT_OF_VISITOR =
  /^(content-.*|transfer-encoding|connection|keep-alive|upgrade|expect|origin|referer|range|if-.*|accept-encoding|sec-.*)$/

const headersOf = (request: FastifyRequest): FastifyRequest['headers'] =>
  Object.fromEntries(Object.entries(request.headers).filter(([name]) => !NOT_OF_VISITOR.test(name)))
