// Create your own version: who may, what the new game has and has not, and what its page says about where it came from.
import t, { type Test } from 'tap'
import { PROGRAM } from '../../../core/data/audit.ts'
import { inFull } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { join } from '../../kit/team.ts'
import { manifestBytes } from '../deploy/build.ts'
import { deploy } from '../game-edge/kit.ts'

const FEATURES = { inputs: ['touch'], languages: ['en', 'de'], accessibility: ['subtitles'] }
const FILES = { 'index.html': '<!doctype html><title>Pong</title>', 'game.js': 'play()' }

/** Opens a platform with a live game of Mo that Grace may remix. */
async function openPlatform(t: Test, config: Record<string, unknown> = {}) {
  const platform = await startPlatform(t, { config })
  const [maker, other] = [await platform.signUp({ name: 'Mo' }), await platform.signUp({ name: 'Grace' })]
  const program = await platform.program(maker)
  const settings = { remix: true, clickToStart: true, multiplayer: { guests: true, maxPlayersPerRoom: 8 } }
  const game = await platform.game(maker, { title: 'Pong', tags: ['duel'], features: FEATURES, settings })
  const deployId = await deploy(platform, program, game.id, FILES)
  const remix = `/api/games/${game.id}/remix`
  return { platform, maker, other, program, game, deployId, remix }
}

t.test('a player makes a version of a game, which has its files and says where it came from', async (t) => {
  const { platform, maker, other, program, game } = await openPlatform(t)
  await program.put(`/api/games/${game.id}/boards/points`, { title: 'Points', order: 'asc' })
  t.match(await platform.stranger.get('/games/pong'), { text: /href="\/games\/pong\/remix">Create your own version</ })
  t.match(await platform.stranger.get('/games/pong/remix'), { status: 303 }, 'it needs an account')
  t.match(await other.get('/games/pong/remix'), { status: 200, text: /value="My Pong"/ })

  t.match(await other.submit('/games/pong/remix', { title: 'Pong & Pong' }), {
    status: 303,
    headers: { location: /^\/games\/pong-pong$/ },
  })
  const { body: made } = await other.get('/api/games/pong-pong')
  t.match(made, { title: 'Pong & Pong', description: 'A game.', tags: ['duel'], visibility: 'public' })
  t.match(made.features, FEATURES)
  t.match(made.settings, { remix: false, clickToStart: true, multiplayer: { guests: true, maxPlayersPerRoom: 8 } })
  t.not(made.clientId, game.clientId, 'its sign-in is its own')
  const host = platform.gameHost('pong-pong')
  t.equal((await platform.stranger.get('/game.js', { host })).text, FILES['game.js'])
  const { deploys } = (await other.get(`/api/games/${made.id}/deploys`)).body
  t.match(deploys, [{ state: 'live', message: 'Made from Pong', files: 2, unchanged: 2 }])
  t.match((await other.get(`/api/games/${made.id}/boards`)).body.boards, [{ id: 'points', order: 'asc' }])
  const usage = (await other.get('/api/usage')).body.quotas
  const bytes = Object.values(FILES).join('').length + manifestBytes(FILES)
  t.match(usage, { storageBytesPerPlayer: { used: bytes }, uploadBytesPerDay: { used: 0 } }, 'stored, not uploaded')
  const page = async () => (await platform.stranger.get('/games/pong-pong')).text
  t.match(
    await page(),
    `Made from <a href="/games/pong"><bdi>Pong</bdi></a> by <a href="/players/${maker.id}"><bdi>Mo</bdi></a>.`,
  )
  t.notMatch(await page(), 'Create your own version', 'its own maker decides about further versions')

  t.comment('it is a game like any other')
  await deploy(platform, await platform.program(other), made.id, { ...FILES, 'game.js': 'changed()' })
  t.equal((await platform.stranger.get('/game.js', { host })).text, 'changed()')
  t.equal((await platform.stranger.get('/game.js', { host: platform.gameHost('pong') })).text, 'play()')

  t.comment('the source is renamed, private, suspended, deleted, and its maker leaves')
  await program.patch(`/api/games/${game.id}`, { title: 'Table tennis', slug: 'tennis' })
  t.match(await page(), 'Made from <a href="/games/tennis"><bdi>Table tennis</bdi></a>')
  await program.patch(`/api/games/${game.id}`, { visibility: 'private' })
  t.match(await page(), 'Made from <bdi>another game</bdi> by', 'without what is private by now')
  await program.patch(`/api/games/${game.id}`, { visibility: 'public' })
  await platform.app.games.suspensions.suspend(game.id, 'Its title.')
  t.match(await page(), 'Made from <bdi>another game</bdi> by')
  await platform.app.games.suspensions.lift(game.id)
  await program.delete(`/api/games/${game.id}`)
  t.match(await page(), `Made from <bdi>another game</bdi> by <a href="/players/${maker.id}">`)
  await platform.app.identity.deletion.remove(maker.id)
  t.match(await page(), 'Made from <bdi>another game</bdi> by <bdi>somebody</bdi>.')
  platform.clock.advance(31 * 86_400_000)
  await platform.app.games.deletion.purge(new AbortController().signal)
  t.equal((await platform.stranger.get('/', { host })).status, 200, 'its files stay')
  await platform.app.games.remove(other.id, made.id)
  platform.clock.advance(31 * 86_400_000)
  await platform.app.games.deletion.purge(new AbortController().signal)
  t.same(await platform.app.db.query('select * from game_remixes'), [])
})

