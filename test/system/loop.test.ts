// Nobody holds the server: for every route, the most awkward inputs that it allows, sent by a player and by nobody. The
// event loop is held for less than 50 ms of processor time, and others are answered meanwhile.
//
// GAMEYARD_LOOP='POST /api/deploy' looks at the routes whose declarations contain it. GAMEYARD_LOOP_LOG names a file that
// gets a line for each route and caller: how long it was held at most and in all, by what, and the statuses of answers.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RouteEntry } from '../../core/http/routes.ts'
import { aiConfig, startAiServer } from '../kit/ai-server.ts'
import { ALL, inFull } from '../kit/extent.ts'
import { obtainTokens, REDIRECT_URI, type TestApp } from '../kit/oauth.ts'
import type { Answer } from '../kit/platform.ts'
import { processorLimit, timeLimit } from '../kit/time-limit.ts'
import { endWithThisProcess } from '../kit/watchdog.ts'
import { filesOf, sha256 } from '../plugins/deploy/build.ts'
import { signInTo } from '../plugins/multiplayer/kit.ts'
import { addressOf, inhabit, type Owner, parametersOf, type World } from './access/world.ts'
import type { Schema } from './fuzz-requests.ts'
import { SMALL_FILES, type Target, ZEROS } from './loop/inputs.ts'
import { type Held, Meter } from './loop/meter.ts'
import type { Order, Report } from './loop/sender.ts'

const LOG = process.env.GAMEYARD_LOOP_LOG

/** The largest processor time of one stretch of work, in ms, and the largest growth of memory, in MB. */
const MOST_MS = processorLimit(50)
const MOST_MB = 100

/** The short form looks at these, which need no account with many things. */
const ALWAYS = ['GET /oauth/authorize', 'POST /api/auth/sign-in', 'POST /settings/picture', 'POST /mcp']

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
    'zip of small files',
    'zip of foreign names',
    'zip of deep folders',
    'zip of ignore patterns',
    'zip of zeros',
    'random bytes',
  ],
  'POST /api/assets': ['model of nodes', 'deep model', 'zip of small files', 'zip of zeros', 'random bytes'],
  'POST /assets/new': ['model of nodes', 'zip of small files'],
  'PUT /api/games/:id/draft/files/:path': ['random bytes', 'a long script'],
  'PUT /__service/saves/:key': ['random bytes', 'a long script'],
  'PUT /api/saves/:key': ['random bytes', 'a long script'],
  'PUT /api/deploy/:deployId/files/:sha256': ['random bytes', 'a file of zeros'],
  'PUT /api/deploy/:deployId/bundle': ['random bytes', 'tar of small files'],
  'POST /api/deploy': [],
  'POST /mcp': [],
}

const SCHEMAS = ['a schema of 2000 parts', 'a deep schema', 'a schema whose pattern backtracks']

/** What single routes are sent beside what their schemas ask for. */
const BODIES: Record<string, string[]> = {
  'POST /api/deploy': [
    'a manifest of 20,000 files',
    'a manifest of empty objects',
    'a manifest that names one file twice',
  ],
  'POST /api/ai/generate': SCHEMAS,
  'POST /__service/ai': SCHEMAS,
  'POST /mcp': [
    'a call with deep arguments',
    'a call with many arguments',
    'a batch of calls',
    'a call with a large file',
    'a call with a long text',
    'a call with many files',
  ],
}

/** The limits of routes without one of their own. */
const JSON_BYTES = 65_536
const FORM_BYTES = 16_384

const named = ({ method, url }: RouteEntry) => `${method} ${url}`
const plainly = (value: unknown): Schema | null => (value ? JSON.parse(JSON.stringify(value)) : null)

