// Nobody holds the server: for every route, the most awkward inputs that it allows, sent by a player and by nobody. The
// event loop is held for less than 50 ms of processor time, and others are answered meanwhile.
//
// GAMEYARD_LOOP='POST /api/deploy' looks at the routes whose declarations contain it. GAMEYARD_LOOP_LOG names a file that
// gets a line for each route: how long it was held at most, by what, and the statuses of its answers.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RouteEntry } from '../../core/http/routes.ts'
import { inFull } from '../kit/extent.ts'
import type { Answer } from '../kit/platform.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { endWithThisProcess } from '../kit/watchdog.ts'
import { addressOf, inhabit, type Owner, parametersOf, type World } from './access/world.ts'
import type { Schema } from './fuzz-requests.ts'
import type { Target } from './loop/inputs.ts'
import { type Held, Meter } from './loop/meter.ts'
import type { Order, Report } from './loop/sender.ts'

const LOG = process.env.GAMEYARD_LOOP_LOG

/** The largest processor time of one stretch of work, in ms, and the largest growth of memory, in MB. */
const MOST_MS = 50
const MOST_MB = 100

/** The short form looks at these. */
const ALWAYS = ['GET /catalog', 'GET /api/games', 'POST /api/auth/sign-in', 'POST /settings/picture', 'POST /mcp']

/** What routes with uploads are sent. A route with an upload that is not here fails the test. */
const UPLOADS: Record<string, string[]> = {
  'POST /settings/picture': [
    'jpeg of scans',
    'jpeg of allowed scans',
    'png of pixels',
    'png of chunks',
    'random bytes',
  ],
  'POST /api/games/:id/media': [
    'jpeg of allowed scans',
    'png of pixels',
    'png of chunks',
    'gif of frames',
    'gif of codes',
  ],
  'POST /games/:slug/settings/media': ['jpeg of scans', 'gif of frames'],
  'POST /games/:slug/deploys': [
    ...['zip of small files', 'zip of deep folders', 'zip of ignore patterns', 'zip of zeros', 'random bytes'],
  ],
  'POST /api/assets': ['model of nodes', 'deep model', 'zip of small files', 'zip of zeros', 'random bytes'],
  'POST /assets/new': ['model of nodes', 'zip of small files'],
  'PUT /api/games/:id/draft/files/:path': ['random bytes', 'a long script'],
  'PUT /__service/saves/:key': ['random bytes', 'a long script'],
  'PUT /api/saves/:key': ['random bytes', 'a long script'],
  'PUT /api/deploy/:deployId/files/:sha256': ['random bytes'],
  'PUT /api/deploy/:deployId/bundle': ['random bytes'],
  'POST /api/deploy': [],
  'POST /mcp': [],
}

/** What single routes are sent beside what their schemas ask for. */
const BODIES: Record<string, string[]> = {
  'POST /api/deploy': ['a manifest of 20,000 files', 'a manifest that names one file twice'],
  'POST /api/ai/generate': ['a schema of 2000 parts', 'a deep schema', 'a schema whose pattern backtracks'],
  'POST /mcp': [
    ...['a call with deep arguments', 'a call with many arguments', 'a batch of calls'],
    ...['a call with a large file', 'a call with many files'],
  ],
}

/** The limits of routes without one of their own. */
const JSON_BYTES = 65_536
const FORM_BYTES = 16_384

const named = ({ method, url }: RouteEntry) => `${method} ${url}`
const plainly = (value: unknown): Schema | null => (value ? JSON.parse(JSON.stringify(value)) : null)

/** What a route is sent, by whom. */
function targetOf(world: World, owner: Owner, route: RouteEntry): Target {
  const { body, querystring, consumes } = route.schema as Record<string, unknown> & { consumes?: string[] }
  const isForm = route.page || consumes?.[0] === 'application/x-www-form-urlencoded'
  const isMultipart = consumes?.[0] === 'multipart/form-data' || (route.page && route.upload)
  const isRaw = route.upload && !body && !isMultipart
  const form = isForm && !route.upload
  return {
    method: route.method,
    url: addressOf(world, owner, route.url, route.origin).url,
    ...{ body: plainly(body), query: plainly(querystring) },
    kind: isRaw ? 'none' : form ? 'form' : 'json',
    limit: route.bodyLimit ?? (form ? FORM_BYTES : JSON_BYTES),
    uploads: UPLOADS[named(route)] ?? [],
    bodies: BODIES[named(route)] ?? [],
    known: { gameId: owner.game.id, game: owner.game.id, assetId: owner.assetId, ...parametersOf(owner, route.url) },
  }
}

/** Starts the process of the client. */
async function startSender(t: Test) {
  const child = fork(join(import.meta.dirname, 'loop/sender.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const forget = endWithThisProcess(child.pid as number)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
    forget()
  })
  return async (order: Order): Promise<Report> => {
    const answer = once(child, 'message')
    child.send(order)
    return (await answer)[0]
  }
}

