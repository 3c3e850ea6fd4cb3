import { createHash } from 'node:crypto'
import Type from 'typebox'
import type { BrowserFile } from '../../core/browser-files.ts'
import { NotFound } from '../../core/errors.ts'
import { cacheControl } from '../../core/http.ts'
import type { Routes } from '../../core/routes.ts'
import { refuseServiceWorker } from './edge.ts'

/** Short, since the address stays the same when the script changes; the entity tag makes asking again cheap. */
export const SCRIPT_CACHE = 'public, max-age=300, must-revalidate'

/** What games may load, and where on the portal it always is. */
const PUBLIC = { 'widget.js': '/widget.js', 'mount.js': '/mount.js', 'multiplayer.js': null, 'auth-widget.js': null }

/** Scripts as they are served, for pages that load them from another origin. */
const Scripts = Type.Object({
  scripts: Type.Array(
    Type.Object({
      name: Type.String(),
      url: Type.Union([Type.String(), Type.Null()], {
        description: 'On the portal; the same when the script changes. null: at /__service/ of hosted games only.',
      }),
      immutableUrl: Type.String({ description: 'On the portal; never another content.' }),
      integrity: Type.String({ description: 'For the `integrity` of a script element (Subresource Integrity).' }),
      bytes: Type.Integer(),
    }),
  ),
})

/**
 * Scripts of the platform on a game's own origin, `/__service/…`, and those that games elsewhere load from the portal.
 */
export const scriptRoutes: Routes = async (app) => {
  app.addHook('onRequest', refuseServiceWorker)
  const onGame = {
    config: { auth: 'none', quiet: true },
    constraints: { origin: 'game' },
    schema: { hide: true },
  } as const
  const onPortal = { config: { auth: 'none' }, constraints: { origin: 'portal' } } as const
  const isPublic = (file: BrowserFile | undefined): file is BrowserFile => file !== undefined && file.name in PUBLIC

  for (const name of ['auth-widget.js', 'mount.js']) {
    app.get(`/__service/${name}`, onGame, async (request, reply) => {
      reply.header('cross-origin-resource-policy', 'same-origin')
      reply.header('x-content-type-options', 'nosniff')
      return app.browserFiles.send(request, reply, name, SCRIPT_CACHE)
    })
  }
  app.get('/__service/:file(^[a-z-]+\\.\\w{8}\\.js$)', onGame, async (request, reply) => {
    const file = app.browserFiles.find((request.params as { file: string }).file)
    if (!isPublic(file)) throw new NotFound('file')
    reply.headers({ 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' })
    reply.header('x-content-type-options', 'nosniff')
    return app.browserFiles.send(request, reply, file, cacheControl.immutable)
  })

  for (const [name, path] of Object.entries(PUBLIC)) {
    if (path === null) continue
    app.get(path, { ...onPortal, schema: { hide: true } }, async (request, reply) => {
      reply.headers({ 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' })
      return app.browserFiles.send(request, reply, name, SCRIPT_CACHE)
    })
  }
  const describe = () =>
    Object.entries(PUBLIC).map(([name, path]) => {
      const { body } = app.browserFiles.get(name)
      return {
        name,
        url: path && app.origins.portal + path,
        immutableUrl: app.origins.portal + app.browserFiles.url(name),
        integrity: `sha384-${createHash('sha384').update(body).digest('base64')}`,
        bytes: body.length,
      }
    })
  let described: ReturnType<typeof describe> | undefined
  app.get(
    '/scripts.json',
    {
      ...onPortal,
      schema: { summary: 'The scripts that games load, with addresses that never change', response: { 200: Scripts } },
    },
    async (_request, reply) => {
      reply.header('access-control-allow-origin', '*').header('cache-control', SCRIPT_CACHE)
      described ??= describe()
      return { scripts: described }
    },
  )
}
