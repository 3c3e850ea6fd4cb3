// The sizes of bodies that every route takes, and the work that the largest of them cause.
import t from 'tap'
import { inFull } from '../kit/extent.ts'
import { type Platform, startPlatform } from '../kit/platform.ts'
import { processorLimit } from '../kit/time-limit.ts'

const TEXT = 'の'
const SAFE = ['GET', 'HEAD', 'OPTIONS']

/**
 * Routes with larger input than others, in bytes, written by hand from the specification and the contracts. A character
 * counts nine bytes, as a form sends it, and 8 KiB are for other fields.
 */
const LARGER: Record<string, number> = {
  // A description has 20,000 characters.
  'POST /api/games': 188_192,
  'PATCH /api/games/:id': 188_192,
  'POST /games/new': 188_192,
  'POST /games/:slug/settings': 188_192,
  'PATCH /api/assets/:id': 188_192,
  'POST /assets/:slug/edit': 188_192,
  // A prompt has 8,000 characters, instructions 32,000, a schema 32 KiB.
  'POST /api/ai/generate': 466_496,
  'POST /playground': 466_496,
  // A script has 64 KiB.
  'POST /api/blender/v1/jobs': 262_144,
  'POST /api/blender/v1/jobs/:id/actions': 262_144,
  'POST /api/generations': 262_144,
  'POST /blender/new': 262_144,
  'POST /blender/jobs/:id/revise': 262_144,
  // A report and an appeal have 2,000 characters.
  'POST /api/reports': 26_192,
  'POST /games/:slug/report': 26_192,
  'POST /assets/:slug/report': 26_192,
  'POST /players/:id/report': 26_192,
  'POST /games/:slug/appeal': 26_192,
  'POST /assets/:slug/appeal': 26_192,
  // An authorization request is as long as an address may be.
  'POST /oauth/consent': 155_648,
  'POST /oauth/authorize': 16_384,
  'POST /sign-in': 16_384,
  'POST /sign-up': 16_384,
  'POST /guest': 16_384,
  'POST /invite/:token': 16_384,
  'POST /reset-password': 16_384,
  'POST /sign-out': 16_384,
  'POST /oauth/logout': 16_384,
  // 20 redirect URIs have 2,000 characters each.
  'POST /api/oauth/register': 49_152,
  'POST /api/payments/webhook': 262_144,
  'POST /__service/scores/:board': 8192,
  'POST /__service/ai': 466_496,
  // Ten errors have messages, paths and stacks of 3,000 characters together.
  'POST /__service/errors': 98_304,
}

t.test('each route takes the bodies that it needs, and no larger ones', async (t) => {
  const { app } = await startPlatform(t)
  const limits = app.routeTable.entries
    .filter(({ method, upload }) => !SAFE.includes(method) && !upload)
    .map(({ method, url, auth, bodyLimit }) => ({ route: `${method} ${url}`, auth, bodyLimit }))
  for (const { route, auth, bodyLimit } of limits) {
    t.equal(bodyLimit, LARGER[route] ?? (auth === 'none' || auth === 'optional' ? 8192 : null), route)
  }
  for (const route of Object.keys(LARGER))
    t.ok(
      limits.some((limit) => limit.route === route),
      route,
    )
})

t.test('the longest texts arrive, in JSON with escapes and in forms', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const game = await platform.game(player)
  const description = TEXT.repeat(20_000)
  const escaped = JSON.stringify({ description }).replaceAll(TEXT, '\\u306e')
  const program = await platform.program(player)
  const headers = { 'content-type': 'application/json' }
  const changed = await program.request('PATCH', `/api/games/${game.id}`, escaped, { headers })
  t.match(changed, { status: 200, body: { description } })
  const form = { title: 'Pong', description, tags: '', visibility: 'public' }
  t.equal((await player.submit(`/games/${game.slug}/settings`, form)).status, 303)
  const report = { category: 'other', text: TEXT.repeat(2000) }
  t.equal((await platform.stranger.submit(`/games/${game.slug}/report`, report)).status, 303)
})

const faulty = (bytes: number) => {
  const names = Array.from({ length: Math.floor(bytes / 9) }, (_, index) => index.toString(36).padStart(4, '0'))
  return `{${names.map((name) => `"${name}":1`).join(',')}}`
}

/** Returns the processor time of the slowest answer to a body of unknown fields, in ms. */
async function slowest({ app }: Platform, routes: { method: string; path: string; bytes: number }[]): Promise<number> {
  let most = 0
  for (const { method, path, bytes } of routes) {
    const request = {
      method: method as 'POST',
      url: path,
      body: faulty(bytes),
      headers: { host: new URL(app.origins.portal).host, 'content-type': 'application/json' },
    }
    await app.inject(request) // compiles the schemas
    const before = process.threadCpuUsage()
    const { statusCode } = await app.inject(request)
    const { user, system } = process.threadCpuUsage(before)
    if (statusCode >= 500) throw new Error(`${path}: ${statusCode}`)
    most = Math.max(most, (user + system) / 1000)
  }
  return most
}

// A body of 1 MiB took 109 to 228 ms.
t.test('the largest body of a stranger takes little time of the event loop', async (t) => {
  const platform = await startPlatform(t, { only: ['oauth-idp'] })
  t.ok((await slowest(platform, [{ method: 'POST', path: '/api/auth/sign-in', bytes: 8000 }])) < processorLimit(50))
})

inFull(t)?.test('so it is on every route for strangers', async (t) => {
  const platform = await startPlatform(t)
  const open = platform.app.routeTable.entries.filter(
    ({ method, origin, auth, upload }) =>
      !SAFE.includes(method) && !upload && origin !== 'game' && (auth === 'none' || auth === 'optional'),
  )
  const routes = open.map(({ method, url, bodyLimit }) => ({
    method,
    path: url.replaceAll(/:\w+/g, 'x'),
    bytes: (bodyLimit ?? 0) - 100,
  }))
  t.ok(routes.length > 20)
  const most = await slowest(platform, routes)
  t.ok(most < processorLimit(50), `${most} ms`)
})
