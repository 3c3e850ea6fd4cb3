import t from 'tap'
import { newId } from '../../../core/ids.ts'
import { startPlatform } from '../../kit/platform.ts'
import { join } from '../../kit/team.ts'

const only = ['oauth-idp', 'tokens', 'quotas', 'games']

const DAY = 86_400_000

t.test('a game moves to another address; the old one leads there for 90 days', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, clock, stranger } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player, { title: 'Pong' })
  const received: object[] = []
  app.events.on('game.changed', (event) => void received.push(event))
  t.match(await app.games.bySlug('pong'), { id: game.id })

  const moved = await program.patch('/api/games/pong', { slug: 'ping' })
  t.match(moved, { status: 200, body: { id: game.id, slug: 'ping', url: 'http://ping.localhost:8080' } })
  t.match(received.at(-1), { gameId: game.id, slug: 'ping', previousSlug: 'pong' })
  t.equal(await app.games.bySlug('pong'), null)
  t.match(await app.games.bySlug('ping'), { id: game.id })
  t.match(await app.games.movedFrom('pong'), { id: game.id, slug: 'ping' })
  t.equal(await app.games.movedFrom('ping'), null)
  t.equal(await app.games.movedFrom('nothing'), null)
  t.match(await stranger.get('/games/pong'), { status: 302, headers: { location: /^\/games\/ping$/ } })
  const [oauth] = (await program.get('/api/oauth/apps')).body.apps
  t.match(oauth, {
    redirectUris: ['http://ping.localhost:8080/auth/service/callback'],
    homepageUrl: 'http://ping.localhost:8080',
  })

  t.equal((await app.games.create(player.id, { title: 'Pong', description: '' })).slug, 'pong-2', 'the old one rests')
  t.match(await program.patch('/api/games/ping', { slug: 'pong' }), { status: 200 }, 'but the game may return to it')
  t.match(await stranger.get('/games/ping'), { status: 302, headers: { location: /^\/games\/pong$/ } })
  clock.advance(91 * DAY)
  t.equal(await app.games.movedFrom('ping'), null)
  t.equal((await stranger.get('/games/ping')).status, 404)
})

t.test('every page of a game redirects from its old address to the same page at the new one', async (t) => {
  const platform = await startPlatform(t)
  const { app, stranger } = platform
  const player = await platform.signUp()
  const tester = await platform.signUp()
  const game = await platform.game(player, { title: 'Pong' })
  await join(player, game, 'tester', [tester])
  await app.games.update(player.id, game.id, { slug: 'ping' })
  const pages = app.routeTable.entries.filter(
    ({ method, url, origin }) => method === 'GET' && /^\/games\/:slug(\/|$)/.test(url) && origin === 'portal',
  )
  t.ok(pages.length > 20, `${pages.length} pages`)
  for (const { url } of pages) {
    const rest = url
      .replace('/games/:slug', '')
      .replace(':deployId', newId('dep', platform.clock.now()))
      .replace(/:\w+/g, 'some%20thing')
    for (const method of ['GET', 'HEAD'] as const) {
      const { status, headers } = await player.request(method, `/games/pong${rest}?from=a%26b`)
      t.same([status, headers.location], [302, `/games/ping${rest}?from=a%26b`], `${method} ${url}`)
    }
  }
  t.match(await stranger.get('/games/pong/report?sent=1'), {
    status: 302,
    headers: { location: '/games/ping/report?sent=1' },
  })
  t.equal((await stranger.get('/games/ping/report')).status, 200)
  t.match(await stranger.get('/games/%70ong/boards/a?period=all'), {
    headers: { location: '/games/ping/boards/a?period=all' },
  })

  await app.games.update(player.id, game.id, { visibility: 'private' })
  t.equal((await stranger.get('/games/pong/report')).status, 404, 'nobody learns the address of a private game')
  t.equal((await (await platform.signUp()).get('/games/pong/settings')).status, 404)
  t.equal((await tester.get('/games/pong/report')).status, 302)
})

t.test('redirect URIs follow the game, and those of its owner elsewhere stay', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player, { title: 'Pong' })
  const [{ id, redirectUris }] = (await program.get('/api/oauth/apps')).body.apps
  const [hosted, local] = ['http://pong.localhost:8080/auth/service/callback', 'http://localhost:5173/callback']
  t.same(redirectUris, [hosted])
  t.equal((await program.patch(`/api/oauth/apps/${id}`, { redirectUris: [local, hosted] })).status, 200)
  const after = async (change: object) => {
    const { status, body } = await program.patch(`/api/games/${game.id}`, change)
    t.equal(status, 200, body.error?.message)
    return (await program.get(`/api/oauth/apps/${id}`)).body.redirectUris
  }
  t.same(await after({ slug: 'ping' }), ['http://ping.localhost:8080/auth/service/callback', local])
  const elsewhere = 'https://far.example.org/auth/service/callback'
  t.same(await after({ url: 'https://far.example.org/' }), [elsewhere, local])
  t.same(await after({ slug: 'pang' }), [elsewhere, local], 'what lives elsewhere stays there')
  t.same(await after({ url: null }), ['http://pang.localhost:8080/auth/service/callback', local])
})