t.test('a version names the owner whom its source has by now', async (t) => {
  const { platform, maker, other, game, remix } = await openPlatform(t)
  t.equal((await platform.program(other).then((program) => program.post(remix, {}))).status, 201)
  const next = await platform.signUp({ name: 'Nia' })
  await join(maker, game, 'maker', [next])
  await maker.post(`/api/games/${game.id}/transfer`, { playerId: next.id })
  t.equal((await next.post(`/api/games/${game.id}/transfer/accept`)).status, 204)
  const page = async () => (await platform.stranger.get('/games/my-pong')).text
  t.match(await page(), `by <a href="/players/${next.id}"><bdi>Nia</bdi></a>.`)
  await platform.app.identity.deletion.remove(maker.id)
  t.match(await page(), `by <a href="/players/${next.id}"><bdi>Nia</bdi></a>.`)
})

t.test('by the API a version has a title of its own, and the room script', async (t) => {
  const { platform, other, program, game, remix } = await openPlatform(t)
  const script = 'export function join(room, player) { room.send("hello", {}, [player]) }'
  await deploy(platform, program, game.id, FILES)
  await platform.app.deploys.publish(game.ownerId, {
    gameId: game.id,
    files: new Map([['room.js', Buffer.from(script)]]),
    whole: false,
    remove: [],
    room: 'room.js',
  })
  const made = await (await platform.program(other)).post(remix, {})
  t.match(made, { status: 201, body: { title: 'My Pong', slug: 'my-pong', ownerId: other.id } })
  t.match(await platform.app.deploys.roomScripts.load(made.body.id, { from: 'live' }), { source: script })
})

