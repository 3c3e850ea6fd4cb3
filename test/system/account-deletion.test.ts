// The end of an account, through every plugin: what a player takes along, and what is left of them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { REDIRECT_URI, registerApp } from '../kit/oauth.ts'
import { startPlatform } from '../kit/platform.ts'
import { startTeam } from '../kit/team.ts'
import { until } from '../kit/until.ts'
import { sheet } from '../plugins/assets/models.ts'
import { build, deploy } from '../plugins/deploy/build.ts'
import { headersOf, RoomSocket, signInTo } from '../plugins/multiplayer/kit.ts'

const DAY = 86_400_000

t.test('an account ends with its tokens, games and deploys, and takes its data along first', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const { app, clock } = platform
  const player = await platform.signUp({ name: 'Ada' })
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-goodbye-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const uploadSheet = async ({ id }: { id: string }, title: string) => {
    const path = join(folder, title)
    writeFileSync(path, await sheet(4))
    const made = await app.assets.create(id, { title, visibility: 'public' }, { path, name: `${title}.glb` })
    return made.id
  }
  const keysUnder = async (prefix: string) => {
    const keys: string[] = []
    for await (const { key } of app.storage.list(prefix)) keys.push(key)
    return keys
  }
  const program = await platform.program(player)
  const game = await platform.game(player, { title: 'Pong' })
  const removed = await platform.game(player, { title: 'Old' })
  await program.delete(`/api/games/${removed.id}`)
  const linked = await registerApp(platform, player, { gameId: game.id })
  await deploy(platform, program, game.id, build('one'))
  const asset = await uploadSheet(player, 'Rock')
  const vouched = await uploadSheet(player, 'Tree')
  await app.assets.changes.curate(vouched, true)
  const host = platform.gameHost(game.slug)
  t.equal((await platform.stranger.get('/', { host })).status, 200)

  const { body } = await player.get('/settings/export')
  t.match(body.games, [{ id: game.id, title: 'Pong' }])
  t.match(body.tokens, [{ kind: 'api', scopes: Array }])
  t.match(body.assets, [{ slug: 'tree' }, { slug: 'rock', files: [{ path: 'Rock.glb' }], visibility: 'public' }])
  t.notMatch(JSON.stringify(body), /svc_api_\w{20}/, 'no secret in it')

  await app.identity.deletion.remove(player.id)
  t.equal((await program.get('/api/cli/whoami')).status, 401)
  t.equal((await platform.stranger.get('/', { host })).status, 404, 'at once, caches or not')
  t.same((await platform.stranger.get('/api/catalog/games')).body.games, [])
  const count = async (table: string, column: string, value: string) =>
    Number((await app.db.query<{ n: number }>(`select count(*) as n from ${table} where ${column} = ?`, [value]))[0]?.n)
  t.equal(await count('api_tokens', 'player_id', player.id), 0)
  t.equal(await app.identity.apps.find(linked.clientId), null, 'no secret of an application holds any more')
  t.equal(await count('oauth_apps', 'owner_id', player.id), 0)
  t.match(await platform.stranger.get('/assets'), { text: /Tree/ }, 'games count on a curated asset')
  t.equal((await platform.stranger.get('/api/assets/rock')).status, 404)
  t.equal(await count('assets', 'owner_id', player.id), 1)
  t.equal(await count('former_asset_slugs', 'asset_id', asset), 1, 'nobody else gets its address')
  await until(async () => (await keysUnder(`assets/${asset}/`)).length === 0)
  t.not((await keysUnder(`assets/${vouched}/`)).length, 0)
  t.equal(await count('owner_blobs', 'owner_id', player.id), 0)

  // As an earlier version left it behind.
  const left = { ownerId: player.id, name: 'Left', homepageUrl: null, gameId: game.id, redirectUris: [REDIRECT_URI] }
  await app.identity.apps.create(app.db.em(), left)
  clock.advance(31 * DAY)
  await app.games.deletion.purge(new AbortController().signal)
  t.equal(await count('games', 'owner_id', player.id), 0)
  t.equal(await count('deploys', 'owner_id', player.id), 0)
  t.equal(await count('oauth_apps', 'owner_id', player.id), 0)
  for (const table of ['deploy_manifests', 'deploy_uploads'])
    t.equal(Number((await app.db.query<{ n: number }>(`select count(*) as n from ${table}`))[0]?.n), 0, table)
})

