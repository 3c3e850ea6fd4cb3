/** The adapter for Fastify 4 and 5. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Auth, type AuthSettings, createAuth } from './index.ts'
import { mustServe } from './settings.ts'

export type { AuthSettings, GameSession, Player } from './index.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Reads the player's session: `await app.gameAuth.getSession(request)`. */
    gameAuth: Pick<Auth, 'getSession'>
  }
}

/**
 * Adds the four sign-in routes and `app.gameAuth`: `await app.register(gameAuth)`. Without a prefix the routes follow
 * the path of `redirectUri`, and also answer without it, for a proxy that removes it.
 *
 * @throws AuthSettingsError when a setting is missing or can't be used, or `redirectUri` is not below the prefix
 */
export async function gameAuth(
  app: FastifyInstance,
  { prefix: own = '', ...settings }: AuthSettings & { prefix?: string } = {},
): Promise<void> {
  const auth = createAuth(settings)
  const prefix = app.prefix.replace(/\/$/, '') + own.replace(/\/$/, '')
  mustServe(auth.path, prefix)
  app.decorate('gameAuth', { getSession: auth.getSession })
  await app.register(async (routes) => {
    // Sign-in ignores the bodies of requests.
    routes.removeAllContentTypeParsers()
    routes.addContentTypeParser('*', (_request, payload, done) => {
      payload.resume()
      done(null)
    })
    for (const path of new Set(prefix === '' ? ['', auth.path] : [own.replace(/\/$/, '')])) {
      routes.all(`${path}/auth/service/*`, (request, reply) => answer(auth, request, reply))
    }
  })
}
// These are the marks of fastify-plugin, which make the decorator visible to the whole app.
Object.assign(gameAuth, { [Symbol.for('skip-override')]: true, [Symbol.for('fastify.display-name')]: 'game-auth' })

async function answer(auth: Auth, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !name.startsWith(':')) headers.set(name, [value].flat().join(', '))
  }
  const response = await auth.handle(
    new Request(new URL(request.url, 'http://game'), { method: request.method, headers }),
  )
  if (!response) return reply.code(404).send({ error: { message: 'There is no such address.', code: 'not_found' } })
  reply.code(response.status)
  for (const [name, value] of response.headers) if (name !== 'set-cookie') reply.header(name, value)
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) reply.header('set-cookie', cookies)
  return reply.send(await response.text())
}
