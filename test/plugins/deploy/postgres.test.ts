import t from 'tap'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import { DeployRow } from '../../../plugins/deploy/entities.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { build, deploy, filesOf, liveBuild, upload } from './build.ts'

t.test('games and deploys hold on PostgreSQL, in parallel too', needsPostgres, async (t) => {
  const postgres = await startPostgres()
  const platform = await startPlatform(t, {
    config: {
      database: { driver: 'postgres', url: await postgres.database() },
      secret: 'x'.repeat(40),
      limits: { uploadsPerPlayer: 100 },
    },
  })
  const { app, clock, stranger } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)

  const made = await Promise.all(
    Array.from({ length: 20 }, () => program.post('/api/games', { title: 'Pong', description: '', tags: ['ball'] })),
  )
  t.ok(made.every(({ status }) => status === 201))
  t.equal(new Set(made.map(({ body }) => body.slug)).size, 20, 'twenty games of one title have twenty addresses')
  const game = made[0]?.body
  t.equal((await stranger.get('/api/catalog/games?q=pon&tag=ball&limit=5')).body.games.length, 5)
  t.equal((await stranger.get('/api/catalog/games?sort=popular')).body.games.length, 20)
  t.equal((await player.get('/?q=pong')).status, 200)
  const changes = [{ tags: ['a'] }, { playable: false }, { settings: { multiplayer: { guests: true } } }]
  await Promise.all(changes.map((change) => program.patch(`/api/games/${game.id}`, change)))
  t.match((await program.get(`/api/games/${game.id}`)).body, {
    tags: ['a'],
    playable: false,
    settings: { multiplayer: { guests: true } },
  })

  const first = build('first', 20)
  await deploy(platform, program, game.id, first)
  t.same(await liveBuild(platform, game.id), first)
  t.equal((await deploy(platform, program, game.id, first)).started.body.unchanged, 20)

  const shared = build('shared', 20)
  const started = await Promise.all(
    Array.from({ length: 6 }, async (_, index) => {
      const files = { ...shared, 'index.html': `build ${index}` }
      const { body } = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files) })
      for (const wanted of body.uploads) await upload(platform, wanted, files)
      return body.deployId as string
    }),
  )
  const finalized = await Promise.all(
    [...started, ...started].map((deployId) => program.post(`/api/deploy/${deployId}/finalize`)),
  )
  for (const { status } of finalized) t.equal(status, 200)
  const live = await app.db.em().find(DeployRow, { gameId: game.id, state: 'live' })
  t.same(
    live.map(({ id }) => id),
    [(await app.games.get(game.id)).liveDeployId],
  )
  t.match(await liveBuild(platform, game.id), { 'js/0.js': shared['js/0.js'] })

  const abandoned = await program.post('/api/deploy', { gameId: game.id, files: filesOf(build('abandoned')) })
  for (const wanted of abandoned.body.uploads) await upload(platform, wanted, build('abandoned'))
  clock.advance(26 * 3_600_000)
  await new GarbageCollector(app).run(new AbortController().signal)
  t.match(await app.deploys.get(player.id, abandoned.body.deployId), { state: 'expired' })
  t.same(Object.keys(await liveBuild(platform, game.id)).length, 20)
  await app.games.remove(player.id, game.id)
  t.equal(await app.games.bySlug(game.slug), null)
})
