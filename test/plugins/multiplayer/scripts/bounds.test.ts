import { EventEmitter, once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { ScriptThread, type ThreadRoom } from '../../../../plugins/multiplayer/scripts/script-thread.ts'
import { timeLimit } from '../../../kit/time-limit.ts'
import { startScripts } from './kit.ts'

const FAST = { roomMessagesPerSecond: 1e6, roomMessageBurst: 1e6 }

t.test('settings are checked, whatever a script adds to all objects', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open(`
    Object.prototype.toJSON = function () {
      return 'tick' in this ? { tick: 1e9, players: 'many', clientState: 1, relay: 1, snapshot: 1 } : this
    }
    export const settings = { tick: 10, players: 3 }
    export function open() { delete Object.prototype.toJSON }`)
  const ada = await enter(hosted)
  t.match(await ada.next('welcome'), { room: { capacity: 3 } })
  t.equal(hosted.script?.relay, false)
  for (const settings of ['{ players: Infinity }', "{ players: '2' }", '{ players: 1.5 }', '{ tick: 61 }']) {
    const wrong = await open(`export const settings = ${settings}`, { room: 'wrong' })
    await t.rejects(enter(wrong), /refused: failed/, settings)
    t.match(lines.at(-1)?.text, /^RangeError: settings\./)
  }
})

t.test('an invented stack names no place that a script cannot have', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open(`
    export function message(room, player, type, place) { throw { name: 'E', message: place, stack: 'at f (room.js:' + place + ')' } }`)
  const ada = await enter(hosted)
  for (const place of ['3000000000:1', '1e400:2', '-4:2', '7:3000000000', '7', '8:9']) ada.send('throw', place)
  while (lines.length < 6) await setImmediate()
  t.same(
    lines.map(({ line, column }) => [line, column]),
    [
      [undefined, undefined],
      [1, 2],
      [undefined, undefined],
      [7, 1],
      [7, 1],
      [8, 9],
    ],
  )
})

t.test('a script is not told the time zone of the server', async (t) => {
  const before = process.env.TZ
  process.env.TZ = 'America/New_York'
  t.teardown(() => {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  })
  t.equal(new Date(0).getHours(), 19, 'the server is elsewhere')
  const { open, enter } = startScripts(t)
  const hosted = await open(`
    export function join(room) {
      const date = new Date(0)
      room.send('times', [
        String(date), date.toLocaleString('en-GB'), date.getHours(), date.getTimezoneOffset(),
        +new Date(1970, 0, 1), +new Date('1970-01-01T00:00'), Date.parse('Jan 1 1970 00:00'),
      ])
    }`)
  const ada = await enter(hosted)
  const { data } = await ada.next('times')
  t.match(data[0], /00:00:00 GMT\+0000/)
  t.match(data[1], /12:00:00 AM/)
  t.same(data.slice(2), [0, 0, 0, 0, 0])
})

t.test('a timer in the far future keeps no thread busy', async (t) => {
  const { open, enter } = startScripts(t)
  const written = t.capture(process.stderr, 'write')
  const hosted = await open(`
    export function open(room) {
      room.after(2 ** 40, () => room.send('never'))
      room.after(5e9, () => room.send('never'))
      room.after(Infinity, () => room.send('never'))
    }
    export function message(room, player, type, data) { room.send('pong', data) }`)
  const ada = await enter(hosted)
  for (let number = 0; number < 50; number++) {
    ada.send('ping', number)
    await ada.next('pong')
  }
  const warnings = written().map(({ args }) => String(args[0]))
  t.notOk(warnings.some((text) => text.includes('TimeoutOverflowWarning')))
})

t.test('a room asks for so many scores and saves at once', async (t) => {
  let performed = 0
  const count = async () => ++performed
  const { open, enter } = startScripts(t, { backends: { submitScore: count, readSave: count, writeSave: count } })
  const hosted = await open(`
    export async function message(room, player) {
      let refused = 0
      for (let round = 0; round < 10; round++) {
        const asked = Array.from({ length: 100 }, () => room.score('best', player, 1))
        for (const { reason } of await Promise.allSettled(asked)) if (reason?.code === 'rate_limited') refused++
      }
      room.send('refused', refused)
    }`)
  const ada = await enter(hosted)
  const began = performance.now()
  ada.send('flood')
  const { data: refused } = await ada.next('refused')
  const allowed = 200 + ((performance.now() - began) / 1000) * 50
  t.ok(performed <= allowed + 1, `${performed} were performed`)
  t.equal(performed + refused, 1000, 'the others were refused')
})

