import t from 'tap'
import { Counts } from '../../../plugins/games/analytics/counts.ts'
import { startPlatform } from '../../kit/platform.ts'
import { needsPostgres, startPostgres } from '../../kit/postgres.ts'
import { png, sendFile } from './pictures.ts'

const DAY = 86_400_000

t.test('moves, media, analytics, invitations and removals hold on PostgreSQL', needsPostgres, async (t) => {
  const url = await (await startPostgres()).database()
  const platform = await startPlatform(t, {
    config: {
      database: { driver: 'postgres', url },
      secret: 'a secret of the cluster, long enough for it',
      limits: { uploadsPerPlayer: 100 },
    },
  })
  const { app, clock, stranger } = platform
  const [player, friend] = [await platform.signUp(), await platform.signUp()]
  const program = await platform.program(player)
  const games = await Promise.all(
    Array.from({ length: 6 }, (_, index) => platform.game(player, { title: `Game ${index}`, tags: ['ball'] })),
  )
  const [game, ...others] = games
  const answers = await Promise.all(games.map(({ id }) => program.patch(`/api/games/${id}`, { slug: 'wanted' })))
  t.same(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409, 409], 'one address, one game')
  const moved = games[answers.findIndex(({ status }) => status === 200)]
  t.match(await stranger.get(`/games/${moved.slug}`), { status: 302, headers: { location: /^\/games\/wanted$/ } })

  const uploads = await Promise.all(
    Array.from({ length: 14 }, () => sendFile(program, `/api/games/${game.id}/media`, png(4, 4))),
  )
  t.equal(uploads.filter(({ status }) => status === 201).length, 12)
  t.equal((await program.get(`/api/games/${game.id}`)).body.media.length, 12)

  const { db, log, keys } = app
  const second = new Counts({ db, clock, log, key: keys.derive('games/visitors') })
  const nodes = [app.games.count, second]
  for (const [index, { id }] of games.entries()) {
    for (const node of nodes) {
      for (let play = 0; play < 10 * (index + 1); play++) node.play(id, `visitor ${play}`)
      node.signIn(id)
      node.present(id, 5)
    }
  }
  for (let round = 0; round < 3; round++) await Promise.all(nodes.map((node) => node.flush()))
  const last = others.at(-1)
  t.same((await program.get(`/api/games/${last.id}/analytics`)).body.totals, {
    plays: 120,
    uniquePlayers: 60,
    signIns: 2,
    peakPlayers: 10,
  })
  const popular = (await stranger.get('/api/catalog/games?sort=popular&limit=2')).body
  t.match(popular.games, [{ id: last.id, stats: { plays: 120, signIns: 2 } }, {}])
  t.equal((await stranger.get(`/api/catalog/games?sort=popular&cursor=${popular.nextCursor}`)).body.games.length, 4)
  const invented = `9999999999.${last.id}`
  t.equal((await stranger.get(`/api/catalog/games?sort=popular&cursor=${invented}`)).status, 400, 'an invented cursor')
  await db.execute('update games set live_deploy_id = ?', ['dep_00000000000000000000000000'])
  t.same(await app.games.catalog.tags(), [{ tag: 'ball', count: 6 }])

  await app.games.update(player.id, last.id, { visibility: 'private' })
  const { url: invitation } = await app.games.memberInvitations.create(player.id, last.id, { role: 'tester' })
  const link = new URL(invitation).pathname
  t.equal((await friend.submit(link, {})).status, 303)
  t.ok(app.games.visibleTo(friend.id, await app.games.get(last.id)))

  await program.delete(`/api/games/${last.id}`)
  t.equal((await program.post(`/api/games/${last.id}/restore`)).status, 200)
  const [erased] = games
  const { slug } = await app.games.get(erased.id)
  t.equal((await program.delete(`/api/games/${slug}?forever=true&confirm=${slug}`)).status, 204)
  t.equal((await program.post(`/api/games/${erased.id}/restore`)).status, 404)
  await program.delete(`/api/games/${last.id}`)
  clock.advance(31 * DAY)
  await app.games.deletion.purge(new AbortController().signal)
  for (const node of nodes) node.present(last.id, 5)
  await Promise.all(nodes.map((node) => node.flush()))
  for (const table of ['game_days', 'game_presence', 'game_visitors']) {
    t.same(
      await db.query(`select * from ${table} where game_id = ?`, [last.id]),
      [],
      `late counts stay out of ${table}`,
    )
  }
  await app.games.media.sweep(new AbortController().signal)
})