t.test('only what its maker lets go is copied, and only while it may be seen', async (t) => {
  const { platform, maker, other, program, game, remix } = await openPlatform(t)
  const set = (fields: object) => program.patch(`/api/games/${game.id}`, fields)
  const refused = async (status: number, code: string, what: string) => {
    t.match(await other.post(remix, {}), { status, body: { error: { code } } }, what)
    t.equal((await other.get('/games/pong/remix')).status, status, what)
    t.equal((await other.submit('/games/pong/remix', { title: 'Mine' })).status, status, what)
    t.notMatch((await platform.stranger.get('/games/pong')).text, 'Create your own version')
  }
  await set({ settings: { remix: false } })
  await refused(403, 'remix_not_allowed', 'it is off')
  t.equal((await maker.post(remix, {})).status, 403, 'for its maker, too')
  await set({ settings: { remix: true }, visibility: 'private' })
  await refused(404, 'not_found', 'it is private')
  t.equal((await maker.post(remix, {})).status, 403)
  await set({ visibility: 'public', playable: false })
  await refused(409, 'conflict', 'it is closed')
  await set({ playable: true })
  await platform.app.games.suspensions.suspend(game.id, 'No.')
  await refused(451, 'suspended', 'it is suspended')
  await platform.app.games.suspensions.lift(game.id)
  await set({ url: 'https://pong.example.org' })
  await refused(409, 'conflict', 'it lives elsewhere')
  await set({ url: null })
  await program.delete(`/api/games/${game.id}`)
  await refused(404, 'not_found', 'it is deleted')
  await program.post(`/api/games/${game.id}/restore`)

  t.comment('callers')
  t.equal((await platform.stranger.post(remix, {})).status, 401)
  t.equal((await (await platform.program(other, ['games:write'])).post(remix, {})).status, 403)
  t.equal((await (await platform.program(other, ['deployments:write'])).post(remix, {})).status, 403)
  t.equal((await other.post(remix, { title: ' ' })).status, 400)
  t.equal((await other.post(remix, { title: 'x'.repeat(121) })).status, 400)
  t.same((await other.get('/api/games')).body.games, [])
  t.equal((await other.post(remix, {})).status, 201)
})

inFull(t)?.test('a version counts in the quotas, and waits for approval, as any new game', async (t) => {
  const limits = { gamesPerPlayer: 1, storageBytesPerPlayer: 400 }
  const { platform, other, remix } = await openPlatform(t, { limits })
  t.equal((await other.post(remix, {})).status, 201)
  t.match(await other.post(remix, {}), { status: 403, body: { error: { code: 'quota_exceeded' } } })
  t.match(await other.submit('/games/pong/remix', { title: 'Another' }), { status: 403, text: /value="Another"/ })
  const third = await platform.signUp()
  await platform.app.quotas.limits.change(third.id, { storageBytesPerPlayer: 10 }, PROGRAM)
  t.match(await third.post(remix, {}), { status: 403, body: { error: { code: 'quota_exceeded' } } })
  t.same((await third.get('/api/games')).body.games, [], 'no game is left')
  t.match((await third.get('/api/usage')).body.quotas, { storageBytesPerPlayer: { used: 0 } })
})

inFull(t)?.test('where new games wait for staff, a version waits', async (t) => {
  const { platform, other, remix, game } = await openPlatform(t, { games: { publish: 'approve' } })
  t.equal((await other.post(remix, {})).status, 404, 'the source itself waits')
  const admin = await platform.admin()
  await admin.submit(`/admin/approvals/${game.id}/approve`, {})
  t.match(await other.post(remix, {}), { status: 201, body: { visibility: 'private', approval: { state: 'waiting' } } })
  t.equal((await platform.stranger.get('/games/my-pong')).status, 404)
})

inFull(t)?.test('many make their versions at once on PostgreSQL, while the game changes', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const secret = 'a secret of the cluster, long enough for it'
  const { platform, program, game, remix } = await openPlatform(t, { database: { driver: 'postgres', url }, secret })
  const players = await Promise.all(Array.from({ length: 8 }, () => platform.signUp()))
  const [answers] = await Promise.all([
    Promise.all(players.map((player) => player.post(remix, {}))),
    deploy(platform, program, game.id, { ...FILES, 'game.js': 'changed()' }),
  ])
  t.same(
    answers.map(({ status }) => status),
    players.map(() => 201),
  )
  for (const { body } of answers) {
    const { text } = await platform.stranger.get('/game.js', { host: platform.gameHost(body.slug) })
    t.ok(text === FILES['game.js'] || text === 'changed()', text)
  }
})