t.test('a score or save that cannot be asked for rejects, and nothing is thrown', async (t) => {
  let performed = 0
  const count = async () => ++performed
  const { open, enter, lines } = startScripts(t, {
    backends: { submitScore: count, readSave: count, writeSave: count },
  })
  const hosted = await open(`export async function message(room, player, type) {
  const all = []
  for (let index = 0; index < 250; index++) all.push(room.score('best', player, index))
  const settled = await Promise.allSettled(all)
  const wrong = [
    room.saves.get('nobody', 'k'), room.saves.set(player, '', 1), room.score('', player, 1),
    room.saves.set(player, 'k', 'x'.repeat(100000)), room.saves.set(player, 'k', 1n),
  ]
  const codes = (await Promise.allSettled(wrong)).map(({ reason }) => reason.code)
  room.send('settled', [settled.map(({ reason }) => reason?.code ?? null), codes])
  if (type === 'lost')
    room.saves.get('nobody', 'k')
}`)
  const ada = await enter(hosted)
  ada.send('lost')
  const [codes, wrong] = (await ada.next('settled')).data
  t.same(codes.slice(0, 200), Array(200).fill(null), 'so many are asked for at once')
  t.same(codes.slice(200), Array(50).fill('rate_limited'))
  t.equal(performed, 200)
  t.same(wrong, ['no_such_player', 'invalid_request', 'invalid_request', 'too_large', 'invalid_request'])
  while (lines.length === 0) await setImmediate()
  t.match(lines, [{ level: 'error', text: /^TypeError: There is no player "nobody"/, line: 12 }])
  t.equal(ada.closed, null)
})

t.test('many short calls together end their room, and not the thread of other rooms', async (t) => {
  const { open, enter, lines } = startScripts(t, { limits: { roomScriptShare: 1 } })
  const beside = await open(
    'let count = 0; export const message = (room) => room.send("count", ++count); export const open = () => { count = 10 }',
    { room: 'beside' },
  )
  const bob = await enter(beside)
  bob.send('count')
  t.equal((await bob.next('count')).data, 11)
  const hosted = await open(`
    export function message(room) {
      for (let i = 0; i < 900; i++) room.after(1, () => { for (let j = 0; j < 20000; j++); })
    }`)
  const ada = await enter(hosted)
  ada.send('go')
  t.same(await ada.end(), { code: 4010, reason: 'room_failed' })
  t.match(lines.at(-1)?.text, 'Calls that came together took more than 50 ms, in a timer.')
  bob.send('count')
  t.equal((await bob.next('count')).data, 12, 'the other room goes on as it was')
})

t.test('a game whose script ended a thread shares none with other games', async (t) => {
  const { open, enter, scripts } = startScripts(t)
  const source = `
    let count = 0
    export function message(room, player, type) {
      if (type === 'hang') { const long = 'a'.repeat(2e6); for (;;) long.indexOf('a'.repeat(1e6) + 'b') }
      room.send('count', ++count)
    }`
  const hang = async (room: string) => {
    const eve = await enter(await open(source, { game: 'hostile', room }))
    return async () => {
      eve.send('hang')
      t.same(await eve.end(), { code: 4010, reason: 'room_failed' })
    }
  }
  await (await hang('first'))()
  // As many games as have threads of their own.
  let games = 0
  const fill = async () => {
    const before = scripts.threads
    for (const room of ['one', 'two']) await enter(await open(source, { game: `game${games}`, room }))
    games++
    return scripts.threads > before
  }
  while (await fill());
  const second = await hang('second')
  const late = await enter(await open(source, { game: 'late' }))
  late.send('count')
  t.equal((await late.next('count')).data, 1)
  await second()
  late.send('count')
  t.equal((await late.next('count')).data, 2, 'a game that came later is not in its thread')
})

t.test('what is too much for a script is left out, and the room goes on', async (t) => {
  const { open, enter, lines } = startScripts(t, { limits: FAST })
  const hosted = await open(`
    let count = 0
    export function message(room, player, type) {
      if (type === 'count') room.send('count', count)
      else count++
    }`)
  const [ada, bob, eve] = [await enter(hosted), await enter(hosted), await enter(hosted)]
  /** Waits until the events were sent, with a line in the log. */
  const sent = async (line: number) => {
    while (lines.length < line) await setImmediate()
    t.match(lines[line - 1]?.text, /^\d+ messages of players were left out/)
    eve.send('count')
    return (await eve.next('count')).data as number
  }
  // One player's allowance is 1 MiB at once.
  for (let number = 0; number < 1500; number++) ada.send('m', 'x'.repeat(1000))
  const first = await sent(1)
  t.ok(first > 900 && first < 1300, `${first} of 1500 messages arrived`)
  // So much may wait for all.
  for (let number = 0; number < 700; number++) for (const player of [bob, eve]) player.send('m', 'x'.repeat(1000))
  const second = (await sent(2)) - first
  t.ok(second > 900 && second < 1100, `${second} of 1400 messages arrived`)
  t.equal(ada.closed, null)
})