t.test('an address must be free, allowed and well-formed', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player, { title: 'Mine' })
  await platform.game(await platform.signUp(), { title: 'Taken' })
  const change = async (slug: string) => {
    const { status, body } = await program.patch(`/api/games/${game.id}`, { slug })
    return `${status} ${body.error?.code ?? body.slug}`
  }
  t.equal(await change('taken'), '409 slug_taken')
  t.equal(await change('adm1n'), '409 slug_reserved')
  for (const slug of ['', 'Upper', 'a--b', '-a', 'a-', 'ä', 'a.b', 'a'.repeat(51)]) {
    t.equal(await change(slug), '400 invalid_request', slug)
  }
  const make = async (slug: string) => {
    const { status, body } = await program.post('/api/games', { title: 'Other', description: '', slug })
    return `${status} ${body.error?.code ?? body.slug}`
  }
  t.equal(await make('chosen'), '201 chosen')
  t.equal(await make('chosen'), '409 slug_taken')
  t.equal(await make('taken'), '409 slug_taken')
  t.equal(await make('adm1n'), '409 slug_reserved')
  for (const slug of ['', 'Upper', 'a--b', 'ä']) t.equal(await make(slug), '400 invalid_request', slug)
  t.equal((await program.get('/api/games')).body.games.length, 2, 'a refused address leaves no game')
  t.equal(await change('mine'), '200 mine', 'no change is none')
  for (const slug of ['b', 'c', 'd', 'e', 'f']) t.equal(await change(slug), `200 ${slug}`)
  t.equal(await change('g'), '409 too_many_slugs', 'nobody hoards addresses')
  t.match(await program.get(`/api/games/${game.id}`), { body: { slug: 'f' } })
})

t.test('of two that want one address at once, one gets it', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const games = await Promise.all(Array.from({ length: 8 }, () => platform.game(player)))
  const answers = await Promise.all(games.map(({ id }) => program.patch(`/api/games/${id}`, { slug: 'wanted' })))
  t.same(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 7 }, () => 409)])
})

t.test('the form moves a game too, and says why not', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  await platform.game(player, { title: 'Form Move' })
  const wrong = await player.submit('/games/form-move/settings/address', { slug: 'not an address' })
  t.equal(wrong.status, 400)
  t.match(wrong.text, /single hyphens/)
  t.match((await player.submit('/games/form-move/settings/address', { slug: 'www' })).text, /reserved for the platform/)
  const moved = await player.submit('/games/form-move/settings/address', { slug: 'elsewhere' })
  t.match(moved, { status: 303, headers: { location: /^\/games\/elsewhere\/settings\?saved#address$/ } })
})

t.test('a new title renames the OAuth application, and a new secret ends the old one', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player, { title: 'Before' })
  await program.patch(`/api/games/${game.id}`, { title: 'After' })
  t.match(await platform.app.identity.apps.find(game.clientId), { name: 'After', clientId: game.clientId })

  const rotated = await program.post(`/api/games/${game.id}/secret`)
  t.match(rotated, { status: 200, headers: { 'cache-control': 'no-store' }, body: { clientId: game.clientId } })
  t.not(rotated.body.clientSecret, game.oauth.clientSecret)
  const { apps } = platform.app.identity
  const row = async () => await apps.find(game.clientId)
  t.ok(apps.hasSecret(await row(), rotated.body.clientSecret))
  t.notOk(apps.hasSecret(await row(), game.oauth.clientSecret))
  const graceful = await program.post(`/api/games/${game.id}/secret?graceSeconds=60`)
  t.ok(apps.hasSecret(await row(), rotated.body.clientSecret))
  t.ok(apps.hasSecret(await row(), graceful.body.clientSecret))

  const other = await platform.signUp()
  t.equal((await (await platform.program(other)).post(`/api/games/${game.id}/secret`)).status, 404)
  t.equal((await (await platform.program(player, ['games:read'])).post(`/api/games/${game.id}/secret`)).status, 403)
  const page = await player.submit('/games/before/integrate/secret', {})
  const [, shown = ''] = /client secret"><code>(svc_secret_[\w-]+)</.exec(page.text) ?? []
  t.ok(apps.hasSecret(await row(), shown), 'the page shows the one it made')
  t.equal(page.headers['cache-control'], 'no-store')
  t.notMatch((await player.get('/games/before/integrate')).text, /svc_secret/, 'once')
})

t.test('a game of its own port keeps it under another name', async (t) => {
  const platform = await startPlatform(t, { config: { games: { origins: 'port', domain: 'localhost' } } })
  const player = await platform.signUp()
  const game = await platform.game(player, { title: 'Lan' })
  const { body } = await (await platform.program(player)).patch(`/api/games/${game.id}`, { slug: 'party' })
  t.equal(body.url, game.url)
  const { host } = new URL(body.url)
  t.match(platform.app.origins.parse(host), { kind: 'game', slug: 'party' })

  const started = await player.get('/auth/service/start', { host })
  const { pathname, search } = new URL(started.headers.location as string)
  const { headers } = await player.get(pathname + search)
  t.match(
    headers,
    { location: new RegExp(`^${game.url}/auth/service/callback\\?code=`) },
    'signed in without a question',
  )
})
