import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { png, sendFile } from './pictures.ts'

const only = ['oauth-idp', 'tokens', 'quotas', 'games']

const DAY = 86_400_000

t.test('a deleted game can be brought back as it was', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, clock } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const { oauth, integrationPrompt, ...game } = await platform.game(player, { title: 'Pong', tags: ['ball'] })
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
  for (const table of ['games', 'game_terms', 'game_days', 'game_visitors', 'game_presence', 'game_activity']) {
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
