import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { build, deploy } from '../deploy/build.ts'
import { assertCountsHold } from '../quotas/recounting.ts'
import { png, sendFile } from './pictures.ts'

const only = ['oauth-idp', 'tokens', 'quotas', 'games']

const DAY = 86_400_000

t.test('a deleted game can be brought back as it was', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, clock } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const { oauth, integrationPrompt, ...game } = await platform.game(player, {
    title: 'Pong',
    tags: ['ball'],
    features: { inputs: ['touch'] },
  })
  await program.delete(`/api/games/${game.id}`)
  t.match(await program.get('/api/games?deleted=true'), { body: { games: [{ id: game.id }] } })
  t.same((await program.get('/api/games')).body.games, [])
  const other = await platform.program(await platform.signUp())
  t.equal((await other.post(`/api/games/${game.id}/restore`)).status, 404)

  clock.advance(29 * DAY)
  await app.games.deletion.purge(new AbortController().signal)
  const restored = await program.post(`/api/games/${game.id}/restore`)
  t.equal(restored.status, 200)
  t.same({ ...restored.body, updatedAt: game.updatedAt }, game)
  t.match(await app.games.bySlug('pong'), { id: game.id })
  t.match((await platform.stranger.get('/api/catalog/games?tag=ball')).body.games, [{ id: game.id }])
  t.equal((await program.post(`/api/games/${game.id}/restore`)).status, 404, 'it is not deleted')
  t.equal(
    (await app.games.create(player.id, { title: 'Pong', description: '' })).slug,
    'pong-2',
    'its address is taken',
  )
})

t.test('after 30 days a deleted game is gone for good, with everything of it but its resting address', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, clock } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player, { title: 'Pong' })
  const kept = await platform.game(player, { title: 'Kept' })
  await sendFile(program, `/api/games/${game.id}/media`, png(4, 4))
  app.games.count.play(game.id, 'somebody')
  await app.games.count.flush()
  await program.delete(`/api/games/${game.id}`)
  const purged: string[] = []
  app.events.on('game.purged', ({ gameId }) => void purged.push(gameId))
  clock.advance(30 * DAY + 1)
  t.equal((await program.post(`/api/games/${game.id}/restore`)).status, 404, 'too late')
  const { signal } = new AbortController()
  await app.games.deletion.purge(signal)
  await app.games.deletion.purge(signal)
  t.same(purged, [game.id])
  for (const table of [
    'games',
    'game_terms',
    'game_features',
    'game_days',
    'game_visitors',
    'game_presence',
    'game_activity',
  ]) {
    const column = table === 'games' ? 'id' : 'game_id'
    const rows = await app.db.query<{ id: string }>(`select ${column} as id from ${table}`)
    t.notOk(
      rows.some(({ id }) => id === game.id),
      table,
    )
  }
  t.equal(await app.identity.apps.find(game.clientId), null, 'nor can anyone sign in to it')
  t.match(await app.games.get(kept.id), { title: 'Kept' })
  await app.games.media.sweep(signal)
  for await (const { key } of app.storage.list('games/media/')) t.fail(key)
  t.equal((await app.games.create(player.id, { title: 'Pong', description: '' })).slug, 'pong-2')
})

t.test('a game is deleted for good by its slug, in the trash or not, and its bytes count no more', async (t) => {
  const platform = await startPlatform(t)
  const { app, clock } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const other = await platform.program(await platform.signUp())
  for (const trashed of [false, true]) {
    const game = await platform.game(player, { title: 'Pong' })
    await sendFile(program, `/api/games/${game.id}/media`, png(4, 4))
    await deploy(platform, program, game.id, build(game.id))
    const used = async () => (await program.get('/api/usage')).body.quotas.storageBytesPerPlayer.used
    t.ok((await used()) > 0)
    if (trashed) await program.delete(`/api/games/${game.id}`)
    const forever = `/api/games/${game.slug}?forever=true`
    t.equal((await other.delete(`${forever}&confirm=${game.slug}`)).status, 404)
    t.match(await program.delete(forever), { status: 400, body: { error: { message: new RegExp(game.slug) } } })
    t.equal((await program.delete(`${forever}&confirm=another`)).status, 400)
    t.equal((await program.delete(`${forever}&confirm=${game.slug}`)).status, 204)
    t.equal(await used(), 0)
    t.equal((await program.delete(`${forever}&confirm=${game.slug}`)).status, 404)
    t.equal((await program.post(`/api/games/${game.id}/restore`)).status, 404)
    t.same((await program.get('/api/games?deleted=true')).body.games, [])
    t.equal(await app.games.evenDeleted(game.id), null)
    t.equal(await app.identity.apps.find(game.clientId), null)
    // What a request under way stores afterwards goes with the row.
    app.games.count.play(game.id, 'somebody')
    await app.games.count.flush()
  }
  clock.advance(11 * 60_000)
  await app.games.deletion.purge(new AbortController().signal)
  t.same(await app.db.query('select id from games'), [])
  t.same(await app.db.query('select game_id from game_days'), [])
  t.equal((await app.games.create(player.id, { title: 'Pong', description: '' })).slug, 'pong-3', 'addresses rest')
})

