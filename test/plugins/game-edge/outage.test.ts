import t from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { launchPostgres, needsPostgres } from '../../kit/postgres.ts'
import { deploy } from './kit.ts'

t.test('public games are served while the database is away', needsPostgres, async (t) => {
  const postgres = await launchPostgres()
  t.teardown(postgres.remove)
  const platform = await startPlatform(t, {
    config: { database: { driver: 'postgres', url: await postgres.database() }, secret: 'x'.repeat(40) },
  })
  const owner = await platform.signUp()
  const program = await platform.program(owner)
  const games = []
  for (const visibility of ['public', 'private']) {
    const game = await platform.game(owner, { visibility })
    await deploy(platform, program, game.id, { 'index.html': 'one', 'data.json': '{}' })
    games.push(game)
  }
  const [open, closed] = games as [(typeof games)[0], (typeof games)[0]]
  const get = (game: typeof open, path: string) => platform.stranger.get(path, { host: platform.gameHost(game.slug) })
  t.equal((await get(open, '/')).text, 'one')
  t.equal((await get(closed, '/')).status, 404, 'a stranger sees nothing of a private one')

  await postgres.stop()
  platform.clock.advance(6000)
  t.match(await get(open, '/'), { status: 200, text: 'one' })
  t.match(await get(open, '/data.json'), { status: 200, text: '{}' }, 'a file that nobody asked for before, too')
  platform.clock.advance(60_000)
  t.match(await get(open, '/'), { status: 200, text: 'one' }, 'a minute later')
  t.match(await program.patch(`/api/games/${open.id}`, { title: 'Two' }), {
    status: 503,
    headers: { 'retry-after': '5' },
    body: { error: { code: 'database_unavailable' } },
  })

  await postgres.start()
  await deploy(platform, program, open.id, { 'index.html': 'two' })
  platform.clock.advance(6000)
  t.match(await get(open, '/'), { status: 200, text: 'two' }, 'as it is, once the database is back')
  t.equal((await get(closed, '/')).status, 404)
})
