import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { transform } from 'esbuild'
import t, { type Test } from 'tap'
import { StoredScriptLogs } from '../../../plugins/multiplayer/script-logs/script-logs.ts'
import type { ScriptLogLine } from '../../../plugins/multiplayer/scripts/interface.ts'
import { type Platform, startPlatform } from '../../kit/platform.ts'
import { filesOf, upload } from '../deploy/build.ts'

async function withLogs(t: Test) {
  const platform = await startPlatform(t, { listen: true })
  const player = await platform.signUp()
  const game = await platform.game(player)
  const program = await platform.program(player)
  const logs = new StoredScriptLogs(platform.app)
  const say = (...texts: string[]) =>
    logs.append(
      game.id,
      texts.map((text) => line(text)),
    )
  const read = async (query = '') => (await program.get(`/api/games/${game.id}/logs${query}`)).body
  return { platform, player, game, program, logs, say, read }
}

const line = (text: string, more: Partial<ScriptLogLine> = {}): ScriptLogLine => ({
  at: Date.UTC(2026, 10, 21, 12),
  level: 'log',
  roomId: 'lobby',
  deployId: 'dep_1',
  text,
  ...more,
})

const texts = (lines: { text: string }[]) => lines.map(({ text }) => text)

t.test('lines are kept in their order, with their place', async (t) => {
  const { game, logs, say, read, program } = await withLogs(t)
  t.same(await read(), { lines: [], nextCursor: null })
  say('one', 'two')
  logs.append(game.id, [line('TypeError: x', { level: 'error', line: 3, column: 7, stack: 'at tick (room.js:3:7)' })])
  await logs.flush()
  const { lines, nextCursor } = await read()
  t.same(texts(lines), ['TypeError: x', 'two', 'one'])
  t.match(lines[0], {
    id: /^log_/,
    at: '2026-11-21T12:00:00.000Z',
    level: 'error',
    roomId: 'lobby',
    deployId: 'dep_1',
    line: 3,
    column: 7,
    stack: /room\.js:3:7/,
    source: null,
  })
  t.match(lines[1], { level: 'log', line: null, column: null, stack: null })
  t.equal(nextCursor, null)
  const first = await read('?limit=2')
  t.same(texts(first.lines), ['TypeError: x', 'two'])
  t.same(texts((await read(`?limit=2&cursor=${first.nextCursor}`)).lines), ['one'])
  t.equal((await program.get(`/api/games/${game.slug}/logs`)).status, 200, 'by slug too')
})

t.test('the last thousand lines of a game stay, a flood is cut, and every text can be stored', async (t) => {
  const { platform, game, logs, say, read } = await withLogs(t)
  const { app, clock } = platform
  const count = async () =>
    Number((await app.db.query<{ n: number }>('select count(*) as n from room_log_lines', []))[0]?.n)
  say(...Array.from({ length: 900 }, (_, index) => `line ${index}`))
  await logs.flush()
  clock.advance(60_000)
  say(...Array.from({ length: 1500 }, (_, index) => `more ${index}`))
  await logs.flush()
  t.equal(await count(), 1000)
  const { lines } = await read('?limit=3')
  t.match(lines[0], { level: 'error', text: '500 lines were dropped: the rooms of a game may log 200 lines a second.' })
  t.equal(lines[1].text, 'more 999')
  clock.advance(1000)
  say(...Array.from({ length: 300 }, (_, index) => `later ${index}`))
  await logs.flush()
  t.same(texts((await read('?limit=2')).lines)[1], 'later 199', 'a second later there is room for 200')

  clock.advance(60_000)
  say('a\0b', '\ud800', 'x'.repeat(10_000))
  await logs.flush()
  const stored = texts((await read('?limit=3')).lines)
  t.same(stored, [`${'x'.repeat(2000)}…`, '�', 'a�b'])

  const other = await platform.game(await platform.signUp(), { title: 'Other' })
  logs.append(other.id, [line('elsewhere')])
  logs.append('gam_00000000000000000000000000', [line('of no game')])
  await logs.flush()
  t.equal(await count(), 1001, 'each game has its own, and a game that is gone has none')
  await app.db.transaction((em) => logs.ofGame(em, game.id))
  t.equal(await count(), 1, 'they go with their game')
})