t.test('a game whose deletion for good is cut off is gone, and the purge deletes the rest of it', async (t) => {
  const platform = await startPlatform(t)
  const { app, clock } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player, { title: 'Pong' })
  await sendFile(program, `/api/games/${game.id}/media`, png(4, 4))
  await deploy(platform, program, game.id, build('live'))
  const cut = () => Promise.reject(new Error('The process ends here.'))
  for (const steps of ['preparations', 'cleanups'] as const) {
    app.games.deletion[steps].push(cut)
    const { status } = await program.delete(`/api/games/${game.id}?forever=true&confirm=${game.slug}`)
    app.games.deletion[steps].pop()
    t.equal(status, steps === 'preparations' ? 500 : 404, 'it is deleted by the first request')
    t.equal((await platform.stranger.get(`/play/${game.slug}`)).status, 404)
    t.equal((await program.post(`/api/games/${game.id}/restore`)).status, 404)
    t.same((await program.get('/api/games?deleted=true')).body.games, [])
  }
  const { signal } = new AbortController()
  app.games.deletion.cleanups.push(cut)
  clock.advance(11 * 60_000)
  await t.rejects(app.games.deletion.purge(signal), /ends here/)
  app.games.deletion.cleanups.pop()
  t.match(await app.db.query('select id from games'), [{ id: game.id }], 'the rest is one transaction')
  await app.games.deletion.purge(signal)
  for (const table of ['games', 'deploys', 'deploy_manifests', 'game_terms'])
    t.same(await app.db.query(`select * from ${table}`), [], table)
  t.equal((await program.get('/api/usage')).body.quotas.storageBytesPerPlayer.used, 0)
  await assertCountsHold(t, app)
})

t.test('games that are made and deleted again reserve few addresses', async (t) => {
  const platform = await startPlatform(t, {
    only,
    config: { limits: { reservedSlugsPerPlayer: 3, gamesPerPlayer: 3 } },
  })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const create = (title: string) => program.post('/api/games', { title, description: 'A game.' })
  const end = async ({ body: { slug } }: { body: { slug: string } }) =>
    t.equal((await program.delete(`/api/games/${slug}?forever=true&confirm=${slug}`)).status, 204)
  const kept = await create('kept')
  await end(await create('one'))
  await end(await create('two'))
  t.equal((await program.patch('/api/games/kept', { slug: 'moved' })).status, 200)
  t.match(await create('three'), { status: 409, body: { error: { code: 'too_many_reserved_slugs' } } })
  const away = await program.patch('/api/games/moved', { slug: 'again' })
  t.match(away, { status: 409, body: { error: { code: 'too_many_reserved_slugs' } } })
  t.equal((await program.patch(`/api/games/${kept.body.id}`, { title: 'Kept' })).status, 200)
  platform.clock.advance(91 * DAY)
  t.equal((await platform.app.games.create(player.id, { title: 'three', description: '' })).slug, 'three')
})

t.test('the page of my games lists all deleted ones, and deletes them for good', async (t) => {
  const platform = await startPlatform(t)
  const player = await platform.signUp()
  const games = await Promise.all(Array.from({ length: 26 }, (_, n) => platform.game(player, { title: `Old ${n}` })))
  for (const { id } of games) await platform.app.games.deletion.remove(player.id, id)
  const [first] = games.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  if (!first) throw new Error('no game')
  const page = await player.get('/games')
  t.notMatch(page.text, `Type ${first.slug} to confirm`)
  const next = /href="(\/games\?after=[^"#]+)#deleted"/.exec(page.text)?.[1] ?? ''
  t.match((await player.get(next)).text, `Type ${first.slug} to confirm`)
  const wrong = { game: first.id, confirm: 'no' }
  const after = new URLSearchParams(next.slice(next.indexOf('?'))).get('after') as string
  const refused = await player.submit('/games/erase', { ...wrong, after })
  t.match(refused, { status: 400, text: /<details class="confirm" open/ }, 'the form comes back')
  t.match(refused.text, `value="no"`, 'filled')
  t.match(refused.text, `repeat ${first.slug} to confirm`)
  t.match((await player.submit('/games/erase', wrong)).text, `repeat ${first.slug} to confirm`, 'also on another page')
  const erased = await player.submit('/games/erase', { game: first.id, confirm: first.slug })
  t.match(erased, { status: 303, headers: { location: '/games?erased' } })
  t.match((await player.get('/games?erased')).text, /Deleted for good/)
  t.notMatch((await player.get(next)).text, `Type ${first.slug} to confirm`)
})
