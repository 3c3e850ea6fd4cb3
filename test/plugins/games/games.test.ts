import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'

const only = ['oauth-idp', 'tokens', 'quotas', 'games']

const DAY = 86_400_000

t.test('a game is made with its address, its OAuth application and a prompt that holds no secret', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const { status, body, headers } = await program.post('/api/games', {
    title: '  Rooftop Relay ',
    description: 'Run.',
    tags: ['co-op', 'running', 'co-op'],
  })
  t.equal(status, 201)
  t.equal(headers['cache-control'], 'no-store')
  const { oauth, integrationPrompt, ...game } = body
  t.match(game, {
    id: /^gam_[0-9A-Z]{26}$/,
    slug: 'rooftop-relay',
    title: 'Rooftop Relay',
    description: 'Run.',
    url: 'http://rooftop-relay.localhost:8080',
    tags: ['co-op', 'running'],
    visibility: 'public',
    playable: true,
    ownerId: player.id,
    coverUrl: null,
    media: [],
    clientId: oauth.clientId,
    liveDeployId: null,
    playUrl: 'http://localhost:8080/games/rooftop-relay',
    manageUrl: 'http://localhost:8080/games/rooftop-relay/settings',
    settings: {
      authWidget: 'on',
      crossOriginIsolated: 'auto',
      embedded: false,
      multiplayer: { enabled: true, maxPlayersPerRoom: 100, guests: false },
    },
    isolated: false,
    stats: { plays: 0, signIns: 0 },
    createdAt: '2026-11-21T12:00:00.000Z',
    updatedAt: '2026-11-21T12:00:00.000Z',
  })
  t.equal(oauth.redirectUri, 'http://rooftop-relay.localhost:8080/auth/service/callback')
  t.match(oauth.clientSecret, /^[A-Za-z0-9_-]{20,}$/)
  t.match(integrationPrompt, oauth.clientId)
  t.notMatch(integrationPrompt, oauth.clientSecret)
  t.same((await program.get(`/api/games/${game.id}`)).body, game)
  t.same((await program.get('/api/games/rooftop-relay')).body, game)
  t.same((await program.get('/api/games')).body, { games: [game], nextCursor: null })
  const [app] = (await program.get('/api/oauth/apps')).body.apps
  t.match(app, { clientId: oauth.clientId, redirectUris: [oauth.redirectUri] })
})

t.test('a game that lives elsewhere has its redirect URI there, and a new url moves it', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const made = await program.post('/api/games', { title: 'Far', description: '', url: 'https://far.example.org/play/' })
  t.match(made, { status: 201, body: { url: 'https://far.example.org/play/' } })
  t.equal(made.body.oauth.redirectUri, 'https://far.example.org/auth/service/callback')
  const uris = async () => (await program.get('/api/oauth/apps')).body.apps[0].redirectUris
  const below = (path: string) => `https://far.example.org${path}/auth/service/callback`
  t.same(await uris(), [below(''), below('/play')], 'and below its path')
  for (const [path, callback] of [
    ['/arcade/pong', '/arcade/pong'],
    ['/arcade/pong.html?level=1#x', '/arcade'],
    ['/pong/index.html', '/pong'],
  ] as const) {
    await program.patch(`/api/games/${made.body.id}`, { url: `https://far.example.org${path}` })
    t.same(await uris(), [below(''), below(callback)], path)
  }
  for (const path of ['/', '//evil.example/', '/index.html']) {
    await program.patch(`/api/games/${made.body.id}`, { url: `https://far.example.org${path}` })
    t.same(await uris(), [below('')], path)
  }

  const moved = await program.patch(`/api/games/${made.body.id}`, { url: 'https://new.example.org' })
  t.match(moved, { status: 200, body: { url: 'https://new.example.org' } })
  t.same(await uris(), ['https://new.example.org/auth/service/callback'])

  t.match(await program.patch(`/api/games/${made.body.id}`, { url: null }), {
    body: { url: 'http://far.localhost:8080' },
  })
  t.same(await uris(), ['http://far.localhost:8080/auth/service/callback'])
})