t.test('the tab Rooms shows what ended rooms before the exceptions, with or without a line', async (t) => {
  const { game, player, logs, read } = await withLogs(t)
  const at = (second: number) => Date.UTC(2026, 10, 21, 12, 0, second)
  logs.append(game.id, [
    line('A call of the script took more than 20 ms, in `tick`.', { level: 'fatal', at: at(1) }),
    line('The script threw 20 exceptions within a minute.', { level: 'fatal', at: at(2) }),
    line('TypeError: thrown', { level: 'error', at: at(3), line: 7, column: 1 }),
    line('3 lines were left out, since the room logged too fast.', { level: 'error', at: at(4) }),
  ])
  await logs.flush()
  t.equal((await read()).lines.at(-1).level, 'fatal')
  const [, section = ''] =
    /Last errors([\s\S]*?)<h2[^>]*>Log</.exec((await player.get(`/games/${game.slug}/rooms`)).text) ?? []
  const places = ['20 exceptions within', 'more than 20 ms, in', 'TypeError: thrown'].map((text) =>
    section.indexOf(text),
  )
  t.notOk(places.includes(-1), section)
  t.same(
    places,
    places.toSorted((one, other) => one - other),
  )
  t.equal(section.split('It ended the room').length, 3)
  t.notMatch(section, /left out|goes on after one/)
})

t.test('the place of an exception is that in the file that was bundled', async (t) => {
  const { platform, game, player, program, logs, read } = await withLogs(t)
  const source = `\n\ninterface Move { x: number }\nexport const open = () => {\n  throw new Error('<b>')\n}\n`
  const { code } = await transform(source, { loader: 'ts', sourcemap: 'inline', sourcefile: 'src/<b>.ts' })
  const files = { 'index.html': '<title>Pong</title>', 'room.js': code }
  const begun = await program.post('/api/deploy', { gameId: game.id, files: filesOf(files), room: 'room.js' })
  for (const wanted of begun.body.uploads) await upload(platform, wanted, files)
  const { deployId } = begun.body
  t.equal((await program.post(`/api/deploy/${deployId}/finalize`)).status, 200)
  const at = code.split('\n').findIndex((text) => text.includes('throw')) + 1
  logs.append(game.id, [
    line('said', { deployId }),
    line('Error: <b>', { deployId, level: 'error', line: at, column: 9 }),
    line('Error: gone', { level: 'error', line: 3, column: 7 }),
  ])
  await logs.flush()
  t.match((await read()).lines, [
    { text: 'Error: gone', line: 3, source: null },
    { text: 'Error: <b>', line: at, column: 9, source: { path: 'src/<b>.ts', line: 5, column: 9 } },
    { text: 'said', line: null, source: null },
  ])
  const page = (await player.get(`/games/${game.slug}/rooms`)).text
  t.match(page, '<figcaption>src/&lt;b>.ts:5:9</figcaption>')
  t.match(page, /<mark> {4}5 {4}throw new Error/)
  t.match(page, /Line 3 of a script that is gone/)
  t.match(page, /lobby src\/&lt;b>\.ts:5:9<\/code>/, 'in the log, too')
})

/** Opens the stream of a game's log, and returns its events. */
async function follow(t: Test, platform: Platform, path: string, token: string) {
  const { port } = platform.app.server.address() as { port: number }
  const headers = { authorization: `Bearer ${token}`, host: new URL(platform.app.origins.portal).host }
  const asked = request({ host: '127.0.0.1', port, path, headers }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  t.teardown(() => asked.destroy())
  let text = ''
  answer.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
    answer.emit('piece')
  })
  return {
    status: answer.statusCode,
    async next(): Promise<string[]> {
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end !== -1) {
          const event = text.slice(0, end)
          text = text.slice(end + 2)
          if (event.startsWith('event: lines')) return texts(JSON.parse(event.slice(event.indexOf('data: ') + 6)).lines)
          continue
        }
        await once(answer, 'piece', { signal: AbortSignal.timeout(20_000) })
      }
    },
  }
}

t.test('a log is followed: the newest lines, then each further one, once', async (t) => {
  const { platform, player, game, logs, say } = await withLogs(t)
  say('one', 'two', 'three')
  await logs.flush()
  const { body } = await player.post('/api/tokens', { label: 'logs', scopes: ['games:read'] })
  const stream = await follow(t, platform, `/api/games/${game.id}/logs?follow=true&limit=2`, body.token)
  t.equal(stream.status, 200)
  t.same(await stream.next(), ['two', 'three'])
  say('four')
  await logs.flush()
  t.same(await stream.next(), ['four'])
  platform.clock.advance(3000)
  say('five', 'six')
  await logs.flush()
  t.same(await stream.next(), ['five', 'six'], 'nothing twice')
  platform.clock.advance(30_000)
  say('six')
  await logs.flush()
  t.same(await stream.next(), ['six'], 'the same words again are another line')
})

t.test('logs are for the owner of the game', async (t) => {
  const { platform, game, player } = await withLogs(t)
  const other = await platform.program(await platform.signUp())
  t.equal((await other.get(`/api/games/${game.id}/logs`)).status, 404)
  t.equal((await platform.stranger.get(`/api/games/${game.id}/logs`)).status, 401)
  t.equal((await player.get(`/api/games/${game.id}/logs`)).status, 200)
  t.equal((await player.get(`/api/games/${game.id}/logs?limit=0`)).status, 400)
})