t.test('values that take long to parse, at the full rate of messages, end no room', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open(`
    export const settings = { tick: 20 }
    let count = 0
    export function message() { count++ }
    export function tick(room) { room.send('count', count) }`)
  const [ada, eve] = [await enter(hosted), await enter(hosted)]
  const nested = `${'['.repeat(7500)}${']'.repeat(7500)}`
  const flat = `[${'[],'.repeat(5000)}[]]`
  for (const data of [nested, flat]) {
    for (let number = 0; number < 30; number++) {
      hosted.room.receive(eve.member, `{"t":"send","type":"much","data":${data}}`)
    }
  }
  while ((await ada.next('count')).data < 60);
  t.same([ada.closed, eve.closed, lines], [null, null, []])
})

/** A program that answers to batches of events at once, or only when a room ends. */
const program = (isSilent: boolean) => `
  const { parentPort } = require('node:worker_threads')
  let waiting = 0
  parentPort.on('message', ({ t }) => {
    if (t === 'run') waiting++
    if (${isSilent} && t !== 'end') return
    for (; waiting > 0; waiting--) parentPort.postMessage({ t: 'out', rooms: [], texts: [], hasRun: true })
  })`

t.test('a thread that does not get on has two batches of events at most before it', async (t) => {
  const start = (isSilent: boolean) => {
    const thread = new ScriptThread(program(isSilent), 20, () => {})
    t.teardown(() => thread.end())
    const room: ThreadRoom = { gameId: 'game', receive() {}, failed() {}, moved() {}, used() {} }
    const open = () => thread.open(room, {} as Parameters<ScriptThread['open']>[1])
    const [one, two] = [open(), open()]
    let sent = 0
    const changes = new EventEmitter()
    /** Sends one batch of events. @returns when it is sent */
    const send = async () => {
      const done = once(changes, 'sent')
      thread.schedule(() => {
        thread.run(one, '"n"', null, false)
        sent++
        changes.emit('sent')
      })
      await done
    }
    return { send, sent: () => sent, end: () => thread.close(two) }
  }
  const silent = start(true)
  await silent.send()
  await silent.send()
  const third = silent.send()
  const other = start(false)
  for (let batch = 0; batch < 10; batch++) await other.send()
  t.equal(silent.sent(), 2, 'another thread got ten meanwhile')
  silent.end()
  await third
  t.equal(silent.sent(), 3)
})

t.test('a script as long as a deploy may have opens, also as the first of a thread', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const functions = Array.from(
    { length: 9000 },
    (_, at) => `export function f${at}(a, b) { return a * ${at} + b.c[${at}] - '${'x'.repeat(40)}' }`,
  )
  const source = `${functions.join('\n')}\nexport const message = (room, player, type, data) => room.send('pong', data)`
  t.ok(source.length > 900_000 && source.length < 2 ** 20, `${source.length} characters`)
  for (const [game, room] of [
    ['one', 'first'],
    ['two', 'first'],
    ['two', 'second'],
  ]) {
    const ada = await enter(await open(source, { game, room }))
    ada.send('ping', 7)
    t.equal((await ada.next('pong')).data, 7)
  }
  t.same(lines, [])
})

t.test('scripts that do not open end soon, and leave no memory behind', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const fails = async (source: string) => {
    const began = performance.now()
    await t.rejects(enter(await open(source, { room: `${lines.length}` })), /refused: failed/, source)
    return performance.now() - began
  }
  const attacks = [
    'for (;;);',
    'let n = 3n; for (;;) n *= n',
    "/(a+)+$/.test('a'.repeat(40) + 'b'); for (;;);",
    "const s = 'a'.repeat(2e6); for (;;) s.indexOf('a'.repeat(1e6) + 'b')",
    'const a = []; for (;;) a.push(new Array(1000).fill(1))',
    'await new Promise(() => {})',
    'const registry = new FinalizationRegistry(() => { for (;;); }); for (let i = 0; i < 1e4; i++) registry.register({}, i); null.x',
    'export const settings = {',
  ]
  for (const attack of attacks) {
    const ms = await fails(attack)
    t.ok(ms < timeLimit(10), `${Math.round(ms)} ms, ${lines.at(-1)?.text}`)
  }
  const large =
    'globalThis.all = new Uint8Array(12e6); all.self = all; globalThis.never = new Promise(() => {}); throw new Error("no")'
  await fails(large)
  const before = process.memoryUsage().rss
  for (let left = 20; left > 0; left--) await fails(large)
  const grown = Math.round((process.memoryUsage().rss - before) / 1e6)
  t.ok(grown < 100, `20 of 12 MB each: ${grown} MB more`)
})
