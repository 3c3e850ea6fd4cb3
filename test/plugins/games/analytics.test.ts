import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'

const only = ['oauth-idp', 'tokens', 'quotas', 'games']

const DAY = 86_400_000

t.test('plays, players, sign-ins and the peak are counted by the day, without a write for each', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, clock } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const game = await platform.game(player)
  const { count } = app.games
  for (let play = 0; play < 1000; play++) count.play(game.id, `visitor ${play % 40}`)
  for (let signIn = 0; signIn < 7; signIn++) count.signIn(game.id, player.id)
  count.present(game.id, 3)
  count.present(game.id, 12)
  count.present(game.id, 5)
  t.same(await app.db.query('select * from game_days'), [], 'nothing is written yet')
  await count.flush()
  const today = { date: '2026-11-21', plays: 1000, uniquePlayers: 40, signIns: 7, peakPlayers: 12 }
  const { days, totals } = (await program.get(`/api/games/${game.id}/analytics`)).body
  t.equal(days.length, 30)
  t.same(days.at(-1), today)
  t.same(days[0], { date: '2026-10-23', plays: 0, uniquePlayers: 0, signIns: 0, peakPlayers: 0 })
  t.same(totals, { plays: 1000, uniquePlayers: 40, signIns: 7, peakPlayers: 12 })
  t.match((await program.get(`/api/games/${game.id}`)).body.stats, { plays: 1000, signIns: 7 })

  count.play(game.id, 'visitor 1')
  count.play(game.id, 'somebody new')
  clock.advance(DAY)
  count.play(game.id, 'visitor 1')
  const range = await program.get(`/api/games/${game.id}/analytics?from=2026-11-21&to=2026-11-22`)
  t.same(range.body.days, [
    { ...today, plays: 1002, uniquePlayers: 41 },
    // Five players are still in the game.
    { date: '2026-11-22', plays: 1, uniquePlayers: 1, signIns: 0, peakPlayers: 5 },
  ])
})

t.test('spans that make no sense are refused, and another’s game is 404', async (t) => {
  const platform = await startPlatform(t, { only })
  const player = await platform.signUp()
  const program = await platform.program(player)
  const { id } = await platform.game(player)
  const ask = async (query: string) => (await program.get(`/api/games/${id}/analytics?${query}`)).status
  t.equal(await ask('from=2026-11-22&to=2026-11-21'), 400)
  t.equal(await ask('from=2020-01-01'), 400)
  t.equal(await ask('from=yesterday'), 400)
  t.equal(await ask('from=2026-02-30'), 400)
  t.equal(await ask('to=2026-01-05'), 200)
  t.equal(await ask('from=2025-11-21&to=2026-11-21'), 200)
  const other = await platform.program(await platform.signUp())
  t.equal((await other.get(`/api/games/${id}/analytics`)).status, 404)
})

t.test('two nodes add up, and neither counts the same player twice', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, clock } = platform
  const player = await platform.signUp()
  const game = await platform.game(player)
  const { Counts } = await import('../../../plugins/games/analytics/counts.ts')
  const { db, log, keys } = app
  const second = new Counts({ db, clock, log, key: keys.derive('games/visitors') })
  const first = app.games.count
  for (const [node, visitors] of [
    [first, ['a', 'b', 'c']],
    [second, ['b', 'c', 'd', 'd']],
  ] as const)
    for (const visitor of visitors) node.play(game.id, visitor)
  first.present(game.id, 4)
  await first.flush()
  second.present(game.id, 6)
  await Promise.all([second.flush(), first.flush()])
  await Promise.all([second.flush(), first.flush()])
  const { totals } = await app.games.analytics(player.id, game.id, {})
  t.same(totals, { plays: 7, uniquePlayers: 4, signIns: 0, peakPlayers: 10 })
  second.present(game.id, 0)
  await second.flush()
  first.present(game.id, 9)
  await first.flush()
  t.equal((await app.games.analytics(player.id, game.id, {})).totals.peakPlayers, 10, 'those who left are not added')
})

