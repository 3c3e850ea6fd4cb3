// A game that nobody but its owner may see: every GET route that can show it is asked by whoever should not.
import t, { type Test } from 'tap'
import { inFull } from '../kit/extent.ts'
import { type Answer, Client, startPlatform } from '../kit/platform.ts'
import { needsPostgres, startPostgres } from '../kit/postgres.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { deploy } from '../plugins/game-edge/kit.ts'
import { png, sendFile } from '../plugins/games/pictures.ts'
import { enter } from '../plugins/saves/kit.ts'

/** Stands in everything that the owner wrote; no other game is in Esperanto. The slug is another word, since requests name it. */
const OWN_WORDS = /zebulon|>Esperanto</i
const TAG = 'marlin'
const SLUG = 'quagga'
/** Its former page. */
const FORMER = '/games/former'

/**
 * Where a player may read the title all the same: what they granted access to, so that they can take it back, also in
 * the export of their own data. And the site of a game that is private, but not suspended, sends its own visitors to be asked.
 */
const EXCEPTIONS: Record<string, RegExp> = {
  'GET /settings/connected': /./,
  'GET /settings/export': /./,
  'GET /oauth/authorize': /^(private|unapproved)$/,
}

/** A platform on which a game is shown wherever a game can be. */
async function inhabit(t: Test, config: Record<string, unknown> = {}) {
  const platform = await startPlatform(t, { config })
  const { app } = platform
  // A stream that goes on for ever would be waited for: each says how things are and ends.
  app.eventStreams.close()
  const [owner, moderator] = [await platform.signUp({ name: 'Olga' }), await platform.signUp({ name: 'Mo' })]
  await app.identity.administration.setRole(moderator.id, 'moderator')
  const program = await platform.program(owner)
  const features = { inputs: ['touch'], languages: ['eo'] }
  const fields = { title: 'Zebulon', description: 'Of Zebulon.', tags: [TAG], features, settings: { remix: true } }
  const game = await platform.game(owner, fields)
  for (const slug of ['former', SLUG]) await program.patch(`/api/games/${game.id}`, { slug })
  const deployId = await deploy(platform, program, game.id, {
    'index.html': '<title>Zebulon</title>',
    'game.js': '//zebulon',
  })
  const picture = (await sendFile(program, `/api/games/${game.id}/media`, png(4, 4))).body
  await program.put(`/api/games/${game.id}/boards/fastest`, { title: 'Zebulon board' })
  const score = { gameId: game.id, boardId: 'fastest', score: 1, detail: 'zebulon', writer: 'room' } as const
  await app.scores.submit({ ...score, playerId: owner.id })

  const host = platform.gameHost(SLUG)
  const saver = await enter(platform, host)
  await saver.put('slot', 'mine')
  const other = saver.player
  await app.scores.submit({ ...score, playerId: other.id })
  const remixer = await platform.program(other)
  const { body: remix } = await remixer.post(`/api/games/${game.id}/remix`, { title: 'Mine' })
  await remixer.patch(`/api/games/${remix.id}`, { description: 'Of my own.', tags: [], features: { languages: [] } })
  await remixer.put(`/api/games/${remix.id}/boards/fastest`, { title: 'My board' })
  await other.post('/api/reports', { target: { kind: 'game', id: game.id }, category: 'spam', text: 'Look.' })

  await app.jams.create({ title: 'Jam' })
  await app.jams.submit(owner.id, game.id)
  await app.jams.change({ votingOpen: true })
  await app.jams.vote(other.id, { overall: game.id })
  await app.jams.change({ votingOpen: false })
  await app.jams.change({ revealed: 9 })
  return { platform, app, owner, moderator, other, program, game, deployId, picture, host, remixed: remix.slug }
}

type World = Awaited<ReturnType<typeof inhabit>>

