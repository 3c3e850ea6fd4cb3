import type { IncomingHttpHeaders } from 'node:http'
import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { refusedForm } from '../http/forms/refused-forms.ts'
import type { BrowserFiles } from './browser-files.ts'
import { type RefusalPage, RefusalPages } from './forms/refused-form.ts'
import { type Content, html } from './html.ts'
import { FenceArt } from './messages.ts'
import { main, type PageOptions, type Site, shell, type Viewer } from './shell.ts'

export { formatBytes } from '../format-bytes.ts'
export { BarChart, NumberTable } from './charts.ts'
export * from './collections.ts'
export * from './controls.ts'
export { coverFor, coverSvg } from './covers/covers.ts'
export { type Content, html, inlineCode, type Tone, type View } from './html.ts'
export { Icon } from './icons.ts'
export * from './layout.ts'
export * from './media.ts'
export * from './messages.ts'
export type { NavigationEntry } from './navigation.ts'
export { OptimisticToggle } from './optimistic.ts'
export type { HeadLink, PageOptions, Share, Site, ThingKind, ThingLink, Viewer } from './shell.ts'
export { ThingLinks } from './thing-links.ts'

/** The part of Fastify's reply that `renderPage` needs, for any type provider. */
export interface PageReply {
  readonly server: { readonly site: Site; readonly browserFiles: BrowserFiles }
  readonly request: { readonly headers: IncomingHttpHeaders; readonly url: string; readonly method: string }
  code(status: number): unknown
  header(name: string, value: string): unknown
  hasHeader(name: string): boolean
}

/**
 * Renders a whole page, and sets status and headers. **Return** its result: `return renderPage(reply, {...})`.
 *
 * A route that shows a secret sets `Cache-Control: no-store`. Other pages may be kept by the browser (http/headers.ts).
 */
export function renderPage(reply: PageReply, options: PageOptions): string {
  const { site, browserFiles } = reply.server
  const { status = 200 } = options
  const form = refusedForm()
  const refusal =
    form || (status >= 400 && reply.request.method === 'POST') ? { form, found: false, loose: false } : null
  const body = renderBody(options, refusal)
  if (form) form.isShown = refusal?.found === true
  const title = refusal ? `Error: ${options.title}` : options.title
  const page = shell(site, browserFiles, reply.request, { ...options, title })
  reply.code(status)
  reply.header('content-type', 'text/html; charset=utf-8')
  return page.start + render(options.head) + page.middle + body + page.end
}

/** Renders the main part. @param refusal knows afterwards whether the page has the refused form */
function renderBody(options: PageOptions, refusal: RefusalPage | null): string {
  const text = renderMain(options, refusal)
  if (!refusal?.form || refusal.found) return text
  refusal.loose = true
  return renderMain(options, refusal)
}

const renderMain = (options: PageOptions, refusal: RefusalPage | null): string =>
  render(html`<${RefusalPages.Provider} value=${refusal}>${main(options)}<//>`)

/** Renders a piece of a page alone, for live updates. */
export const renderPart = (content: Content): string => render(content)

const render = (content: Content): string => (content ? renderToString(html`${content}` as VNode) : '')

const errorTexts: Record<number, { title: string; message: string }> = {
  400: { title: 'That request is not valid', message: 'The address or the form has an error.' },
  401: { title: 'Sign in first', message: 'This page needs an account.' },
  403: { title: 'Not yours to open', message: 'You are signed in, but this page belongs to somebody else.' },
  404: {
    title: 'Nothing grows here',
    message: 'There is no page at this address. It may have moved, or the link has a typing error.',
  },
  405: { title: 'Wrong way in', message: 'This address does not accept that kind of request.' },
  410: { title: 'Gone for good', message: 'This page has been removed or has expired.' },
  413: { title: 'Too large', message: 'Your upload is larger than this server accepts.' },
  421: {
    title: 'No site by that name',
    message: 'The server does not know the name in this address. Check the address.',
  },
  429: {
    title: 'Slow down a little',
    message: 'You sent too many requests in a short time. Wait a minute, then try again.',
  },
  451: {
    title: 'Suspended',
    message: 'The people who look after this server have taken this offline.',
  },
  500: {
    title: 'We tripped',
    message: 'The server made a mistake. Trying again may help.',
  },
  503: { title: 'Back in a moment', message: 'This part of the server is not available right now.' },
}

export interface ErrorPageOptions {
  status: number
  /** Default: a heading for the status. */
  title?: string | undefined
  /** Must be safe to show. Default: a sentence for the status. */
  message?: string | undefined
  /** The `x-request-id`, which visitors quote to the operator. */
  requestId?: string | undefined
  user?: Viewer | null | undefined
}

/** Renders an error page: what happened, what to do now, and the request id for the log. Never shows a stack. */
export function renderErrorPage(reply: PageReply, options: ErrorPageOptions): string {
  const { status, requestId, user } = options
  const words = errorTexts[status] ?? (status < 500 ? errorTexts[400] : errorTexts[500])
  const title = options.title ?? words?.title ?? ''
  const message = options.message ?? words?.message
  const home = `${reply.server.site.portalUrl}/`
  const body = html`
    <div class="error-page"><div>
      <p class="error-status" aria-hidden="true">${status}</p>
      <h1>${title}</h1>
      <p class="lede">${message}</p>
      <div class="row"><a class="button act" href=${home}>Go to the start page</a></div>
      ${requestId && html`<p class="error-id">Request <code>${requestId}</code></p>`}
    </div><${FenceArt} /></div>`
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store')
  // An error page belongs to no part of the site, so no navigation entry is current.
  const current = ''
  return renderPage(reply, { title, body, status, user, current, head: html`<meta name="robots" content="noindex" />` })
}