/** What a route is sent, by whom. */
function targetOf(owner: Owner, route: RouteEntry, address: string): Target {
  const { body, querystring, consumes } = route.schema as Record<string, unknown> & { consumes?: string[] }
  const isForm = route.page || consumes?.[0] === 'application/x-www-form-urlencoded'
  const isMultipart = consumes?.[0] === 'multipart/form-data' || (route.page && route.upload)
  const isRaw = route.upload && !body && !isMultipart
  const form = isForm && !route.upload
  return {
    method: route.method,
    url: address,
    body: plainly(body),
    query: plainly(querystring),
    kind: isRaw ? 'none' : form ? 'form' : 'json',
    limit: route.bodyLimit ?? (form ? FORM_BYTES : JSON_BYTES),
    uploadLimit: route.bodyLimit ?? Number.MAX_SAFE_INTEGER,
    uploads: UPLOADS[named(route)] ?? [],
    bodies: BODIES[named(route)] ?? [],
    few: !ALL,
    known: { gameId: owner.game.id, game: owner.game.id, assetId: owner.assetId, ...parametersOf(owner, route.url) },
  }
}

/** Announces deploys, and returns the addresses for their files by the routes that take them. */
async function announce({ owner }: World): Promise<Record<string, string>> {
  const begin = async (files: object[]) => {
    const { status, body, text } = await owner.program.post('/api/deploy', { gameId: owner.game.id, files })
    if (status !== 200) throw new Error(`${status}: ${text}`)
    return body
  }
  const page = { path: 'index.html', size: 0, sha256: sha256('') }
  const large = await begin([page, { path: 'zeros.bin', size: ZEROS.length, sha256: sha256(ZEROS) }])
  const small = await begin(filesOf(SMALL_FILES))
  const { uploadUrl } = large.uploads.find(({ path }: { path: string }) => path === 'zeros.bin')
  const path = (url: string) => url.slice(new URL(url).origin.length)
  return {
    'PUT /api/deploy/:deployId/files/:sha256': path(uploadUrl),
    'PUT /api/deploy/:deployId/bundle': path(small.bundle.url),
  }
}

/** Makes a game with a server of its own, and returns a function that gets that server a token of the owner. */
async function tokensOfGame({ owner, platform }: World): Promise<() => Promise<string>> {
  const game = await platform.game(owner.browser, { title: 'Elsewhere', url: 'https://game.example' })
  const { apps } = (await owner.program.get('/api/oauth/apps')).body
  const { id } = apps.find(({ clientId }: TestApp) => clientId === game.clientId)
  await owner.program.patch(`/api/oauth/apps/${id}`, { redirectUris: [REDIRECT_URI] })
  const app = { id, clientId: game.clientId, clientSecret: game.oauth.clientSecret }
  return async () => (await obtainTokens(owner.browser, platform.stranger, app, 'profile saves')).access_token
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
  const limits = { gamesPerPlayer: 1000, tokensPerPlayer: 1000 }
  const world = await inhabit(t, { listen: true, config: { limits, ai: aiConfig(await startAiServer(t)) } })
  const gameToken = await tokensOfGame(world)
  if (inFull(t)) await fill(world, 100)
  const { entries } = world.platform.app.routeTable
  for (const route of entries) if (route.upload) t.ok(UPLOADS[named(route)], `${named(route)} has inputs`)
  const routes = entries
    .filter(({ method }) => method !== 'HEAD' && method !== 'OPTIONS')
    .filter((route) => (wanted ? named(route).includes(wanted) : inFull(t) || ALWAYS.includes(named(route))))
    .toSorted((a, b) => rank(a) - rank(b))
  const tell = await startSender(t)
  const { owner, platform } = world
  const announced = inFull(t) ? await announce(world) : {}
  await signInTo(owner.browser, platform.gameHost(owner.game.slug))
  await owner.browser.submit(`/settings/ai/${owner.game.id}`, { creditsPerDay: '100000' })
  for (const route of routes) {
    const address = announced[named(route)] ?? addressOf(world, owner, route.url, route.origin).url
    const takesPlayers = route.auth !== 'none' || route.origin === 'game'
    for (const caller of takesPlayers ? (['player', 'nobody'] as const) : (['nobody'] as const)) {
      const { wrong, most, statuses } = await attack({ world, gameToken, caller }, { ...route, address }, tell)
      t.same(wrong, [], `${named(route)} by ${caller}`)
      const line = [told(most), named(route), caller, most.name, [...statuses].sort()]
      if (LOG) appendFileSync(LOG, `${line.join('\t')}\n`)
    }
  }
})

