import type { FastifyInstance } from 'fastify'

const open = { config: { auth: 'none' }, constraints: { origin: 'portal' }, schema: { hide: true } } as const

/** Registers the files that browsers and crawlers request by well-known names. */
export function registerSiteFiles(app: FastifyInstance): void {
  const { browserFiles, site } = app

  // Clients that do not read the page request these: feed readers, bookmarks, chat programs.
  for (const [path, file] of [
    ['/favicon.ico', 'favicon.ico'],
    ['/apple-touch-icon.png', 'icon-180.png'],
  ] as const) {
    app.get(path, open, async (request, reply) => browserFiles.send(request, reply, file))
  }

  let manifest: string | undefined
  const manifestOf = () =>
    JSON.stringify({
      name: site.name,
      short_name: site.name.slice(0, 12),
      start_url: '/',
      scope: '/',
      display: 'minimal-ui',
      background_color: '#faf7f1',
      theme_color: '#faf7f1',
      icons: [
        { src: browserFiles.url('icon-192.png'), sizes: '192x192', type: 'image/png' },
        { src: browserFiles.url('icon-512.png'), sizes: '512x512', type: 'image/png', purpose: 'any' },
        { src: browserFiles.url('icon-maskable-512.png'), sizes: '512x512', type: 'image/png', purpose: 'maskable' },
        { src: browserFiles.url('favicon.svg'), sizes: 'any', type: 'image/svg+xml' },
      ],
    })
  app.get('/manifest.webmanifest', open, async (_request, reply) => {
    manifest ??= manifestOf()
    return reply.header('cache-control', 'public, max-age=3600').type('application/manifest+json').send(manifest)
  })

  let robots: string | undefined
  app.get('/robots.txt', open, async (_request, reply) => {
    robots ??= robotsOf(app)
    return reply.header('cache-control', 'public, max-age=3600').type('text/plain; charset=utf-8').send(robots)
  })
}

/**
 * robots.txt (RFC 9309) excludes the API and the pages that need sign-in, which it derives from the routes. Each rule
 * ends with `$`, since `/games` is private and `/games/x` is not.
 */
function robotsOf({ routeTable, origins }: FastifyInstance): string {
  const own = routeTable.entries
    .filter(({ method, origin, page, auth }) => method === 'GET' && origin === 'portal' && page && auth === 'session')
    .map(({ url }) => `Disallow: ${url.replace(/:\w+|\*/g, '*')}$`)
  const rules = ['Disallow: /api/', ...[...new Set(own)].sort()]
  return `User-agent: *\n${rules.join('\n')}\n\nSitemap: ${origins.portal}/sitemap.xml\n`
}
