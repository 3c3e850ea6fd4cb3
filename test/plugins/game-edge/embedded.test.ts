// Tests the sign-in of framed games over HTTP, including misuse. embedded-suite.ts tests it in browsers.
import t, { type Test } from 'tap'
import { createLog } from '../../../core/observe/log.ts'
import { type Client, type PlatformOptions, type PlayerClient, startPlatform } from '../../kit/platform.ts'
import { deploy } from './kit.ts'

const HTTPS = {
  portal: { url: 'https://play.example.org' },
  studio: { url: 'https://play.example.org' },
  games: { domain: 'games-example.net' },
}

async function withGame(t: Test, options: PlatformOptions = {}) {
  const platform = await startPlatform(t, options)
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const player = await platform.signUp({ name: 'Ada' })
  const host = platform.gameHost(game.slug)
  return { platform, owner, game, player, host, frame: () => new Frame(platform.stranger, host, platform.portal) }
}

/** Sends the requests of a browser from the frame of a game. */
class Frame {
  readonly #client: Client
  readonly #host: string
  readonly #portal: string

  constructor(client: Client, host: string, portal: string) {
    this.#client = client
    this.#host = host
    this.#portal = portal
  }

  /** Posts the play page's form into the frame. */
  post(ticket: string, headers: Record<string, string | undefined> = {}, query = '?returnTo=/level') {
    const sent = {
      origin: this.#portal,
      accept: 'text/html',
      cookie: '',
      'sec-fetch-dest': 'iframe',
      'sec-fetch-site': 'cross-site',
      ...headers,
    }
    return this.#client.submit(`/auth/service/embed${query}`, { ticket }, { host: this.#host, headers: sent })
  }