t.test('what could not be written is written later, and a stop writes what there is', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, clock } = platform
  const player = await platform.signUp()
  const game = await platform.game(player)
  const { Counts } = await import('../../../plugins/games/analytics/counts.ts')
  let down = true
  const outage = Object.create(app.db, {
    transaction: {
      value: (work: never) => (down ? Promise.reject(new Error('the database is away')) : app.db.transaction(work)),
    },
  })
  const count = new Counts({ db: outage, clock, log: app.log, key: app.keys.derive('games/visitors') })
  count.play(game.id, 'a')
  await count.flush()
  count.play(game.id, 'b')
  count.signIn(game.id)
  await count.flush()
  down = false
  await count.flush()
  const { totals } = await app.games.analytics(player.id, game.id, {})
  t.match(totals, { plays: 2, uniquePlayers: 2, signIns: 1 })

  app.games.count.play(game.id, 'c')
  const written: number[] = []
  const transaction = app.db.transaction.bind(app.db)
  app.db.transaction = async (work) => {
    const result = await transaction(work)
    written.push((await app.db.query<{ plays: number }>('select plays from games'))[0]?.plays ?? 0)
    return result
  }
  await app.close()
  // The platform's other transactions are seen here too, before and after that of the counts.
  t.equal(written.at(-1), 3, 'the last play is written before the database closes')
})

t.test('the counts of a game that is gone for good are dropped, those of the others are not', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app } = platform
  const player = await platform.signUp()
  const program = await platform.program(player)
  const [gone, other] = [await platform.game(player), await platform.game(player)]
  for (const { id } of [gone, other]) app.games.count.present(id, 2)
  await app.games.count.flush()
  t.equal((await program.delete(`/api/games/${gone.id}?forever=true&confirm=${gone.slug}`)).status, 204)
  for (const { id } of [gone, other]) app.games.count.play(id, 'visitor')
  await app.games.count.flush()
  for (const table of ['game_days', 'game_presence', 'game_visitors']) {
    const rows = await app.db.query<{ game_id: string }>(`select distinct game_id from ${table}`)
    t.same(rows, [{ game_id: other.id }], table)
  }
})

t.test('nobody can be found in what is kept, and hashes go when their day is over', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, clock } = platform
  const player = await platform.signUp()
  const [game, other] = [await platform.game(player), await platform.game(player)]
  app.games.count.play(game.id, player.id)
  app.games.count.play(other.id, player.id)
  await app.games.count.flush()
  const hashes = async () =>
    (await app.db.query<{ visitor: string }>('select visitor from game_visitors')).map((row) => row.visitor)
  const today = await hashes()
  t.equal(new Set(today).size, 2, 'not even across two games')
  t.notMatch(today.join(), player.id)
  clock.advance(DAY)
  app.games.count.play(game.id, player.id)
  await app.games.count.flush()
  await until(async () => (await hashes()).length === 1)
  t.notOk(today.includes((await hashes())[0] ?? ''), 'nor across two days')
  t.match((await app.games.analytics(player.id, game.id, {})).totals, { plays: 2, uniquePlayers: 2 })
})

t.test('the most played come first, found by an index, page by page', async (t) => {
  const platform = await startPlatform(t, { only })
  const { app, stranger } = platform
  const player = await platform.signUp()
  const plays = { Alpha: 3, Beta: 9, Gamma: 0, Delta: 9, Epsilon: 1 }
  for (const [title, times] of Object.entries(plays)) {
    const { id } = await app.games.create(player.id, { title, description: '' })
    for (let play = 0; play < times; play++) app.games.count.play(id, 'somebody')
    platform.clock.advance(1)
  }
  await app.games.count.flush()
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await stranger.get(`/api/catalog/games?sort=popular&limit=2${cursor && `&cursor=${cursor}`}`)
    seen.push(...body.games.map((game: { title: string }) => game.title))
    cursor = body.nextCursor
  }
  t.same(seen, ['Delta', 'Beta', 'Alpha', 'Epsilon', 'Gamma'])
  const plan = await app.db.query<{ detail: string }>(
    "explain query plan select g.id from games g where g.visibility = 'public' and g.deleted_at is null order by g.plays desc, g.id desc limit 21",
  )
  t.match(plan.map(({ detail }) => detail).join(), /games_visibility_deleted_at_plays_id_index/)
  t.notMatch(plan.map(({ detail }) => detail).join(), /TEMP B-TREE/, 'nothing is sorted')
})