t.test('the page that ends an account says what goes with it', async (t) => {
  const { platform, app, owner, maker, game } = await startTeam(t)
  const admin = await platform.admin()
  const said = async () => {
    const pages = [await owner.get('/settings'), await admin.get(`/admin/players/${owner.id}`)]
    return pages.map(({ text }) => /<strong>([^<]* too\.[^<]*)<\/strong>/.exec(text)?.[1])
  }
  const both = (sentence: string | undefined) => [sentence, sentence]
  t.same(await said(), both(undefined), 'a game that others make is asked about')
  const solo = await platform.game(owner, { title: 'Solo' })
  t.same(await said(), both('1 game goes, too.'))

  const folder = mkdtempSync(join(tmpdir(), 'gameyard-losses-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'rock.glb')
  writeFileSync(path, await sheet(4))
  const uploads = [{ gameId: game.id }, { gameId: solo.id }, {}, {}]
  for (const [at, fields] of uploads.entries()) {
    writeFileSync(path, await sheet(4))
    const about = { title: `Rock ${at}`, visibility: 'public' as const, ...fields }
    const { id } = await app.assets.create(owner.id, about, { path, name: 'rock.glb' })
    if (at === 3) await app.assets.changes.curate(id, true)
  }
  await app.credits.grant(owner.id, 220, { kind: 'grant', description: 'A gift', key: 'gift' })
  const saved = { bytes: Buffer.from('1'), contentType: 'application/json' }
  await app.saves.put({ gameId: game.id, playerId: owner.id }, 'progress', saved)
  await app.scores.boards.put(game.id, 'best', { title: 'Best', reset: 'daily' })
  await app.scores.submit({ gameId: game.id, boardId: 'best', playerId: owner.id, score: 3, writer: 'players' })
  await platform.game(owner, { title: 'Second' })
  const sentences = (await said())[0] ?? ''
  t.same(await said(), both(sentences))
  for (const part of ['2 games', '3 assets', '220 credits', '1 save', 'the scores on 1 leaderboard'])
    t.match(sentences, part)
  t.match(sentences, / and .* go, too\. 1 of the assets belongs to a game that others can go on with\.$/)
  t.same(await app.identity.deletion.lossesOf(maker.id), '', 'of the game of somebody else nothing')
  t.match((await owner.get('/settings')).text, /Games of others keep results under your player id/)
})

t.test('an account whose end fails half-way is whole', async (t) => {
  const platform = await startPlatform(t)
  const { app } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player, { title: 'Pong' })
  const alone = await registerApp(platform, player)
  app.identity.deletion.cleanups.push(async () => {
    throw new Error('the last of them fails')
  })
  await t.rejects(app.identity.deletion.remove(player.id), /the last of them fails/)
  t.equal((await program.get(`/api/games/${game.id}`)).status, 200)
  t.equal((await program.get(`/api/oauth/apps/${alone.id}`)).status, 200)
})

t.test('a player who disconnects a game is out of its rooms', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const [one, two] = [await platform.game(owner, { title: 'One' }), await platform.game(owner, { title: 'Two' })]
  const ada = await platform.signUp({ name: 'Ada' })
  const sockets: RoomSocket[] = []
  for (const { slug } of [one, two]) {
    const host = platform.gameHost(slug)
    await signInTo(ada, host)
    const socket = new RoomSocket(t, platform, '/mp/rooms/lobby', headersOf(ada, host))
    await socket.enter()
    sockets.push(socket)
  }
  await platform.app.identity.consents.revoke(ada.id, one.clientId)
  t.equal(await sockets[0]?.closed, 1008)
  sockets[1]?.say({ t: 'ping', id: 1 })
  t.match(await sockets[1]?.next('pong'), { id: 1 }, 'the other game goes on')
})

t.test('those who are in rooms count for the peak of the day', async (t) => {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner, { title: 'Pong' })
  const host = platform.gameHost(game.slug)
  const players = [await platform.signUp(), await platform.signUp(), await platform.signUp()]
  for (const player of players) await signInTo(player, host)
  const program = await platform.program(owner)
  const peak = async () => (await program.get(`/api/games/${game.id}/analytics`)).body.totals.peakPlayers
  const sockets = players.map(
    (player, index) => new RoomSocket(t, platform, `/mp/rooms/${index}`, headersOf(player, host)),
  )
  for (const socket of sockets) await socket.enter()
  await until(async () => (await peak()) === 3)
  for (const socket of sockets) socket.socket.close(1000)
  for (const { closed } of sockets) await closed
  t.equal(await peak(), 3, 'and stays when they leave')
})
