import type { IncomingHttpHeaders } from 'node:http'
import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { BrowserFiles } from './browser-files.ts'
import { type Content, html } from './pages/html.ts'
import { FenceArt } from './pages/messages.ts'
import { type PageOptions, type Site, shell, type Viewer } from './pages/shell.ts'

export { AtOnce } from './pages/at-once.ts'
export { BarChart, NumberTable } from './pages/charts.ts'
export * from './pages/collections.ts'
export * from './pages/controls.ts'
export { coverFor, coverSvg } from './pages/covers.ts'
export { inlineCode } from './pages/fields.ts'
export { type Content, html, type Tone, type View } from './pages/html.ts'
export { Icon } from './pages/icons.ts'
export * from './pages/layout.ts'
export * from './pages/media.ts'
export * from './pages/messages.ts'
export type { NavigationEntry } from './pages/navigation.ts'
export type { HeadLink, PageOptions, Share, Site, Viewer } from './pages/shell.ts'
export { formatBytes } from './pages/sizes.ts'

/** What `renderPage` needs of Fastify's reply; every reply has it, whatever its type provider. */
export interface PageReply {
  readonly server: { readonly site: Site; readonly browserFiles: BrowserFiles }
  readonly request: { readonly headers: IncomingHttpHeaders; readonly url: string }
  code(status: number): unknown
  header(name: string, value: string): unknown
  hasHeader(name: string): boolean
}

/**
 * Renders a whole page and sets status and headers. **Return** what it gives: `return renderPage(reply, {...})`.
 *
 * Pages are private to the viewer and revalidated; a route that shows a secret sets `Cache-Control: no-store` before.
 */
export function renderPage(reply: PageReply, options: PageOptions): string {
  const { site, browserFiles } = reply.server
  const page = shell(site, browserFiles, reply.request, options)
  reply.code(options.status ?? 200)
  reply.header('content-type', 'text/html; charset=utf-8')
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'private, no-cache')
  return page.start + render(options.head) + page.middle + render(page.body) + page.end
}

/** A piece of a page alone, for what keeps it fresh. */
export const renderPart = (content: Content): string => render(content)

const render = (content: Content): string => (content ? renderToString(html`${content}` as VNode) : '')

const kindly: Record<number, { title: string; message: string }> = {
  400: { title: 'That request does not add up', message: 'Something in the address or the form was not as expected.' },
  401: { title: 'Sign in first', message: 'This page is for people with an account here.' },
  403: { title: 'Not yours to open', message: 'You are signed in, but this page belongs to somebody else.' },
  404: {
    title: 'Nothing grows here',
    message: 'There is no page at this address. It may have moved, or the link has a typing error.',
  },
  405: { title: 'Wrong way in', message: 'This address does not take that kind of request.' },
  410: { title: 'Gone for good', message: 'What was here has been taken down or has expired.' },
  413: { title: 'Too big for the gate', message: 'What you sent is larger than this server takes.' },
  421: {
    title: 'No site by that name',
    message: 'The request reached this server under a name that it does not know. Check the address.',
  },
  429: {
    title: 'Slow down a little',
    message: 'There were too many requests in a short time. Wait a minute, then try again.',
  },
  500: {
    title: 'We tripped',
    message: 'Something went wrong on this server, not on your side. Trying again may help.',
  },
  503: { title: 'Back in a moment', message: 'This part of the server is not available right now.' },
}

export interface ErrorPageOptions {
  status: number
  /** Default: a heading made for the status. */
  title?: string | undefined
  /** Safe to show as it is; default: a sentence made for the status. */
  message?: string | undefined
  /** From `x-request-id`: what to quote to whoever runs the server. */
  requestId?: string | undefined
  user?: Viewer | null | undefined
}

/** Renders an error as a page: what happened, what to do now, and the id under which the log has it. Never a stack. */
export function renderErrorPage(reply: PageReply, options: ErrorPageOptions): string {
  const { status, requestId, user } = options
  const words = kindly[status] ?? (status < 500 ? kindly[400] : kindly[500])
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
  // It is no page of any part of the site: what an address begins with says nothing of what is not there.
  const current = ''
  return renderPage(reply, { title, body, status, user, current, head: html`<meta name="robots" content="noindex" />` })
}