t.test('what a game may be', async (t) => {
  const platform = await startPlatform(t, { only })
  const program = await platform.program(await platform.signUp())
  const { body: game } = await program.post('/api/games', { title: 'Base', description: '' })
  const refused: [string, Record<string, unknown>, string][] = [
    ['no title', { description: '' }, 'title'],
    ['an empty title', { title: '', description: '' }, 'title'],
    ['a title of spaces', { title: '   ', description: '' }, 'title'],
    ['a title that shows nothing', { title: '\u3164\u200b', description: '' }, 'title'],
    ['a title of 121 characters', { title: 'x'.repeat(121), description: '' }, 'title'],
    ['no description', { title: 'A' }, 'description'],
    ['a description of 20,001 characters', { title: 'A', description: 'x'.repeat(20_001) }, 'description'],
    ['eleven tags', { title: 'A', description: '', tags: Array.from({ length: 11 }, (_, i) => `t${i}`) }, 'tags'],
    ['a tag with a space', { title: 'A', description: '', tags: ['a b'] }, 'tags.0'],
    ['an unknown visibility', { title: 'A', description: '', visibility: 'secret' }, 'visibility'],
    ['an unknown field', { title: 'A', description: '', owner: 'a' }, 'owner'],
    ['a url that is none', { title: 'A', description: '', url: 'not a url' }, 'url'],
    ['a script url', { title: 'A', description: '', url: 'javascript:alert(1)' }, 'url'],
    ['a url with a password', { title: 'A', description: '', url: 'https://a:b@example.org' }, 'url'],
  ]
  for (const [name, body, path] of refused) {
    const answer = await program.post('/api/games', body)
    t.match(answer, { status: 400, body: { error: { code: 'invalid_request' } } }, name)
    t.ok(
      answer.body.error.details.some((detail: { path: string }) => detail.path === path),
      `${name} names ${path}`,
    )
  }
  for (const [name, body] of [
    ['nothing', {}],
    ['an owner', { ownerId: 'ply_01' }],
    ['a live deploy', { liveDeployId: 'dep_01' }],
    ['an unknown setting', { settings: { cheats: true } }],
    ['rooms for nobody', { settings: { multiplayer: { maxPlayersPerRoom: 0 } } }],
    ['a plain-http address of the internet', { url: 'http://example.org' }],
  ] as const) {
    t.equal((await program.patch(`/api/games/${game.id}`, body)).status, 400, `a change of ${name}`)
  }
})

t.test('settings are changed one by one, and changes at once are all kept', async (t) => {
  const platform = await startPlatform(t, { only })
  const program = await platform.program(await platform.signUp())
  const { body: game } = await program.post('/api/games', { title: 'Set', description: '' })
  const changes = [
    { settings: { authWidget: 'off' } },
    { settings: { crossOriginIsolated: true } },
    { settings: { multiplayer: { guests: true } } },
    { settings: { multiplayer: { maxPlayersPerRoom: 8 } } },
    { playable: false },
    { visibility: 'private' },
    { tags: ['a'] },
  ]
  for (const { status } of await Promise.all(changes.map((change) => program.patch(`/api/games/${game.id}`, change))))
    t.equal(status, 200)
  t.match((await program.get(`/api/games/${game.id}`)).body, {
    settings: {
      authWidget: 'off',
      crossOriginIsolated: true,
      embedded: false,
      multiplayer: { enabled: true, guests: true, maxPlayersPerRoom: 8 },
    },
    playable: false,
    visibility: 'private',
    tags: ['a'],
  })
})

t.test("another's game is 404, whatever is sent, before the body is looked at", async (t) => {
  const platform = await startPlatform(t, { only })
  const game = await platform.game(await platform.signUp())
  const other = await platform.program(await platform.signUp())
  for (const answer of [
    await other.get(`/api/games/${game.id}`),
    await other.get(`/api/games/${game.slug}`),
    await other.patch(`/api/games/${game.id}`, { title: 'Mine' }),
    await other.patch(`/api/games/${game.id}`, { nonsense: 1 }),
    await other.delete(`/api/games/${game.id}`),
    await other.get('/api/games/gam_01ARZ3NDEKTSV4RRFFQ69G5FAV'),
  ])
    t.match(answer, { status: 404, body: { error: { code: 'not_found' } } })
  t.match(await other.get('/api/games'), { body: { games: [], nextCursor: null } })
})

t.test('a token needs the scope, and a page of another origin can change nothing', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const reader = await platform.program(player, ['games:read'])
  t.match(await reader.post('/api/games', { title: 'A', description: '' }), {
    status: 403,
    body: { error: { message: 'API token is missing the games:write scope.', code: 'missing_scope' } },
  })
  t.equal((await platform.stranger.post('/api/games', { title: 'A', description: '' })).status, 401)
  t.equal((await player.post('/api/games', { title: 'By session', description: '' })).status, 201)
  const foreign = { headers: { origin: 'http://by-session.localhost:8080' } }
  t.equal((await player.post('/api/games', { title: 'B', description: '' }, foreign)).status, 403)
})

t.test('twenty games of one title at once have twenty addresses', async (t) => {
  const platform = await startPlatform(t, { only })
  const program = await platform.program(await platform.signUp())
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => program.post('/api/games', { title: 'Pong', description: '' })),
  )
  t.ok(answers.every(({ status }) => status === 201))
  const slugs = answers.map(({ body }) => body.slug).sort()
  t.same(slugs, ['pong', ...Array.from({ length: 19 }, (_, index) => `pong-${index + 2}`)].sort())
})

