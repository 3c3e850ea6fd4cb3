import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../errors.ts'
import { cacheControl, matchesEtag } from '../http/headers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The pages for search engines. Plugins add their public ones. */
    sitemaps: SitemapSource[]
  }
}

/** A kind of public page, in parts of at most 50,000 (sitemaps.org), each of which is one response. */
export interface SitemapSource {
  /** Lower-case letters, which become part of the address. */
  name: string
  /** Returns the prefix of each part: `[A-Za-z0-9_-]+`. */
  starts(): Promise<string[]>
  /** Returns the pages of a part; empty for an unknown part. */
  pages(start: string): Promise<{ path: string; changedAt?: string }[]>
}

const open = { config: { auth: 'none', text: true }, constraints: { origin: 'portal' } } as const
const Part = Type.Object({
  name: Type.String({ pattern: '^[a-z]{1,30}$', advice: 'Use the name of a sitemap.' }),
  part: Type.String({ pattern: '^[A-Za-z0-9_-]{1,60}\\.xml$', advice: 'Use the name of a part.' }),
})
const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
const SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

/** Serves `/sitemap.xml`, which lists the parts, and the parts themselves. */
export function registerSitemap(app: FastifyInstance): void {
  const { portal } = app.origins
  app.decorate('sitemaps', [])

  app.get('/sitemap.xml', { ...open, schema: { hide: true } }, async (request, reply) => {
    const parts = await Promise.all(
      app.sitemaps.map(async ({ name, starts }) => (await starts()).map((start) => `/sitemaps/${name}/${start}.xml`)),
    )
    const entries = parts.flat().map((path) => `<sitemap><loc>${escapeXml(portal + path)}</loc></sitemap>`)
    const body = `${HEAD}<sitemapindex ${SPACE}>\n${entries.join('\n')}\n</sitemapindex>\n`
    return sendXml(request, reply, body, 'application/xml; charset=utf-8')
  })

  app.get<{ Params: { name: string; part: string } }>(
    '/sitemaps/:name/:part',
    { ...open, schema: { hide: true, params: Part } },
    async (request, reply) => {
      const { name, part } = request.params
      const pages = await app.sitemaps.find((source) => source.name === name)?.pages(part.slice(0, -'.xml'.length))
      if (!pages || pages.length === 0) throw new NotFound('part of the sitemap')
      const entries = pages.map(
        ({ path, changedAt }) =>
          `<url><loc>${escapeXml(portal + path)}</loc>${changedAt ? `<lastmod>${changedAt}</lastmod>` : ''}</url>`,
      )
      const body = `${HEAD}<urlset ${SPACE}>\n${entries.join('\n')}\n</urlset>\n`
      return sendXml(request, reply, body, 'application/xml; charset=utf-8')
    },
  )
}

interface XmlReply {
  code(status: number): unknown
  header(name: string, value: string): unknown
}

/** Sends XML that caches revalidate on every use. **Return** its result. */
export function sendXml(
  request: { headers: Record<string, string | string[] | undefined> },
  reply: XmlReply,
  body: string,
  contentType: string,
): string {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  reply.header('cache-control', cacheControl.revalidate)
  reply.header('etag', etag)
  if (matchesEtag(request.headers['if-none-match'], etag)) {
    reply.code(304)
    return ''
  }
  reply.header('content-type', contentType)
  return body
}

/** Escapes text for XML, and removes the control characters that XML does not allow. */
export const escapeXml = (text: string): string =>
  text
    .replace(/(?![\t\n\r])[\p{Cc}\ufffe\uffff]|\p{Cs}/gu, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
