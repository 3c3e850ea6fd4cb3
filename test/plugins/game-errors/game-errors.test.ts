import { transform } from 'esbuild'
import t, { type Test } from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { build, deploy } from '../deploy/build.ts'

const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/141.0.0.0 Safari/537.36'
const MINUTE = 60_000

type Sent = Record<string, unknown>

const error = (fields: Sent = {}) => ({
  message: 'TypeError: x is null',
  path: 'main.js',
  line: 3,
  column: 7,
  stack: 'at draw (main.js:3:7)',
  count: 1,
  ...fields,
})

async function withGame(t: Test, config: Record<string, unknown> = {}) {
  const platform = await startPlatform(t, { config })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const { deployId } = await deploy(platform, program, game.id, build('one'))
  const host = platform.gameHost(game.slug)
  const origin = platform.app.origins.game(game.slug)
  const post = (body: unknown, { at = host, headers = {} }: { at?: string; headers?: Record<string, string> } = {}) =>
    platform.stranger.post('/__service/errors', body, {
      host: at,
      headers: { origin: at === host ? origin : origin.replace(host, at), 'user-agent': CHROME, ...headers },
    })
  const report = async (...errors: Sent[]) => {
    const answer = await post({ errors, age: 0 })
    t.equal(answer.status, 204, answer.text)
  }
  const list = async () => {
    await platform.app.gameErrors.flush()
    return (await program.get(`/api/games/${game.id}/errors`)).body.errors as Sent[]
  }
  return { platform, player, program, game, deployId, host, post, report, list }
}

t.test('errors of players are counted, the latest first', async (t) => {
  const { platform, game, program, deployId, report, list } = await withGame(t)
  t.same(await list(), [])
  await report(error(), error({ message: 'Unhandled: no', path: null, line: null, column: null, stack: null }))
  const [first] = await list()
  t.match(first, { id: /^err_/, count: 1, deployId, browser: 'Chrome on Linux', firstAt: '2026-11-21T12:00:00.000Z' })
  platform.clock.advance(MINUTE)
  await report(error({ count: 12, stack: 'at tick' }))
  const errors = await list()
  t.match(errors, [
    {
      message: 'TypeError: x is null',
      path: 'main.js',
      line: 3,
      column: 7,
      source: null,
      stack: 'at tick',
      count: 13,
      firstAt: '2026-11-21T12:00:00.000Z',
      lastAt: '2026-11-21T12:01:00.000Z',
    },
    { message: 'Unhandled: no', path: null, source: null, stack: null, count: 1 },
  ])
  t.equal(errors.length, 2)
  t.equal((await program.get(`/api/games/${game.slug}/errors`)).status, 200, 'by slug too')

  await report(error({ message: 'no player 17' }), error({ message: 'no player 18' }), error({ line: 4 }))
  t.equal((await list()).length, 4, 'numbers in a message make no other error, and another line does')
  t.equal((await program.delete(`/api/games/${game.id}/errors`)).status, 204)
  t.same(await list(), [])
})

t.test('an error belongs to the version whose page threw it', async (t) => {
  const { platform, program, game, deployId, host, post, list } = await withGame(t)
  const reportFrom = async (age: number) => {
    t.equal((await post({ errors: [error()], age })).status, 204)
    return (await list()).map((found) => [found.deployId, found.count])
  }
  platform.clock.advance(MINUTE)
  t.same(await reportFrom(1000), [[deployId, 1]])
  const { deployId: next } = await deploy(platform, program, game.id, build('two'))
  platform.clock.advance(MINUTE)
  t.same(await reportFrom(1000), [
    [next, 1],
    [deployId, 1],
  ])
  t.same((await reportFrom(2 * MINUTE))[0], [null, 1], 'an open page of before')

  const begun = await program.post(`/api/deploy/${deployId}/rollback`)
  t.equal(begun.status, 200)
  platform.clock.advance(1000)
  t.same((await reportFrom(0))[0], [deployId, 2])

  const preview = host.replace(game.slug, `${game.slug}--${next.slice(-10).toLowerCase()}`)
  t.equal((await post({ errors: [error()], age: 0 }, { at: preview })).status, 204)
  t.match(
    (await list()).find((found) => found.deployId === next),
    { count: 2 },
    'a preview',
  )
})