/** Sends a route all its inputs. Returns what was wrong, and the input that held the event loop most. */
async function attack(
  { world, gameToken, caller }: { world: World; gameToken: () => Promise<string>; caller: 'player' | 'nobody' },
  route: RouteEntry & { address: string },
  tell: (order: Order) => Promise<Report>,
) {
  const { owner, platform } = world
  const { port } = platform.app.server.address() as AddressInfo
  const portal = new URL(platform.portal)
  const host = route.origin === 'game' ? platform.gameHost(owner.game.slug) : portal.host
  const meter = new Meter()
  const wrong: string[] = []
  const statuses = new Set<number>()
  let most = { name: '', ms: 0, allMs: 0, mb: 0 }
  if (caller === 'player') await renew(world)
  const headers = caller === 'nobody' ? { origin: portal.origin } : await credentials(world, route, { host, gameToken })
  const target = targetOf(owner, route, route.address)
  for (let report = await tell({ target, port, host, headers }); report !== 'done'; report = await tell('next')) {
    const name = (report as { ready: string }).ready
    const held = await leastOf(3, async () => {
      meter.start()
      const { status, alive } = (await tell('send')) as { status: number; alive: number }
      statuses.add(status)
      if (alive !== 200) wrong.push(`${name}: the other client had ${alive}`)
      if (status === 500) wrong.push(`${name}: ${status}`)
      return meter.stop()
    })
    if (held.ms >= MOST_MS || held.mb >= MOST_MB) wrong.push(`${name}: ${told(held)}`)
    if (held.allMs > most.allMs) most = { ...held, name, ms: Math.max(held.ms, most.ms) }
    else most.ms = Math.max(held.ms, most.ms)
  }
  return { wrong, most, statuses }
}

const told = ({ ms, allMs, mb }: Held) => `${ms.toFixed(1)} of ${allMs.toFixed(1)} ms, ${mb.toFixed(0)} MB`

/** Measures again what was above half of a limit, since a collection of garbage may fall into any stretch. */
async function leastOf(times: number, measure: () => Promise<Held>): Promise<Held> {
  let least = await measure()
  for (let time = 1; time < times && (least.ms > MOST_MS / 2 || least.mb > MOST_MB / 2); time++) {
    const again = await measure()
    least = {
      ms: Math.min(least.ms, again.ms),
      allMs: Math.min(least.allMs, again.allMs),
      mb: Math.min(least.mb, again.mb),
    }
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

/** The headers of the owner, as a browser where the route takes one, and with the token of a game where it wants that. */
async function credentials(
  { owner, platform }: World,
  { accepts, page, origin }: RouteEntry,
  { host, gameToken }: { host: string; gameToken: () => Promise<string> },
): Promise<Record<string, string>> {
  if (accepts.length === 1 && accepts[0] === 'oauth-token') return { authorization: `Bearer ${await gameToken()}` }
  if (accepts.includes('session') || accepts.length === 0 || origin === 'game') {
    const cookies = [...owner.browser.cookiesOf(host)].map(([name, value]) => `${name}=${value}`).join('; ')
    const from = `${new URL(platform.portal).protocol}//${host}`
    return { origin: from, cookie: cookies, ...(page ? { 'sec-fetch-site': 'same-origin' } : {}) }
  }
  return { authorization: `Bearer ${owner.program.token}`, accept: 'application/json, text/event-stream' }
}
