import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { NotFound } from '../../core/errors.ts'
import { cacheControl } from '../../core/http/headers.ts'
import type { Routes } from '../../core/http/routes.ts'
import { refuseServiceWorker } from './edge.ts'

/**
 * The lifetime is short, since the address stays the same when the script changes. The entity tag makes revalidation
 * cheap.
 */
const SCRIPT_CACHE = 'public, max-age=300, must-revalidate'

/** The scripts that games may load, with their permanent addresses on the portal. */
const PUBLIC = {
  'widget.js': '/widget.js',
  'mount.js': '/mount.js',
  'multiplayer.js': null,
  'saves.js': null,
  'scores.js': null,
  'ai.js': null,
  'errors.js': null,
  'auth-widget.js': null,
  'engine.js': null,
}

/** Scripts that only the platform's own tags load. */
const INTERNAL = new Set(['frame-session.js', 'frame-page.js', 'draft-console.js'])

const onGame = {
  config: { auth: 'none', quiet: true },
  constraints: { origin: 'game' },
  schema: { hide: true },
} as const

/** Serves a script at `/__service/<name>` of each game, also while the database is unavailable. */
export function serveScript(app: FastifyInstance, name: string): void {
  const onRequest = (request: FastifyRequest) => app.edge.refuseSuspended(request)
  app.get(`/__service/${name}`, { ...onGame, onRequest }, async (request, reply) => {
    reply.header('cross-origin-resource-policy', 'same-origin')
    reply.header('x-content-type-options', 'nosniff')
    return app.browserFiles.send(request, reply, name, SCRIPT_CACHE)
  })
}

/** The scripts in the form for pages that load them from another origin. */
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
 * The platform's only service worker, which authorises requests for the files of private games in frames that keep no
 * cookie. Its scope is the whole game: it replaces a worker of the game, and is removed when the session ends.
 */
export const frameWorkerRoute: Routes = async (app) => {
  app.get(
    '/__service/frame-worker.js',
    { config: { auth: 'none', quiet: true }, constraints: { origin: 'game' }, schema: { hide: true } },
    async (request, reply) => {
      reply.headers({
        'service-worker-allowed': '/',
        'cross-origin-resource-policy': 'same-origin',
        'cross-origin-embedder-policy': 'require-corp',
        'x-content-type-options': 'nosniff',
      })
      return app.browserFiles.send(request, reply, 'frame-worker.js', cacheControl.document)
    },
  )
}

/**
 * Scripts of the platform on a game's own origin, `/__service/…`, and those that games elsewhere load from the portal.
 */
export const scriptRoutes: Routes = async (app) => {
  app.addHook('onRequest', refuseServiceWorker)
  const onRequest = (request: FastifyRequest) => app.edge.refuseSuspended(request)
  const onPortal = { config: { auth: 'none', cors: {} }, constraints: { origin: 'portal' } } as const

  for (const name of ['auth-widget.js', 'mount.js', 'engine.js']) serveScript(app, name)
  const hashed = { ...onGame, config: { ...onGame.config, cors: {} }, onRequest }
  app.get('/__service/:file(^[a-z-]+\\.\\w{8}\\.js$)', hashed, async (request, reply) => {
    const file = app.browserFiles.find((request.params as { file: string }).file)
    if (!file || !(file.name in PUBLIC || INTERNAL.has(file.name))) throw new NotFound('file')
    reply.header('x-content-type-options', 'nosniff')
    return app.browserFiles.send(request, reply, file, cacheControl.immutable)
  })

  for (const [name, path] of Object.entries(PUBLIC)) {
    if (path === null) continue
    app.get(path, { ...onPortal, schema: { hide: true } }, async (request, reply) =>
      app.browserFiles.send(request, reply, name, SCRIPT_CACHE),
    )
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
      reply.header('cache-control', SCRIPT_CACHE)
      described ??= describe()
      return { scripts: described }
    },
  )
}