t.test('a deleted game is gone everywhere, and its address rests for 90 days', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, clock } = platform
  const program = await platform.program(await platform.signUp())
  const make = async () => (await program.post('/api/games', { title: 'Pong', description: '' })).body
  const game = await make()
  t.match(await app.games.bySlug('pong'), { id: game.id })
  t.equal((await program.delete(`/api/games/${game.id}`)).status, 204)
  t.equal((await program.delete(`/api/games/${game.id}`)).status, 404)
  t.equal((await program.get(`/api/games/${game.id}`)).status, 404)
  t.equal(await app.games.bySlug('pong'), null)
  t.same((await program.get('/api/catalog/games')).body.games, [])
  t.equal((await make()).slug, 'pong-2')
  clock.advance(89 * DAY)
  t.equal((await app.games.create(game.ownerId, { title: 'Pong', description: '' })).slug, 'pong-3')
  clock.advance(2 * DAY)
  t.equal((await app.games.create(game.ownerId, { title: 'Pong', description: '' })).slug, 'pong')
})

t.test('the same Idempotency-Key makes one game', async (t) => {
  const platform = await startPlatform(t, { only })
  const program = await platform.program(await platform.signUp())
  const headers = { 'idempotency-key': 'once' }
  const first = await program.post('/api/games', { title: 'Once', description: '' }, { headers })
  const again = await program.post('/api/games', { title: 'Once', description: '' }, { headers })
  t.equal(again.status, 201)
  t.same(again.body, first.body)
  t.equal((await program.get('/api/games')).body.games.length, 1)
  t.equal((await program.post('/api/games', { title: 'Other', description: '' }, { headers })).status, 409)
})

t.test('a change is seen at once by slug', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const game = await platform.game(player)
  t.match(await platform.app.games.bySlug(game.slug), { visibility: 'public' })
  await platform.app.games.update(player.id, game.id, { visibility: 'private' })
  t.match(await platform.app.games.bySlug(game.slug), { visibility: 'private' })
  t.equal(await platform.app.games.bySlug('nobody'), null)
})

t.test('the prompt for coding assistants and the page Integrate know what the platform has for games', async (t) => {
  const platform = await startPlatform(t)
  const owner = await platform.signUp()
  const { integrationPrompt } = await platform.game(owner)
  for (const known of ['saves.js', 'scores.js', '/docs/saves', 'games boards set', '/__service/assets/', 'ai:generate'])
    t.match(integrationPrompt, known)
  t.match(integrationPrompt, /ES modules.*<script type="module">/)
  t.notMatch(integrationPrompt, /\n\n\n/)
  const { text } = await owner.get('/games/pong/integrate')
  t.match(text, /Saves[\s\S]*saves\.get\([\s\S]*Scores[\s\S]*board\([\s\S]*Assets[\s\S]*__service\/assets/)
})

t.test('an address that a game cannot have is refused under its name, with what is wrong with it', async (t) => {
  const platform = await startPlatform(t)
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const game = await platform.game(owner)
  for (const [url, says] of [
    ['game.example', /whole web address/],
    ['', /whole web address/],
    ['ftp://game.example', /begin with https/],
    ['javascript:alert(1)', /begin with https/],
    ['https://ada:secret@game.example', /user name or password/],
    [`https://game.example/${'x'.repeat(2000)}`, /2000/],
    ['https://*.game.example', /wildcard/],
  ] as const) {
    for (const answer of [
      await program.post('/api/games', { title: 'A', description: '', url }),
      await program.patch(`/api/games/${game.id}`, { url }),
    ]) {
      t.match(answer, { status: 400, body: { error: { code: 'invalid_request', message: says } } }, url)
      t.match(answer.body.error.details, [{ path: 'url', message: says }], url)
      t.equal(answer.body.error.details.length, 1, url)
    }
  }
})

t.test('no room is for more players than the server admits', async (t) => {
  const platform = await startPlatform(t, { config: { limits: { roomPlayers: 50 } } })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const game = await platform.game(owner)
  const rooms = (maxPlayersPerRoom: number) => ({ settings: { multiplayer: { maxPlayersPerRoom } } })
  const path = `/api/games/${game.id}`
  const refused = {
    status: 400,
    body: {
      error: {
        message: 'A room on this server has at most 50 players (limits.roomPlayers).',
        details: [{ path: 'settings.multiplayer.maxPlayersPerRoom' }],
      },
    },
  }
  t.match(await program.patch(path, rooms(51)), refused)
  t.match(await program.post('/api/games', { title: 'A', description: '', ...rooms(51) }), refused)
  t.equal((await program.patch(path, rooms(100))).status, 200, 'what it has already, from before the server said so')
  t.match(await program.patch(path, rooms(50)), { status: 200, body: rooms(50) })
  t.match(await program.patch(path, rooms(100)), refused)
})