/** The addresses of every GET route, about the game, by route; of some several. */
async function addressesOf({ app, platform, game, deployId, picture, owner, remixed }: World) {
  const parameters: Record<string, string> = {
    id: game.id,
    slug: SLUG,
    gameId: game.id,
    deployId,
    file: picture.url.split('/').at(-1),
    roomId: 'lobby',
    board: 'fastest',
    boardId: 'fastest',
    playerId: owner.id,
    path: 'game.js',
    key: 'slot',
    name: 'overview',
    token: 'x'.repeat(43),
    provider: 'github',
    purchaseId: 'pur_x',
    group: 'games',
    preset: 'walk',
    part: '1.xml',
  }
  const sitemaps = [...(await platform.stranger.get('/sitemap.xml')).text.matchAll(/<loc>([^<]*)<\/loc>/g)]
  const redirect = encodeURIComponent(`${platform.app.origins.game(SLUG)}/auth/service/callback`)
  const challenge = `code_challenge=${'a'.repeat(43)}&code_challenge_method=S256`
  const further: Record<string, string[]> = {
    '/sitemaps/:name/:part': sitemaps.map(([, address]) => new URL(address as string).pathname),
    '/catalog': ['/catalog', '/catalog?q=zeb', `/catalog?tag=${TAG}`, '/catalog?sort=popular', '/catalog?input=touch'],
    '/api/catalog/games': ['', '?q=zeb', `?tag=${TAG}`, '?sort=popular', '?input=touch'].map(
      (query) => `/api/catalog/games${query}`,
    ),
    '/players/:id': [`/players/${owner.id}`],
    '/oembed': [`/oembed?url=${encodeURIComponent(`${platform.portal}/games/${SLUG}`)}`],
    '/jam/past/:jamId': [`/jam/past/${(await app.jams.current())?.id}`],
    '/games/:slug': [`/games/${SLUG}`, `/games/${game.id}`, `/games/${remixed}`, FORMER],
    '/oauth/authorize': [
      `/oauth/authorize?client_id=${game.clientId}&redirect_uri=${redirect}&response_type=code&prompt=consent&${challenge}`,
    ],
  }
  return app.routeTable.entries.flatMap(({ method, url, origin }) => {
    if (method !== 'GET') return []
    const plain = url
      .replace(/\(\^.*?\)$/, '')
      .replace('*', '')
      .replace(/:(\w+)/g, (_, name) => parameters[name] ?? 'x')
    return (further[url] ?? [plain]).map((address) => ({ route: `GET ${url}`, address, origin }))
  })
}

