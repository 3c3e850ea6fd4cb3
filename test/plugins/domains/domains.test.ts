import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { newId } from '../../../core/ids.ts'
import { GameDomain } from '../../../plugins/domains/entities.ts'
import { type Dns, publish, startDns } from '../../kit/dns.ts'
import { inFull } from '../../kit/extent.ts'
import { type Client, type PlatformOptions, startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { startSmtp } from '../../kit/smtp.ts'
import { until } from '../../kit/until.ts'
import { deploy } from '../game-edge/kit.ts'

const DAY_MS = 86_400_000

async function start(t: Test, dns: Dns, options: PlatformOptions = {}) {
  const { config, ...rest } = options
  return startPlatform(t, {
    ...rest,
    config: {
      portal: { url: 'https://yard-portal.org' },
      games: { domain: 'yard-games.net' },
      ...config,
      plugins: { domains: { resolvers: [dns.address] } },
    },
  })
}

const never = new AbortController().signal
const pathOf = (url: string | undefined) => {
  const { pathname, search } = new URL(url as string)
  return pathname + search
}

/** Signs a player of the portal in to a game at one of its hosts. @returns the redirect target of the last response */
async function signIn(player: Client, host: string): Promise<string | undefined> {
  const started = await player.get('/auth/service/start?returnTo=/level', { host })
  const authorized = await player.get(pathOf(started.headers.location))
  const back = new URL(authorized.headers.location as string)
  return (await player.get(pathOf(back.href), { host: back.host })).headers.location
}

t.test('a game is served at a domain once its proof is in the DNS', async (t) => {
  const dns = await startDns(t)
  const platform = await start(t, dns, { listen: true })
  const { app, stranger } = platform
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const game = await platform.game(owner, { title: 'Pong' })
  await deploy(platform, program, game.id, { 'index.html': '<h1>Pong</h1>', 'deep/map.json': '{}' })
  const domains = `/api/games/${game.id}/domains`
  const host = 'play.example.com'
  const visit = (path = '/', at = host) => stranger.get(path, { host: at, headers: { accept: 'text/html' } })
  const certificate = async () => (await stranger.get(`/__service/tls?domain=${host}`, { host: '127.0.0.1' })).status

  const added = await program.post(domains, { name: 'Play.Example.COM.' })
  t.match(added, {
    status: 201,
    body: { name: host, url: `https://${host}`, state: 'pending', primary: false, proof: null, address: null },
  })
  t.match(added.body.records, [
    { type: 'TXT', name: `_gameyard.${host}`, value: /^gameyard-verification=[\w-]{32}$/ },
    { type: 'CNAME', name: host, value: 'pong.yard-games.net' },
  ])
  t.match(await program.post(domains, { name: host }), { status: 409, body: { error: { code: 'domain_exists' } } })

  dns.set('CNAME', host, 'pong.yard-games.net')
  t.match((await program.post(`${domains}/${host}/verify`)).body, {
    state: 'pending',
    proof: 'missing',
    address: 'here',
  })
  dns.set('TXT', `_gameyard.${host}`, 'gameyard-verification=of-somebody-else')
  t.match((await program.post(`${domains}/${host}/verify`)).body, { state: 'pending', proof: 'wrong' })
  t.equal((await visit()).status, 421, 'a name that is not proved is nobody’s')
  t.equal(await certificate(), 404, 'and gets no certificate')
  t.match(await program.patch(`${domains}/${host}`, { primary: true }), {
    status: 409,
    body: { error: { code: 'domain_not_verified' } },
  })

  publish(dns, added.body.records)
  t.match((await program.post(`${domains}/${host}/verify`)).body, {
    state: 'verified',
    proof: 'found',
    address: 'here',
    verifiedAt: /^2026/,
    offAt: null,
  })
  t.match(await visit(), { status: 200, text: /<h1>Pong<\/h1>/ })
  t.match(await visit('/deep/map.json'), { status: 200, text: '{}' })
  t.equal((await visit('/', 'PLAY.example.com')).status, 200, 'names know no case')
  t.equal(await certificate(), 200)
  for (const other of ['example.com', 'a.play.example.com', 'play.example.com:8443', 'xplay.example.com'])
    t.equal((await visit('/', other)).status, 421, other)
  t.equal((await visit('/', 'play.example.com.')).status, 200, 'the dot of the root makes no other site')

  t.test('sign-in, rooms and scripts are the domain’s own', async (t) => {
    const player = await platform.signUp({ name: 'Ada' })
    t.equal(await signIn(player, host), '/level')
    t.match((await player.get('/auth/service/session', { host })).body, { signedIn: true, user: { name: 'Ada' } })
    const slugHost = platform.gameHost('pong')
    t.match((await player.get('/auth/service/session', { host: slugHost })).body, { signedIn: false })
    const [cookie] = [...player.cookiesOf(host)].filter(([name]) => name === '__Host-service_session')
    player.cookiesOf(slugHost).set('__Host-service_session', cookie?.[1] as string)
    t.match(
      (await player.get('/auth/service/session', { host: slugHost })).body,
      { signedIn: false },
      'not even copied',
    )
    t.match((await player.get('/mp', { host })).body, { rooms: `wss://${host}/mp/rooms/{roomId}` })
    const session = `__Host-service_session=${player.cookiesOf(host).get('__Host-service_session')}`
    const enter = async (origin: string) => {
      const { port } = app.server.address() as AddressInfo
      const socket = new WebSocket(`ws://127.0.0.1:${port}/mp/rooms/lobby`, {
        origin,
        headers: { host, cookie: session },
      })
      socket.on('error', () => {})
      const status = await Promise.race([
        once(socket, 'open').then(() => 101),
        once(socket, 'unexpected-response').then(([, response]) => response.statusCode as number),
      ])
      socket.terminate()
      return status
    }
    t.equal(await enter(`https://${host}`), 101)
    for (const origin of [`https://${slugHost}`, 'https://evil.example', `http://${host}`])
      t.equal(await enter(origin), 403, `a socket of ${origin}`)
    t.equal((await player.get('/__service/auth-widget.js', { host })).status, 200)
    t.equal((await player.get('/__service/nothing', { host })).status, 404)
    const { body } = await program.get('/api/oauth/apps')
    t.same(body.apps[0].redirectUris, [
      'https://pong.yard-games.net/auth/service/callback',
      `https://${host}/auth/service/callback`,
    ])
  })

  t.test('a domain that is not proved may be signed in to, but not without the question', async (t) => {
    const player = await platform.signUp()
    const [{ id, redirectUris, clientId }] = (await program.get('/api/oauth/apps')).body.apps
    const foreign = 'https://play.example.net/auth/service/callback'
    await program.patch(`/api/oauth/apps/${id}`, { redirectUris: [...redirectUris, foreign] })
    const ask = (redirect_uri: string) => {
      const query = new URLSearchParams({ response_type: 'code', client_id: clientId, redirect_uri, scope: 'profile' })
      return player.get(`/oauth/authorize?${query}`)
    }
    for (const own of redirectUris) t.equal((await ask(own)).status, 303, own)
    t.match(await ask(foreign), { status: 200, text: /play\.example\.net.*Allow/s })
    await program.patch(`/api/oauth/apps/${id}`, { redirectUris })
  })

  t.test('other addresses lead there only when the owner wishes', async (t) => {
    const slugHost = 'pong.yard-games.net'
    t.equal((await visit('/', slugHost)).status, 200)
    t.match((await program.patch(`${domains}/${host}`, { primary: true })).body, { primary: true, state: 'verified' })
    t.match(await visit('/deep/map.json?v=1', slugHost), {
      status: 302,
      headers: { location: `https://${host}/deep/map.json?v=1`, 'cache-control': 'no-store' },
    })
    t.equal((await visit()).status, 200, 'and no further')
    t.match((await program.get(`/api/games/${game.id}`)).body, { url: `https://${host}` })
    const page = await owner.get('/games/pong')
    t.match(page.text, new RegExp(`<iframe src="https://${host}/auth/service/start`))
    t.match(page.headers['content-security-policy'], new RegExp(`frame-src [^;]*https://${host}`))
    t.equal(await signIn(await platform.signUp(), host), '/level')
    const started = await platform.stranger.get('/auth/service/start?embed=1', { host: slugHost })
    t.equal(started.headers.location, `https://${host}/auth/service/start?embed=1`)

    t.match((await program.patch(`/api/games/${game.id}`, { slug: 'ping' })).body, {
      slug: 'ping',
      url: `https://${host}`,
    })
    t.equal((await visit()).status, 200, 'also when the game has moved')
    const { apps } = (await program.get('/api/oauth/apps')).body
    t.same(
      apps[0].redirectUris,
      ['https://ping', 'https://play.example.com'].map(
        (start) => `${start === 'https://ping' ? 'https://ping.yard-games.net' : start}/auth/service/callback`,
      ),
    )
    t.match((await visit('/', slugHost)).headers.location, `https://${host}/`, 'as does the address it had')
    t.match((await program.patch(`${domains}/${host}`, { primary: false })).body, { primary: false })
    t.equal((await visit('/', 'ping.yard-games.net')).status, 200)
  })

  t.test('a domain given up is nobody’s at once', async (t) => {
    const removed = await program.delete(`${domains}/${host}`)
    t.equal(removed.status, 204)
    t.equal((await visit()).status, 421)
    t.equal(await certificate(), 404)
    t.match((await program.get(domains)).body, { domains: [], nextCursor: null })
    const { apps } = (await program.get('/api/oauth/apps')).body
    t.same(apps[0].redirectUris, ['https://ping.yard-games.net/auth/service/callback'])
    t.equal((await program.delete(`${domains}/${host}`)).status, 404)
  })
  t.ok(app.domains.possible)
})

t.test('names that could take something over are refused', async (t) => {
  const dns = await startDns(t)
  const platform = await start(t, dns, { config: { studio: { url: 'https://studio.yard-portal.org' } } })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const other = await platform.game(await platform.signUp(), { title: 'Other' })
  const program = await platform.program(owner)
  const add = (name: string, id = game.id) => program.post(`/api/games/${id}/domains`, { name })

  const malformed = [
    '*.example.com',
    'https://play.example.com',
    'play.example.com:8443',
    'play.example.com/',
    'localhost0',
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '::1',
    '[::1]',
    'a..example.com',
    '-a.example.com',
    'a_b.example.com',
    '.',
    '..',
    ' ',
    'play.example.com..',
    'a@example.com',
    'play example.com',
    '%61.example.com',
    `${'a'.repeat(64)}.example.com`,
    `${'a.'.repeat(130)}com`,
    'example.123',
  ] // prettier-ignore
  for (const name of malformed) {
    const { status, body } = await add(name)
    t.match({ name, status, code: body.error.code }, { name, status: 400, code: 'invalid_request' })
  }
  const reserved = [
    'yard-portal.org',
    'YARD-portal.org',
    'studio.yard-portal.org',
    'evil.yard-portal.org',
    'yard-games.net',
    'pong.yard-games.net',
    'new.yard-games.net',
    'pong.yard-games.net.',
    'ｙａｒｄ-games.net',
    'a.b.yard-games.net',
    'co.uk',
    'github.io',
    'game.localhost',
    'game.local',
    'game.onion',
  ] // prettier-ignore
  for (const name of reserved) {
    const { status, body } = await add(name)
    t.match({ name, status, code: body.error.code }, { name, status: 409, code: 'domain_reserved' })
  }
  t.equal((await add('play.example.com', other.id)).status, 404, 'another’s game')
  t.equal((await platform.stranger.post(`/api/games/${game.id}/domains`, { name: 'a.example.com' })).status, 401)

  t.match(
    (await add('Bücher.Example.com')).body,
    { name: 'xn--bcher-kva.example.com' },
    'letters of the world as ASCII',
  )
  t.equal((await add('xn--bcher-kva.example.com')).status, 409, 'which is the same name')
  t.match((await add('example.co.uk')).body.records[1], { type: 'ALIAS', name: 'example.co.uk' })
  t.equal((await add('a.example.com')).status, 201)
  t.equal((await add('b.example.com')).status, 201)
  t.equal((await add('c.example.com')).status, 201)
  t.match((await add('d.example.com')).body, { error: { code: 'too_many_domains' } })
  t.match((await program.get(`/api/games/${game.id}/domains`)).body.domains.length, 5)

  const elsewhere = await platform.game(owner, { title: 'Away', url: 'https://away.example.com' })
  t.match((await add('d.example.com', elsewhere.id)).body, { error: { code: 'game_elsewhere' } })
})

t.test('of two games that want one domain, the DNS says whose it is', async (t) => {
  const dns = await startDns(t)
  const smtp = await startSmtp(t)
  const platform = await start(t, dns, {
    config: { mail: { driver: 'smtp', url: smtp.url, from: 'yard@example.org' } },
  })
  const people = await Promise.all([1, 2].map(() => platform.signUp()))
  const makers = await Promise.all(
    people.map(async (owner, index) => {
      const program = await platform.program(owner)
      const game = await platform.game(owner, { title: `Game ${index}` })
      await deploy(platform, program, game.id, { 'index.html': `game ${index}` })
      const path = `/api/games/${game.id}/domains`
      const { records } = (await program.post(path, { name: 'play.example.com' })).body
      const value = records[0].value as string
      const verify = () => program.post(`${path}/play.example.com/verify`)
      return { program, value, verify, list: async () => (await program.get(path)).body.domains[0] }
    }),
  )
  const [first, second] = makers as [(typeof makers)[0], (typeof makers)[0]]
  const served = async () => (await platform.stranger.get('/', { host: 'play.example.com' })).text
  const proof = '_gameyard.play.example.com'

  dns.set('TXT', proof, first.value, second.value)
  const answers = await Promise.all([...Array(3)].flatMap(() => [first.verify(), second.verify()]))
  const states = answers.map(({ status }) => status)
  t.ok(
    states.every((status) => status === 200 || status === 409),
    String(states),
  )
  const lists = await Promise.all(makers.map((maker) => maker.list()))
  t.same(lists.map(({ state }) => state).sort(), ['pending', 'verified'], 'one has it')
  const [winner, loser] = lists[0].state === 'verified' ? [first, second] : [second, first]
  t.match(await loser.verify(), { status: 409, body: { error: { code: 'domain_taken' } } })
  t.match(await loser.list(), { state: 'pending', proof: 'taken' })
  const winnersPage = await served()

  dns.set('TXT', proof, loser.value)
  dns.break(true)
  t.match((await loser.verify()).body, { state: 'pending', proof: 'unreachable' }, 'silence moves nothing')
  t.equal(await served(), winnersPage)
  dns.break(false)
  t.match((await loser.verify()).body, { state: 'verified' }, 'whose holder can’t prove it any more, it is taken from')
  t.match(await winner.list(), { state: 'pending', verifiedAt: null })
  t.not(await served(), winnersPage)
  t.equal((await winner.verify()).body.state, 'pending', 'and not given back for the asking')
  await until(() => smtp.inbox.length > 0)
  t.match(smtp.inbox[0]?.subject, 'play.example.com no longer leads to Game', 'its owner is told')
})

t.test('a proof that goes away is missed: some days of grace, then off, each with a note to the owner', async (t) => {
  const dns = await startDns(t)
  const smtp = await startSmtp(t)
  const platform = await start(t, dns, {
    config: { mail: { driver: 'smtp', url: smtp.url, from: 'yard@example.org' } },
  })
  const { app, clock } = platform
  const owner = await platform.signUp({ email: 'maker@example.org' })
  const program = await platform.program(owner)
  const game = await platform.game(owner, { title: 'Pong' })
  await deploy(platform, program, game.id, { 'index.html': 'pong' })
  const path = `/api/games/${game.id}/domains`
  const { body } = await program.post(path, { name: 'play.example.com' })
  publish(dns, body.records)
  const domain = async () => (await program.get(path)).body.domains[0]
  const status = async () => (await platform.stranger.get('/', { host: 'play.example.com' })).status
  /** Waits for a mail. It may arrive twice, because a jump of the clock expires the leases of jobs. */
  const mailWith = async (subject: string) => {
    await until(() => smtp.inbox.some((sent) => sent.subject === `${subject} · Gameyard`))
    smtp.inbox.length = 0
    return subject
  }
  const pass = async (ms: number) => {
    clock.advance(ms)
    await app.domains.checks.run(never)
  }

  await pass(0)
  t.match(await domain(), { state: 'verified', proof: 'found' }, 'found without being asked')
  t.equal(await status(), 200)
  t.ok(await mailWith('play.example.com leads to Pong now'))

  dns.break(true)
  await pass(2 * DAY_MS)
  t.match(await domain(), { state: 'verified', proof: 'unreachable', offAt: null }, 'silence is no answer')
  dns.break(false)
  dns.remove('TXT', '_gameyard.play.example.com')
  await pass(2 * DAY_MS)
  t.match(await domain(), { state: 'failing', proof: 'missing' })
  t.equal(new Date((await domain()).offAt).getTime(), clock.now().getTime() + 7 * DAY_MS)
  t.equal(await status(), 200, 'it stays for now')
  await pass(DAY_MS)
  t.ok(await mailWith('play.example.com is about to stop leading to Pong'))

  publish(dns, body.records)
  await pass(DAY_MS)
  t.match(await domain(), { state: 'verified', offAt: null }, 'put back, and all is as before')
  dns.remove('TXT', '_gameyard.play.example.com')
  await program.patch(`${path}/play.example.com`, { primary: true })
  await pass(DAY_MS)
  await pass(8 * DAY_MS)
  t.match(await domain(), { state: 'pending', primary: false, verifiedAt: null })
  t.equal(await status(), 421)
  t.equal(
    (await platform.stranger.get('/', { host: platform.gameHost('pong') })).status,
    200,
    'the slug leads nowhere else',
  )
  t.ok(await mailWith('play.example.com no longer leads to Pong'))
  const { text: messages } = await owner.get('/settings/messages')
  t.match(messages, /no longer leads to Pong[\s\S]*stop leading to Pong[\s\S]*play.example.com leads to Pong now/)
  t.match(
    messages,
    new RegExp(`<a href="(${platform.portal}/games/pong/settings/domains)">\\1</a>`),
    'with the way there',
  )

  publish(dns, body.records)
  await pass(DAY_MS)
  t.match(await domain(), { state: 'verified' }, 'and comes back by itself')
  t.equal((await program.delete(`/api/games/${game.id}`)).status, 204)
  t.equal(await status(), 421, 'a deleted game is served nowhere')
  t.equal((await program.post(`/api/games/${game.id}/restore`)).status, 200)
  t.equal(await status(), 200, 'a restored one where it was')

  await program.post(path, { name: 'never.example.com' })
  await pass(31 * DAY_MS)
  t.same(
    (await program.get(path)).body.domains.map(({ name }: { name: string }) => name),
    ['play.example.com'],
    'what nobody proved in thirty days is forgotten',
  ) // prettier-ignore
})

inFull(t)?.test(
  'what one node verifies is served by the others, and two can’t give a domain away twice',
  needsPostgres,
  async (t) => {
    const url = await (await startPostgres()).database()
    const dns = await startDns(t)
    const config = { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' }
    const [here, there] = [await start(t, dns, { config }), await start(t, dns, { config })]
    const owner = await here.signUp()
    const program = await here.program(owner)
    const games = [await here.game(owner, { title: 'One' }), await here.game(owner, { title: 'Two' })]
    const rows = []
    for (const { id } of games) {
      const { records } = (await program.post(`/api/games/${id}/domains`, { name: 'play.example.com' })).body
      rows.push(records[0].value)
    }
    dns.set('TXT', '_gameyard.play.example.com', ...rows)
    const [one, two] = games.map(({ id }) => id)
    await Promise.allSettled([
      here.app.domains.verify(owner.id, one, 'play.example.com'),
      there.app.domains.verify(owner.id, two, 'play.example.com'),
    ])
    const many = Array.from({ length: 8 }, (_, index) => `d${index}.example.com`)
    await Promise.allSettled(many.map((name, index) => [here, there][index % 2]?.app.domains.add(owner.id, one, name)))
    t.equal((await here.app.domains.list(owner.id, one)).length, 5, 'of many at once only so many')
    const states = await Promise.all([one, two].map((id) => here.app.domains.list(owner.id, id)))
    t.same(states.map(([domain]) => domain?.state).sort(), ['pending', 'verified'])
    const winner = games[states[0]?.[0]?.state === 'verified' ? 0 : 1]
    for (const node of [here, there]) {
      const visit = () => node.stranger.get('/auth/service/start', { host: 'play.example.com' })
      // The nodes share no bus, so the other one sees the change when it next polls the tables.
      const answer = await until(async () => {
        const found = await visit()
        return found.status !== 421 && found
      })
      const client = new URL(answer.headers.location as string).searchParams.get('client_id')
      t.equal(client, winner.clientId)
    }
  },
)

t.test('one owner’s many domains do not delay another’s', async (t) => {
  const dns = await startDns(t)
  const platform = await start(t, dns)
  const { app, clock } = platform
  // The background job has its first run at the start, and the next one a minute later by the platform's clock.
  const waiting = "select 1 from background_jobs where name = 'domains/check' and state = 'queued' and due_at > ?"
  await until(async () => (await app.db.query(waiting, [clock.now()])).length === 1)
  const games = await Promise.all([1, 2].map(async () => platform.game(await platform.signUp())))
  const addDue = (gameId: string, name: string, minutes: number) => {
    const [now, nextCheckAt] = [clock.now(), new Date(clock.now().getTime() - minutes * 60_000)]
    const pending = { id: newId('dom', now), token: 'a', isApex: false, isPrimary: false, pendingSince: now }
    return app.db.em().insert(GameDomain, { ...pending, gameId, name, nextCheckAt, createdAt: now, updatedAt: now })
  }
  const [crowd, other] = games as [{ id: string }, { id: string }]
  for (let index = 0; index < 60; index++) await addDue(crowd.id, `d${index}.example.com`, 100 - index)
  await addDue(other.id, 'late.example.com', 1)
  await app.domains.checks.run(never)
  const proofs = dns.asked.filter((question) => question.startsWith('TXT'))
  t.ok(proofs.slice(0, 10).includes('TXT _gameyard.late.example.com'), 'it is among the first')
  t.equal(new Set(proofs).size, 51, 'and the rest of the many waits for the next run')
  await app.domains.checks.run(never)
  t.equal(new Set(dns.asked.filter((question) => question.startsWith('TXT'))).size, 61)
})

t.test('where games have ports, the domains say that they can’t be had', async (t) => {
  const platform = await startPlatform(t, { config: { games: { origins: 'port' } } })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const game = await platform.game(owner)
  t.match(await program.post(`/api/games/${game.id}/domains`, { name: 'play.example.com' }), {
    status: 503,
    body: { error: { code: 'domains_not_configured' } },
  })
  t.notMatch((await owner.get(`/games/${game.slug}/settings`)).text, /domain of your own/)
})
