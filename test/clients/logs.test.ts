// Reading and following the log of room scripts: by the SDK, and by the command line's library.
import t, { type Test } from 'tap'
import { Api } from '../../clients/cli/api.ts'
import { followLogs, formatLine, type LogLine, readLogs } from '../../clients/cli/logs.ts'
import { createClient, followGameLogs } from '../../clients/sdk/index.ts'
import { newId } from '../../core/ids.ts'
import { RoomLogLine } from '../../plugins/multiplayer/script-logs/entities.ts'
import { StoredScriptLogs } from '../../plugins/multiplayer/script-logs/script-logs.ts'
import { startPlatform } from '../kit/platform.ts'

async function openPlatform(t: Test) {
  const platform = await startPlatform(t, { listen: true })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const token = (await platform.program(owner)).token as string
  const logs = new StoredScriptLogs(platform.app)
  const say = async (...texts: string[]) => {
    const at = platform.clock.now().getTime()
    logs.append(
      game.id,
      texts.map((text) => ({ at, level: 'log' as const, roomId: 'lobby', deployId: 'dep_1', text })),
    )
    await logs.flush()
  }
  /** Makes a line of another node, which stores it and tells of it later. */
  const sayElsewhere = (text: string) => {
    const { db, events, clock } = platform.app
    const at = clock.now()
    const line = { at, level: 'log' as const, roomId: 'lobby', deployId: 'dep_1', text }
    const row = { id: newId('log', at), gameId: game.id, ...line, line: null, columnNumber: null, stack: null }
    return {
      store: () => db.em().insert(RoomLogLine, row),
      tell: () => events.emit('rooms.logged', { gameId: game.id }),
    }
  }
  return { platform, game, token, say, sayElsewhere }
}

t.test('the SDK lists and follows a log, across a cut connection', async (t) => {
  const { platform, game, token, say } = await openPlatform(t)
  const client = createClient({ baseUrl: platform.portal, token })
  await say('one', 'two', 'three')
  const texts = (await client.games.logs(game.slug, { limit: 2 }).toArray()).map(({ text }) => text)
  t.same(texts, ['three', 'two', 'one'])
  const stop = new AbortController()
  const lines = followGameLogs(client.connection, game.id, { limit: 2, signal: stop.signal })
  const next = async () => (await lines.next()).value?.text
  t.same([await next(), await next()], ['two', 'three'])
  const waiting = next()
  await say('four')
  t.equal(await waiting, 'four')
  platform.app.server.closeAllConnections()
  await say('five')
  t.equal(await next(), 'five', 'nothing is missing, and nothing comes twice')
  const last = lines.next()
  stop.abort(new Error('enough'))
  await t.rejects(last, { message: 'enough' })
})

t.test('the command line reads and follows a log, across a cut connection', async (t) => {
  const { platform, game, token, say } = await openPlatform(t)
  const stop = new AbortController()
  const { signal } = stop
  const api = new Api({ baseUrl: platform.portal, token, tokenFrom: 'environment', userAgent: 'test', signal } as never)
  await say(...Array.from({ length: 130 }, (_, index) => `line ${index}`))
  t.same(
    (await readLogs(api, game.id, 120)).map(({ text }) => text),
    Array.from({ length: 120 }, (_, index) => `line ${index + 10}`),
  )
  const seen: string[] = []
  let noticed = () => {}
  const until = async (count: number) => {
    while (seen.length < count) await new Promise<void>((resolve) => (noticed = resolve))
  }
  const following = followLogs(api, game.id, { limit: 1, signal }, ({ text }) => {
    seen.push(text)
    noticed()
  })
  await until(1)
  platform.app.server.closeAllConnections()
  await say('after the cut')
  await until(seen.length + 1)
  stop.abort()
  await following
  t.same(seen, ['line 129', 'after the cut'], 'nothing older, and nothing twice')
})

t.test('a line that another node made earlier and stores later is followed too', async (t) => {
  const { platform, game, token, say, sayElsewhere } = await openPlatform(t)
  const stop = new AbortController()
  const { signal } = stop
  const api = new Api({ baseUrl: platform.portal, token, tokenFrom: 'environment', userAgent: 'test', signal } as never)
  const client = createClient({ baseUrl: platform.portal, token })
  const early = sayElsewhere('early')
  await say('first')
  const seen: string[] = []
  const { promise: first, resolve: sawFirst } = Promise.withResolvers<void>()
  const { promise: third, resolve: sawThird } = Promise.withResolvers<void>()
  const following = followLogs(api, game.id, { limit: 9, signal }, ({ text }) => {
    seen.push(text)
    if (seen.length === 1) sawFirst()
    if (seen.length === 3) sawThird()
  })
  const lines = followGameLogs(client.connection, game.id, { limit: 9, signal })
  t.equal((await lines.next()).value?.text, 'first')
  await first
  await early.store()
  await early.tell()
  t.equal((await lines.next()).value?.text, 'early')
  const late = sayElsewhere('late')
  await late.store()
  // On a busy machine the next look at the log may come after a long time.
  platform.clock.advance(30_000)
  await late.tell()
  t.equal((await lines.next()).value?.text, 'late')
  await third
  stop.abort()
  await following
  t.same(seen, ['first', 'early', 'late'])
})

t.test('a line is shown without what a terminal would obey', (t) => {
  const line: LogLine = {
    id: 'log_1',
    at: '2026-11-21T12:00:00.000Z',
    level: 'error',
    roomId: 'lobby',
    deployId: 'dep_1',
    text: 'TypeError: \u001b[2Jgone\nsecond',
    line: 3,
    column: 7,
    stack: null,
  }
  const shown = formatLine({ style: (_style, text) => text }, line)
  t.match(shown, / {2}lobby {2}TypeError: �\[2Jgone\n {2}second \(line 3, column 7\)$/)
  const located = { ...line, source: { path: 'src/\u001b.ts', line: 12, column: 5 } }
  t.match(formatLine({ style: (_style, text) => text }, located), / \(src\/�\.ts:12:5\)$/)
  t.end()
})