t.test('only pages of the game report, within limits', async (t) => {
  const { platform, post, list, host } = await withGame(t)
  const body = { errors: [error()], age: 0 }
  for (const origin of ['https://elsewhere.example', 'null', platform.portal, ''])
    t.match(await post(body, { headers: { origin } }), { status: 403, body: { error: { code: 'forbidden' } } }, origin)
  for (const wrong of [
    {},
    { errors: [], age: 0 },
    { errors: [error()] },
    { errors: [error()], age: -1 },
    { errors: Array(11).fill(error()), age: 0 },
    { errors: [error({ message: '' })], age: 0 },
    { errors: [error({ message: 'x'.repeat(501) })], age: 0 },
    { errors: [error({ stack: 'x'.repeat(2001) })], age: 0 },
    { errors: [error({ line: 0 })], age: 0 },
    { errors: [error({ count: 0 })], age: 0 },
    { errors: [error({ message: 'a\0b' })], age: 0 },
    { errors: [error()], age: 0, playerId: 'x' },
  ])
    t.match(
      await post(wrong),
      { status: 400, body: { error: { code: 'invalid_request' } } },
      JSON.stringify(wrong).slice(0, 80),
    )
  const longest = error({ message: 'の'.repeat(500), path: 'の'.repeat(500), stack: 'の'.repeat(2000) })
  t.equal((await post({ errors: Array(10).fill(longest), age: 0 })).status, 204, 'the longest report')
  t.equal((await post({ errors: Array(20).fill(longest), age: 0 })).status, 413)
  t.equal((await list()).length, 1)
  t.match(await post(body, { at: host.replace(/^[^.]+/, 'nothing') }), { status: 404 })
})

t.test('an address reports so often', async (t) => {
  const { post } = await withGame(t, { limits: { rateLimits: true } })
  const statuses = []
  for (let index = 0; index < 25; index++) statuses.push((await post({ errors: [error()], age: 0 })).status)
  t.same(statuses, [...Array(20).fill(204), ...Array(5).fill(429)])
})

t.test('a private game and a suspended one take nothing from strangers', async (t) => {
  const { game, player, program, post, list, platform } = await withGame(t)
  await program.patch(`/api/games/${game.id}`, { visibility: 'private' })
  t.equal((await post({ errors: [error()], age: 0 })).status, 404)
  t.same(await list(), [])
  await program.patch(`/api/games/${game.id}`, { visibility: 'public' })
  const other = await platform.signUp()
  t.equal((await other.get(`/games/${game.slug}/errors`)).status, 404, 'the list is for makers')
  const others = await platform.program(other)
  t.equal((await others.get(`/api/games/${game.id}/errors`)).status, 404)
  t.equal((await others.delete(`/api/games/${game.id}/errors`)).status, 404)
  t.equal((await player.get(`/games/${game.slug}/errors`)).status, 200)
})