/** Whether an answer shows something of the game: its words, its slug or tag where nobody named it, a picture of it. */
function shows({ status, text, headers }: Answer, address: string): boolean {
  const isPicture = /^(image|video)\//.test(headers['content-type'] ?? '') && address.includes(SLUG)
  const isOfGame = status === 200 && (isPicture || /^\S*\/media\//.test(address))
  const said = `${text} ${headers.location ?? ''} ${headers.link ?? ''}`
  // A request may name the slug or the tag itself.
  const isNamed = [SLUG, TAG].some((word) => !address.includes(word) && said.includes(word))
  return isOfGame || OWN_WORDS.test(said) || isNamed
}

/** The routes that show something of the game to a browser. */
async function routesShowing(
  { host, platform }: World,
  browser: Client,
  addresses: Awaited<ReturnType<typeof addressesOf>>,
) {
  const showing = new Set<string>()
  for (const { route, address, origin } of addresses) {
    const hosts: Record<string, string> = { game: host, studio: new URL(platform.app.origins.studio).host }
    const answer = await browser.get(address, hosts[origin] ? { host: hosts[origin] } : {})
    if (answer.status >= 500 && answer.status !== 501) showing.add(`${route}: ${answer.status}`)
    // A request to the game's own origin names it by the host.
    if (shows(answer, origin === 'game' ? `//${host}${address}` : address)) showing.add(route)
  }
  return showing
}

/** Each way in which a game is not shown: how it begins, and how it ends. */
const WAYS: Record<string, { begin(world: World): Promise<unknown>; end(world: World): Promise<unknown> }> = {
  suspended: {
    begin: ({ app, game }) => app.games.suspensions.suspend(game.id, 'No.'),
    end: ({ app, game }) => app.games.suspensions.lift(game.id),
  },
  private: {
    begin: ({ program, game }) => program.patch(`/api/games/${game.id}`, { visibility: 'private' }),
    end: ({ program, game }) => program.patch(`/api/games/${game.id}`, { visibility: 'public' }),
  },
  unapproved: {
    begin: async ({ app, game }) => {
      const held = "approval = 'waiting', visibility = 'private', requested_visibility = 'public'"
      await app.db.execute(`update games set ${held} where id = ?`, [game.id])
      await app.games.announce({ id: game.id, slug: SLUG })
    },
    end: ({ app, game }) => app.games.approvals.approve(game.id),
  },
  deleted: {
    begin: ({ app, owner, game }) => app.games.remove(owner.id, game.id),
    end: ({ app, owner, game }) => app.games.deletion.restore(owner.id, game.id),
  },
  'with its owner disabled': {
    begin: ({ app, owner }) => app.identity.administration.setDisabled(owner.id, true),
    end: ({ app, owner }) => app.identity.administration.setDisabled(owner.id, false),
  },
}

/** Where a public game is shown, so that the walk is known to find it. */
const SHOWN_ON = [
  '/',
  '/catalog',
  '/feed.xml',
  '/sitemaps/:name/:part',
  '/jam',
  '/jam/results',
  '/jam/past/:jamId',
  '/games/:slug',
  '/*',
]
const SHOWN_BY = [
  '/api/catalog/games',
  '/oembed',
  '/api/jam',
  '/api/jam/results',
  '/games/:slug/card.png',
  '/media/:gameId/:file',
]
const SHOWN_IN = ['/players/:id', '/games/:slug/boards/:board', '/api/games/:id/boards/:boardId/scores']

async function walk(t: Test, config?: Record<string, unknown>) {
  const world = await inhabit(t, config)
  const { platform, other } = world
  const addresses = await addressesOf(world)
  const nobody = new Client(platform.app)
  const publicly = await routesShowing(world, nobody, addresses)
  for (const url of [...SHOWN_ON, ...SHOWN_BY, ...SHOWN_IN])
    t.ok(publicly.has(`GET ${url}`), `${url} shows a public game`)
  const signedIn = await routesShowing(world, other, addresses)
  for (const url of ['/settings/saves', '/oauth/authorize'])
    t.ok(signedIn.has(`GET ${url}`), `${url} shows it to a player`)
  for (const [way, { begin, end }] of Object.entries(WAYS)) {
    await begin(world)
    t.same([...(await routesShowing(world, nobody, addresses))], [], `nobody sees a game that is ${way}`)
    const seen = await routesShowing(world, other, addresses)
    const wrong = [...seen].filter((route) => !EXCEPTIONS[route]?.test(way))
    t.same(wrong, [], `another player sees no game that is ${way}`)
    await seenByOwnerAndStaff(t, world, way)
    await end(world)
  }
  t.same(await routesShowing(world, nobody, addresses), publicly, 'and afterwards it is shown as before')
}

async function seenByOwnerAndStaff(t: Test, { owner, moderator, game, picture }: World, way: string) {
  t.match((await moderator.get('/admin/reports')).text, OWN_WORDS, `${way}: the staff see what was reported`)
  if (way !== 'deleted')
    t.match((await moderator.get(`/admin/games?q=${game.id}`)).text, OWN_WORDS, `${way}: the staff find it`)
  if (way === 'with its owner disabled') return
  const pages = way === 'deleted' ? ['/games'] : ['/games', `/games/${SLUG}/overview`, `/games/${SLUG}`]
  for (const page of pages) t.match((await owner.get(page)).text, OWN_WORDS, `${way}: its owner sees ${page}`)
  if (way !== 'deleted')
    t.equal((await owner.get(new URL(picture.url).pathname)).status, 200, `${way}: and its picture`)
}

t.setTimeout(timeLimit(240))
t.test('a game that is not shown is nowhere to be seen but by its owner and the staff', (t) => walk(t))
inFull(t)?.test('the same on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  await walk(t, { database: { driver: 'postgres', url }, secret: 'a secret of the cluster, long enough for it' })
})