/** Fills the owner's account, since answers are as large as what they list. */
async function fill({ owner, platform }: World, count: number): Promise<void> {
  const description = 'の'.repeat(20_000)
  const done = async (answer: Promise<Answer>) => {
    const { status, text } = await answer
    if (status >= 300) throw new Error(`${status}: ${text}`)
  }
  for (let at = 0; at < count; at++) {
    const tags = Array.from({ length: 10 }, (_, tag) => `tag-${at % 7}-${tag}`)
    await done(owner.program.post('/api/games', { title: 'の'.repeat(80), description, tags, visibility: 'public' }))
    await done(owner.browser.post('/api/tokens', { label: 'の'.repeat(60), scopes: ['games:read'] }))
    if (at < 49) await done(owner.program.put(`/api/games/${owner.game.id}/boards/b${at}`, { title: 'の'.repeat(60) }))
    const score = { gameId: owner.game.id, boardId: 'fastest', score: at, detail: 'x'.repeat(1000) }
    const player = await platform.signUp({ name: 'の'.repeat(32) })
    await platform.app.scores.submit({ ...score, playerId: player.id, writer: 'room' })
  }
}

const isDestructive = ({ method, url }: RouteEntry) =>
  method === 'DELETE' || /(delete|remove|withdraw|revoke|revoke-others|sign-out|rollback|secret)$/.test(url)
const rank = (route: RouteEntry) => (route.method === 'GET' ? 0 : isDestructive(route) ? 2 : 1)

t.setTimeout(timeLimit(900))
t.test('no input holds the event loop', async (t) => {
  const wanted = process.env.GAMEYARD_LOOP
  const world = await inhabit(t, { listen: true, config: { limits: { gamesPerPlayer: 1000, tokensPerPlayer: 1000 } } })
  await fill(world, inFull(t) ? 100 : 20)
  const { entries } = world.platform.app.routeTable
  for (const route of entries) if (route.upload) t.ok(UPLOADS[named(route)], `${named(route)} has inputs`)
  const routes = entries
    .filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS')
    .filter((route) => (wanted ? named(route).includes(wanted) : inFull(t) || ALWAYS.includes(named(route))))
    .toSorted((a, b) => rank(a) - rank(b))
  const tell = await startSender(t)
  for (const route of routes) {
    const { wrong, most, statuses } = await attack(world, route, tell)
    t.same(wrong, [], named(route))
    if (LOG) appendFileSync(LOG, `${[told(most), named(route), most.name, [...statuses].sort()].join('\t')}\n`)
  }
})

/** Sends a route all its inputs. Returns what was wrong, and the input that held the event loop most. */
async function attack(world: World, route: RouteEntry, tell: (order: Order) => Promise<Report>) {
  const { owner, platform } = world
  const { port } = platform.app.server.address() as AddressInfo
  const portal = new URL(platform.portal)
  const host = route.origin === 'game' ? platform.gameHost(owner.game.slug) : portal.host
  const meter = new Meter()
  const wrong: string[] = []
  const statuses = new Set<number>()
  let most = { name: '', ms: 0, mb: 0 }
  for (const caller of route.auth === 'none' ? ['nobody'] : ['player', 'nobody']) {
    if (caller === 'player') await renew(world)
    const headers = caller === 'nobody' ? { origin: portal.origin } : credentials(world, route, host)
    const target = targetOf(world, owner, route)
    for (let report = await tell({ target, port, host, headers }); report !== 'done'; report = await tell('next')) {
      const name = `${caller}, ${(report as { ready: string }).ready}`
      const held = await leastOf(3, async () => {
        meter.start()
        const { status, alive } = (await tell('send')) as { status: number; alive: number }
        statuses.add(status)
        if (alive !== 200) wrong.push(`${name}: the other client had ${alive}`)
        if (status === 500) wrong.push(`${name}: ${status}`)
        return meter.stop()
      })
      if (held.ms >= MOST_MS || held.mb >= MOST_MB) wrong.push(`${name}: ${told(held)}`)
      if (held.ms > most.ms) most = { name, ...held }
    }
  }
  return { wrong, most, statuses }
}

const told = ({ ms, mb }: Held) => `${ms.toFixed(1)} ms, ${mb.toFixed(0)} MB`

/** Measures again what was above half of a limit, since a collection of garbage may fall into any stretch. */
async function leastOf(times: number, measure: () => Promise<Held>): Promise<Held> {
  let least = await measure()
  for (let time = 1; time < times && (least.ms > MOST_MS / 2 || least.mb > MOST_MB / 2); time++) {
    const again = await measure()
    least = { ms: Math.min(least.ms, again.ms), mb: Math.min(least.mb, again.mb) }
  }
  return least
}

/** Signs the owner in again, and makes another token, after a route that ends these. */
async function renew({ owner, platform }: World): Promise<void> {
  const { signedIn } = (await owner.browser.get('/api/auth/session')).body
  if (!signedIn) {
    const { email, password } = owner.browser.account
    const { status, text } = await owner.browser.post('/api/auth/sign-in', { email, password })
    if (status !== 200) throw new Error(text)
  }
  if ((await owner.program.get('/api/cli/whoami')).status !== 200) owner.program = await platform.program(owner.browser)
}

/** The headers of the owner, as a browser where the route takes one. */
function credentials({ owner, platform }: World, { accepts, page }: RouteEntry, host: string): Record<string, string> {
  if (accepts.includes('session') || accepts.length === 0) {
    const cookies = [...owner.browser.cookiesOf(host)].map(([name, value]) => `${name}=${value}`).join('; ')
    const origin = `${new URL(platform.portal).protocol}//${host}`
    return { origin, cookie: cookies, ...(page ? { 'sec-fetch-site': 'same-origin' } : {}) }
  }
  return { authorization: `Bearer ${owner.program.token}`, accept: 'application/json, text/event-stream' }
}