t.test('the newest hundred stay for thirty days, and go with the game', async (t) => {
  const { game, platform, report, list, program } = await withGame(t)
  const { gameErrors, db } = platform.app
  const add = (from: number, to: number) => {
    for (let index = from; index < to; index++) {
      platform.clock.advance(1000)
      const { gameId, deployId, browser } = { gameId: game.id, deployId: null, browser: 'Firefox' }
      gameErrors.add({ gameId, deployId, browser }, [{ ...error({ line: index + 1 }), stack: null } as never])
    }
  }
  add(0, 60)
  await gameErrors.flush()
  add(60, 130)
  const kept = await list()
  t.equal(kept.length, 100)
  t.match(kept[0], { line: 130 })
  t.match(kept.at(-1), { line: 31 })

  const count = async () => Number((await db.query<{ n: number }>('select count(*) as n from game_errors', []))[0]?.n)
  platform.clock.advance(29.99 * 86_400_000)
  await gameErrors.sweep(AbortSignal.timeout(60_000))
  t.equal(await count(), 100)
  platform.clock.advance(60_000 + 0.01 * 86_400_000)
  await gameErrors.sweep(AbortSignal.timeout(60_000))
  t.ok((await count()) < 100, 'thirty days after the last occurrence')

  gameErrors.add({ gameId: 'gam_00000000000000000000000000', deployId: null, browser: 'Firefox' }, [error() as never])
  await report(error({ message: 'last' }))
  t.ok((await list()).some(({ message }) => message === 'last'))
  const gone = await program.delete(`/api/games/${game.id}?forever=true&confirm=${game.slug}`)
  t.equal(gone.status, 204, gone.text)
  gameErrors.add({ gameId: game.id, deployId: null, browser: 'Firefox' }, [error() as never])
  await gameErrors.flush()
  const left = async () => (await db.query('select id from game_errors where game_id <> ?', [game.id])).length
  t.equal(await left(), 0, 'a game that is none has none')
})

t.test('the page lists the errors, as text, and forgets them', async (t) => {
  const { game, player, report, platform } = await withGame(t)
  const page = async (query = '') => (await player.get(`/games/${game.slug}/errors${query}`)).text
  t.match(await page(), /&lt;script src=&quot;\/__service\/errors\.js|&lt;script src="\/__service\/errors\.js/)
  await report(error({ message: '<img src=x onerror=alert(1)>', count: 1234, stack: '</pre><b>' }))
  await platform.app.gameErrors.flush()
  const text = await page()
  t.match(text, '&lt;img src=x onerror=alert(1)>')
  t.notMatch(text, /<img src=x|<\/pre><b>/)
  t.match(text, /1,234 times/)
  t.match(text, 'the live version')
  t.match(text, '<code>main.js:3:7</code>')
  t.match(text, 'Chrome on Linux')
  const cleared = await player.post(`/games/${game.slug}/errors/clear`, '')
  t.match(cleared, { status: 303, headers: { location: `/games/${game.slug}/errors?done=clear` } })
  t.match(await page('?done=clear'), /The errors are forgotten[\s\S]*No errors reported/)
})

t.test('the place of an error is that in the file that was bundled', async (t) => {
  const { platform, game, player, program, report, list } = await withGame(t)
  const source = `// Draws.\nexport function draw(canvas: { width: number } | null) {\n  return canvas!.width\n}\n`
  const { code, map } = await transform(source, {
    loader: 'ts',
    minify: true,
    sourcemap: true,
    sourcefile: 'src/draw.ts',
  })
  await deploy(platform, program, game.id, { ...build('three'), 'assets/draw.js': code, 'assets/draw.js.map': map })
  const column = code.indexOf('.width') + 2
  await report(
    error({ path: 'assets/draw.js', line: 1, column }),
    error({ path: 'assets/draw.js', line: 99, column: 1 }),
    error({ path: 'https://elsewhere.example/draw.js', line: 1, column }),
    error({ path: 'assets/draw.js', line: null, column: null }),
  )
  const byLine = (await list()).map(({ path, line, source: found }) => ({ path, line, source: found }))
  t.match(
    byLine.find(({ path, line }) => path === 'assets/draw.js' && line === 1),
    {
      source: { path: 'src/draw.ts', line: 3, column: 18, excerpt: { from: 1, lines: { 2: /canvas!\.width/ } } },
    },
  )
  t.equal(byLine.filter(({ source: found }) => found === null).length, 3)
  const page = (await player.get(`/games/${game.slug}/errors`)).text
  t.match(page, /src\/draw\.ts:3:18<\/figcaption>/)
  t.match(page, /<mark> {4}3 {4}return canvas!\.width/)
  t.match(page, '<code>assets/draw.js:99:1</code>')
})