  /** Exchanges a ticket like the platform's script in the frame. */
  exchange(ticket: string, headers: Record<string, string | undefined> = {}, path = 'frame-token') {
    const origin = `${new URL(this.#portal).protocol}//${this.#host}`
    const sent = { origin, cookie: '', 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin', ...headers }
    return this.#client.post(`/auth/service/${path}`, { ticket }, { host: this.#host, headers: sent })
  }

  async session(headers: Record<string, string>) {
    return (await this.#client.get('/auth/service/session', { host: this.#host, headers: { cookie: '', ...headers } }))
      .body
  }
}

async function ticketFor(player: Client, slug: string, purpose: 'cookie' | 'token' = 'cookie'): Promise<string> {
  const { status, body } = await player.post(`/games/${slug}/play-ticket`, { purpose })
  if (status !== 200) throw new Error(`The ticket was answered with ${status}: ${JSON.stringify(body)}`)
  return body.ticket
}

const cookieIn = (headers: Record<string, unknown>): string =>
  ([headers['set-cookie'] ?? []].flat() as string[]).find((cookie) =>
    /^(__Host-service_session|gameyard_game_\d+)=[^;]/.test(cookie),
  ) ?? ''

const SIGNED_OUT = { signedIn: false }

t.test('a ticket posted into the frame signs the player in', async (t) => {
  const { platform, game, player, frame, host } = await withGame(t)
  const asked = await player.post(`/games/${game.slug}/play-ticket`, { purpose: 'cookie' })
  t.match(asked, {
    status: 200,
    headers: { 'cache-control': 'no-store' },
    body: { ticket: /^[\w-]{43}$/, action: `http://${host}/auth/service/embed` },
  })
  const answer = await frame().post(asked.body.ticket)
  t.match(answer, {
    status: 303,
    headers: {
      location: '/level',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'cross-origin',
      'content-security-policy': `frame-ancestors ${platform.portal}`,
    },
  })
  const cookie = cookieIn(answer.headers)
  t.match(cookie, /; HttpOnly; SameSite=None; Secure; Partitioned$/)
  t.match(await frame().session({ cookie: cookie.split(';')[0] as string }), { signedIn: true, user: { name: 'Ada' } })
  const known = await platform.stranger.get('/auth/service/session', {
    host,
    headers: { cookie: cookie.split(';')[0] as string },
  })
  t.equal(known.headers['service-frame-session'], '1', 'as the player of the page around')
  t.match(await frame().post(await ticketFor(player, game.slug), {}, '?returnTo=//evil.example'), {
    status: 303,
    headers: { location: /^\/$/ },
  })
})

t.test('a frame that keeps no cookie gets a token, good for whatever the cookie is good for', async (t) => {
  const { platform, game, player, frame, host } = await withGame(t)
  const answer = await frame().exchange(await ticketFor(player, game.slug, 'token'))
  t.match(answer, { status: 200, headers: { 'cache-control': 'no-store' } })
  const { token, expiresAt } = answer.body
  t.equal(new Date(expiresAt).getTime() - platform.clock.now().getTime(), 12 * 3600_000)
  const authorization = `Service ${token}`
  t.match(await frame().session({ authorization }), { signedIn: true, user: { name: 'Ada' } })
  const room = (headers: Record<string, string>) =>
    platform.stranger.get('/mp/rooms/lobby', { host, headers: { cookie: '', ...headers } })
  t.equal((await room({})).status, 401)
  t.equal((await room({ authorization })).status, 426, 'let in, had it been a socket')

  t.strictSame(await frame().session({ authorization: `Bearer ${token}` }), SIGNED_OUT)
  t.strictSame(await frame().session({ cookie: `gameyard_game_8080=${token}` }), SIGNED_OUT, 'a token is no cookie')
  const cookie = /=([^;]+)/.exec(cookieIn(answer.headers))?.[1]
  t.match(await frame().session({ cookie: `gameyard_game_8080=${cookie}` }), { signedIn: true })
  t.strictSame(await frame().session({ authorization: `Service ${cookie}` }), SIGNED_OUT, 'nor the other way about')
  platform.clock.advance(12 * 3600_000)
  t.strictSame(await frame().session({ authorization }), SIGNED_OUT)
})

t.test('a ticket is good once, for a minute, at one game, for one purpose', async (t) => {
  const { platform, owner, game, player, frame } = await withGame(t)
  const signsIn = async (ticket: string, where = frame()) => cookieIn((await where.post(ticket)).headers) !== ''
  const used = await ticketFor(player, game.slug)
  const attempts = await Promise.all(Array.from({ length: 20 }, () => signsIn(used)))
  t.equal(attempts.filter(Boolean).length, 1, 'of twenty at once one is let in')
  t.notOk(await signsIn(used), 'replayed')

  const other = await platform.game(owner, { title: 'Other' })
  const elsewhere = new Frame(platform.stranger, platform.gameHost(other.slug), platform.portal)
  const ticket = await ticketFor(player, game.slug)
  t.notOk(await signsIn(ticket, elsewhere), 'at another game')
  t.equal((await frame().exchange(ticket)).status, 400, 'as what it is not')
  t.ok(await signsIn(ticket), 'which did not use it up')

  const late = await ticketFor(player, game.slug)
  platform.clock.advance(61_000)
  t.notOk(await signsIn(late), 'after a minute')
  for (const made of ['', 'x', 'A'.repeat(43), '../etc', 'é'.repeat(43)]) t.notOk(await signsIn(made), made)
})

t.test('a ticket is worth what the player is worth by then', async (t) => {
  const { platform, owner, game, frame } = await withGame(t)
  const after = async (what: string, change: (player: PlayerClient) => Promise<unknown>) => {
    const player = await platform.signUp()
    const tickets = [await ticketFor(player, game.slug), await ticketFor(player, game.slug, 'token')] as const
    await change(player)
    t.equal(cookieIn((await frame().post(tickets[0])).headers), '', what)
    t.equal((await frame().exchange(tickets[1])).status, 400, what)
  }
  await after('signed out of the portal', (player) => player.post('/api/auth/sign-out'))
  await after('disabled', (player) => platform.app.identity.administration.setDisabled(player.id, true))
  await after('disconnected', (player) => platform.app.identity.consents.revoke(player.id, game.clientId))
  const program = await platform.program(owner)
  await after('private since', () => program.patch(`/api/games/${game.id}`, { visibility: 'private' }))
  await program.patch(`/api/games/${game.id}`, { visibility: 'public' })
  const app = await platform.app.identity.apps.find(game.clientId)
  await after('without its application', () => platform.app.identity.apps.delete(owner.id, app?.id as string))
})

t.test('a session in a frame ends with all that it rests on', async (t) => {
  const { platform, owner, game, frame } = await withGame(t)
  const after = async (what: string, change: (player: PlayerClient) => Promise<unknown>) => {
    const player = await platform.signUp()
    const cookie = cookieIn((await frame().post(await ticketFor(player, game.slug))).headers).split(';')[0] as string
    const { body } = await frame().exchange(await ticketFor(player, game.slug, 'token'))
    const credentials = [{ cookie }, { authorization: `Service ${body.token}` }]
    for (const one of credentials) t.match(await frame().session(one), { signedIn: true }, `before it is ${what}`)
    await change(player)
    for (const one of credentials) t.strictSame(await frame().session(one), SIGNED_OUT, what)
  }
  const { identity } = platform.app
  await after('signed out of the portal', (player) => player.post('/api/auth/sign-out'))
  await after('given a new password', (player) =>
    identity.passwords.reset(player.account.email, 'another yard battery fence'),
  )
  await after('disabled', (player) => identity.administration.setDisabled(player.id, true))
  await after('disconnected', (player) => identity.consents.revoke(player.id, game.clientId))
  const app = await identity.apps.find(game.clientId)
  await after('without an application', () => identity.apps.delete(owner.id, app?.id as string))
})

t.test('nobody but the play page signs a frame in', async (t) => {
  for (const config of [undefined, HTTPS]) {
    const { platform, owner, game, player, frame } = await withGame(t, config ? { config } : {})
    const sibling = await platform.game(owner, { title: 'Sibling' })
    const foreign: Record<string, Record<string, string | undefined>> = {
      'a page of somebody else': { origin: 'https://evil.example' },
      'a sibling game': { origin: platform.app.origins.game(sibling.slug) },
      'the game itself': { origin: platform.app.origins.game(game.slug) },
      'a sandboxed page': { origin: 'null' },
      'who says no origin': { origin: undefined },
      'the top of a window': { 'sec-fetch-dest': 'document' },
      'a script': { 'sec-fetch-dest': 'empty' },
      'a browser that says not where it goes': { 'sec-fetch-dest': undefined },
      'a plug-in': { 'sec-fetch-dest': 'object' },
    }
    for (const [what, headers] of Object.entries(foreign)) {
      // The attacker's own ticket is otherwise valid: a victim would play as the attacker.
      const answer = await frame().post(await ticketFor(player, game.slug), headers)
      t.match(answer, { status: 303, headers: { location: /^\/level$/ } }, what)
      t.equal(cookieIn(answer.headers), '', what)
    }
    const outside: Record<string, Record<string, string | undefined>> = {
      'the portal': { origin: platform.portal },
      'a page of somebody else': { origin: 'https://evil.example' },
      'who says no origin': { origin: undefined },
      'a form': { 'sec-fetch-dest': 'document' },
      'a form in a frame': { 'sec-fetch-dest': 'iframe' },
    }
    for (const [what, headers] of Object.entries(outside)) {
      const answer = await frame().exchange(await ticketFor(player, game.slug, 'token'), headers)
      t.equal(answer.body?.token, undefined, `no token for ${what}`)
      t.equal(cookieIn(answer.headers), '', what)
    }
  }
})

t.test('on a plain LAN, where browsers do not say what is framed, the portal is known by its origin', async (t) => {
  const config = {
    portal: { url: 'http://192.168.7.9:8080' },
    studio: { url: 'http://192.168.7.9:8080' },
    games: { domain: '192.168.7.9', origins: 'port' },
    lan: { enabled: true },
  }
  const { platform, owner, game, player, host, frame } = await withGame(t, { config })
  const silent = { 'sec-fetch-dest': undefined, 'sec-fetch-site': undefined }
  const answer = await frame().post(await ticketFor(player, game.slug), silent)
  const cookies = [answer.headers['set-cookie']].flat() as unknown as string[]
  t.match(
    cookies.find((cookie) => cookie.startsWith('gameyard_game_')),
    /; HttpOnly; SameSite=Lax$/,
  )
  const foreign = await frame().post(await ticketFor(player, game.slug), {
    ...silent,
    origin: 'http://192.168.7.9:8081',
  })
  t.equal(foreign.headers['set-cookie'], undefined, 'of another game on the same machine')

  await deploy(platform, await platform.program(owner), game.id, { 'index.html': '<!doctype html><title>Game</title>' })
  const headers = { accept: 'text/html' }
  const document = await platform.stranger.get('/', { host, headers })
  t.match(document.text, /frame-session/, 'documents carry the script, which does nothing at top level')
  const out = await platform.stranger.get('/auth/service/logout?returnTo=/bye', { host, headers })
  t.match(out, { status: 200, text: /data-step="signed-out" data-return-to="\/bye"/ }, 'and the way out tells the page')
})

t.test('tickets are for whoever is signed in, and may see the game', async (t) => {
  const { platform, owner, game, player } = await withGame(t)
  const ask = (client: Client, options = {}) =>
    client.post(`/games/${game.slug}/play-ticket`, { purpose: 'cookie' }, options)
  t.equal((await ask(platform.stranger)).status, 401)
  t.equal((await ask(await platform.program(player))).status, 403, 'an API token is no browser')
  t.equal((await ask(player, { headers: { origin: 'https://evil.example' } })).status, 403, 'from another site')
  t.equal((await player.post('/games/nothing/play-ticket', { purpose: 'cookie' })).status, 404)
  t.equal((await player.post(`/games/${game.slug}/play-ticket`, { purpose: 'all' })).status, 400)
  const program = await platform.program(owner)
  await program.patch(`/api/games/${game.id}`, { visibility: 'private' })
  t.equal((await ask(player)).status, 404, 'a private game')
  t.equal((await ask(owner)).status, 200, 'but for its owner')
})

t.test('a game that has to ask for consent first gets no ticket', async (t) => {
  const { game, player } = await withGame(t, { config: { oauth: { skipConsentForHostedGames: false } } })
  t.equal(await ticketFor(player, game.slug), null)
})

t.test('what is wrong in a frame ends at the game, and at top level on a page', async (t) => {
  const { platform, game, player, frame, host } = await withGame(t)
  const get = (path: string, headers: Record<string, string>) => platform.stranger.get(path, { host, headers })
  const inFrame = { 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'cross-site', accept: 'text/html' }
  const atTop = { 'sec-fetch-dest': 'document', accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

  const callback = '/auth/service/callback?code=x&state=y'
  t.match(await get(callback, inFrame), { status: 303, headers: { location: /^\/$/ } })
  const page = await get(callback, atTop)
  t.match(page, { status: 400, headers: { 'content-type': /html/, 'cache-control': 'no-store' } })
  t.match(page.text, /began in another browser/)
  t.match(page.text, /href="\/auth\/service\/start/)
  t.match(await get(callback, { accept: '*/*' }), { status: 400, body: { error: { code: 'sign_in_failed' } } })

  for (const body of ['ticket=a&ticket=b', 'nothing', '', `ticket=${'a'.repeat(5000)}`, '{"ticket":1}']) {
    const headers = { ...inFrame, origin: platform.portal, 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await platform.stranger.request('POST', '/auth/service/embed?returnTo=/x', body, { host, headers })
    t.match(answer, { status: 303, headers: { location: /^\/x$/ } }, body.slice(0, 20))
  }
  t.match(await get('/auth/service/start', inFrame), { status: 302 }, 'nothing of the portal shows in a frame')
  const started = new URL((await get('/auth/service/start', inFrame)).headers.location as string)
  t.equal(started.searchParams.get('prompt'), 'none')

  const framed = await player.get('/auth/service/logout?returnTo=/bye', { host, headers: inFrame })
  t.match(framed, { status: 200, headers: { 'content-type': /html/, 'cross-origin-embedder-policy': 'require-corp' } })
  t.match(framed.text, /data-step="signed-out" data-return-to="\/bye"/)
  t.match(await frame().exchange('x'.repeat(43)), { status: 400, body: { error: { code: 'sign_in_failed' } } })
  t.equal(
    (await platform.stranger.get('/auth/service/session', { host: platform.gameHost(game.slug), headers: inFrame }))
      .status,
    200,
  )
})

t.test('a window hands a frame what its player signed in as, by a ticket of its own choice', async (t) => {
  const { platform, player, host, frame } = await withGame(t)
  const ticket = 'h'.repeat(43)
  t.equal((await frame().exchange(ticket)).status, 400, 'nothing is good about it before')
  const handOver = (client: Client, headers: Record<string, string | undefined> = {}) =>
    client.post('/auth/service/hand-over', { ticket }, { host, headers: { 'sec-fetch-dest': 'empty', ...headers } })
  t.equal((await handOver(platform.stranger)).status, 401, 'nobody is signed in there')

  const follow = async (start: string) => {
    const started = await player.get(start, { host })
    const authorized = await player.get(pathOf(started.headers.location))
    return player.get(pathOf(authorized.headers.location), { host })
  }
  t.match(await follow('/auth/service/start?window=1'), { headers: { location: /^\/auth\/service\/window$/ } })
  t.match(await follow('/auth/service/start?returnTo=/auth/service/window'), { headers: { location: /^\/$/ } })
  t.match((await player.get('/auth/service/window', { host })).text, /data-step="window"/)
  t.equal((await handOver(player, { origin: 'https://evil.example' })).status, 403, 'a page of somebody else')
  t.equal((await handOver(player, { 'sec-fetch-dest': 'document' })).status, 403, 'a form')
  t.equal((await handOver(player)).status, 204)
  const stranger = await platform.signUp()
  const started = await stranger.get('/auth/service/start', { host })
  const authorized = await stranger.get(pathOf(started.headers.location))
  await stranger.get(pathOf(authorized.headers.location), { host })
  t.equal((await handOver(stranger)).status, 204)
  const { body } = await frame().exchange(ticket)
  t.match(
    await frame().session({ authorization: `Service ${body.token}` }),
    { user: { name: 'Ada' } },
    'of who came first',
  )
  t.equal((await frame().exchange(ticket)).status, 400, 'once')
})

t.test('a preview that somebody frames is signed in to by a window, too', async (t) => {
  const { platform, owner, game, player } = await withGame(t)
  const program = await platform.program(owner)
  const deployId = await deploy(platform, program, game.id, { 'index.html': '<!doctype html>' })
  const host = new URL((await program.get(`/api/deploy/${deployId}`)).body.previewUrl).host
  const ticket = 'p'.repeat(43)
  t.match((await player.get('/auth/service/window', { host })).text, /data-step="window"/)
  const started = await player.get('/auth/service/start?window=1', { host })
  const authorized = await player.get(pathOf(started.headers.location))
  const back = await player.get(pathOf(authorized.headers.location), { host })
  t.match(back, { status: 302, headers: { location: /^\/auth\/service\/window$/ } })
  const headers = { 'sec-fetch-dest': 'empty' }
  t.equal((await player.post('/auth/service/hand-over', { ticket }, { host, headers })).status, 204)
  const elsewhere = new Frame(platform.stranger, platform.gameHost(game.slug), platform.portal)
  t.equal((await elsewhere.exchange(ticket)).status, 400, 'good at no other address')
  const preview = new Frame(platform.stranger, host, platform.portal)
  const { body } = await preview.exchange(ticket)
  t.match(await preview.session({ authorization: `Service ${body.token}` }), { user: { name: 'Ada' } })
  await program.patch(`/api/games/${game.id}`, { visibility: 'private' })
  t.equal((await player.get('/auth/service/window', { host })).status, 404, 'not there for everyone any more')
})

t.test('documents of frames carry the script before all others, whether the widget is on or off', async (t) => {
  const { platform, owner, game, host } = await withGame(t)
  const program = await platform.program(owner)
  const html = '<!doctype html><html><head data-a=">"><script>one</script></head><body></body></html>'
  await deploy(platform, program, game.id, { 'index.html': html, 'a.json': '{}' })
  const get = (path: string, destination: string) =>
    platform.stranger.get(path, { host, headers: { 'sec-fetch-dest': destination, accept: 'text/html' } })
  const tag = /<script src="\/__service\/frame-session\.\w{8}\.js" data-portal="http:\/\/localhost:8080"><\/script>/
  for (const authWidget of ['on', 'off']) {
    await program.patch(`/api/games/${game.id}`, { settings: { authWidget } })
    for (const time of ['first', 'again']) {
      const framed = await get('/', 'iframe')
      t.match(framed.text, new RegExp(`<head data-a=">">${tag.source}<script>one`), `${authWidget}, ${time}`)
      t.match(framed.headers.vary, /sec-fetch-dest/)
      t.match((await get('/', 'empty')).text, tag, 'also for the service worker of a game, which may stand before it')
      const top = await get('/', 'document')
      t.notMatch(top.text, tag, 'not at top level')
      t.match(top.headers.vary, /sec-fetch-dest/)
      t.not(top.headers.etag, framed.headers.etag)
      t.equal(/auth-widget/.test(framed.text), authWidget === 'on')
      t.equal((await get('/a.json', 'iframe')).text, '{}')
    }
  }
  const [, script] = /src="(\/__service\/frame-session[^"]+)"/.exec((await get('/', 'iframe')).text) ?? []
  t.match(await platform.stranger.get(script as string, { host }), {
    status: 200,
    headers: { 'cache-control': /immutable/, 'cross-origin-resource-policy': 'cross-origin' },
  })
})

t.test('neither tickets nor tokens are in the log, in an address, or in the database', async (t) => {
  let written = ''
  const write = (line: string) => {
    written += line
  }
  const log = createLog('trace', { write })
  const { platform, game, player, frame, host } = await withGame(t, { log })
  const secrets: string[] = []
  const cookieTicket = await ticketFor(player, game.slug)
  const tokenTicket = await ticketFor(player, game.slug, 'token')
  const unused = await ticketFor(player, game.slug)
  const posted = await frame().post(cookieTicket)
  const { body } = await frame().exchange(tokenTicket)
  await frame().exchange(tokenTicket)
  await frame().post(cookieTicket, { origin: 'https://evil.example' })
  await frame().session({ authorization: `Service ${body.token}` })
  await platform.stranger.get('/mp/rooms/a', {
    host,
    headers: {
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-protocol': `service, service.token.${body.token}`,
    },
  })
  secrets.push(cookieTicket, tokenTicket, unused, body.token)
  t.match(written, '/auth/service/embed')
  const rows = JSON.stringify(await platform.app.db.query('select * from frame_tickets'))
  for (const secret of secrets) {
    t.notMatch(written, secret)
    t.notMatch(rows, secret)
    t.notMatch(posted.headers.location, secret)
  }
  t.match(rows, /"purpose":"cookie"/, 'the unused one is there, as a hash')
  platform.clock.advance(61_000)
  await platform.app.edge.embedded.tickets.sweep()
  t.strictSame(await platform.app.db.query('select * from frame_tickets'), [], 'until it is swept')
})

const pathOf = (url: string | undefined) => {
  const { pathname, search } = new URL(url as string)
  return pathname + search
}
