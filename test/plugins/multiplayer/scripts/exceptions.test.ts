// Exceptions of scripts: none is lost, each has its place, and who causes them bears them.
import t from 'tap'
import { until } from '../../../kit/until.ts'
import { startScripts } from './kit.ts'

t.test('every exception that nobody catches is logged with its line, wherever it is thrown', async (t) => {
  const { open, enter, lines } = startScripts(t, {
    backends: { submitScore: async () => 1, readSave: async () => 1, writeSave: async () => 1 },
  })
  const hosted = await open(`async function later() {
  await null
  throw new Error('after an await')
}
async function waits(room, player) {
  await room.saves.get(player, 'k')
  throw new Error('after an answer')
}
export function message(room, player, type) {
  if (type === 'helper') later()
  if (type === 'answer') waits(room, player)
  if (type === 'then') room.saves.get(player, 'k').then(() => { null.z })
  if (type === 'rejected') Promise.reject(new Error('rejected'))
  if (type === 'constructed') new Promise((_, reject) => reject(new Error('constructed')))
  if (type === 'text') Promise.reject('a text')
  if (type === 'timer') room.after(0, async () => { await later() })
  if (type === 'nested') (async () => { await null; room.after(1, async () => { await null; null.z }) })()
  room.send('done', type)
}
Promise.reject(new Error('at the top'))
`)
  const ada = await enter(hosted)
  await until(() => lines.length === 1)
  t.match(lines.pop(), { level: 'error', text: 'Error: at the top', line: 20 })
  const expected = [
    ['helper', 'Error: after an await', 3],
    ['answer', 'Error: after an answer', 7],
    ['then', /^TypeError: /, 12],
    ['rejected', 'Error: rejected', 13],
    ['constructed', 'Error: constructed', 14],
    ['text', 'a text', undefined],
    ['timer', 'Error: after an await', 3],
    ['nested', /^TypeError: /, 17],
  ] as const
  for (const [type, text, line] of expected) {
    ada.send(type)
    await ada.next('done')
    await until(() => lines.length > 0)
    t.match(lines, [{ level: 'error', text }], type)
    t.equal(lines.pop()?.line, line, type)
  }
  t.equal(ada.closed, null)
})

t.test('a rejection that is handled later in the same turn is no exception', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open(`
    const fail = async () => { throw new Error('no') }
    export async function message(room) {
      await fail().catch(() => {})
      try { await fail() } catch {}
      const early = fail()
      const other = Promise.reject(new Error('no'))
      await null
      await null
      await Promise.allSettled([early, other])
      room.after(0, async () => {
        const again = fail()
        await null
        await again.catch(() => {})
        room.send('done')
      })
    }`)
  const ada = await enter(hosted)
  for (let count = 0; count < 3; count++) {
    ada.send('go')
    await ada.next('done')
  }
  ada.send('go')
  await ada.next('done')
  t.same(lines, [])
})

t.test('an exception of an asynchronous open ends the room', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open(`export async function open(room) {
  await null
  null.z
}`)
  await t.rejects(enter(hosted), /refused: failed/)
  t.match(lines, [{ level: 'fatal', text: /^TypeError: /, line: 3 }])
  const late = await open(
    `export async function open(room) {
  await new Promise((go) => { room.after(200, go) })
  throw new Error('too late')
}`,
    { room: 'late' },
  )
  const ada = await enter(late)
  t.same(await ada.end(), { code: 4010, reason: 'room_failed' })
  t.match(lines.at(-1), { level: 'fatal', text: 'Error: too late', line: 3 })
})

t.test('a snapshot that is a promise is reported, since it would store nothing', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open('export const snapshot = async () => ({ a: 1 })\nexport const message = () => {}')
  const ada = await enter(hosted)
  ada.send('go')
  await until(() => lines.length > 0)
  t.match(lines[0], { level: 'error', text: 'TypeError: snapshot returns JSON, and no promise.' })
  t.equal(await hosted.script?.takeSnapshot(100), null)
})

t.test('twenty exceptions in a minute that no player causes end the room', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open(`
    export const settings = { tick: 60 }
    let count = 0
    export function tick() {
      if (count++ % 2 === 0) throw new Error('no')
      Promise.reject(new Error('no'))
    }`)
  const ada = await enter(hosted)
  t.same(await ada.end(), { code: 4010, reason: 'room_failed' })
  t.match(lines.at(-1), { level: 'fatal', text: 'The script threw 20 exceptions within a minute.' })
})

t.test('a player whose messages make the script throw is removed, and the room goes on', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open(`export async function message(room, player, type, data) {
  if (type === 'deep') data.a.b
  if (type === 'later') { await null; data.a.b }
  if (type === 'helper') (async () => data.a.b)()
  room.send('fine')
}
export function binary(room, player, bytes) { throw new Error('bytes') }
`)
  const ada = await enter(hosted, 'ada')
  const throwing = [
    (eve: typeof ada) => eve.send('deep', {}),
    (eve: typeof ada) => eve.send('later', {}),
    (eve: typeof ada) => eve.send('helper', {}),
    (eve: typeof ada) => hosted.room.receiveBinary(eve.member, Buffer.from([1])),
  ]
  for (const [at, send] of throwing.entries()) {
    const eve = await enter(hosted, `eve${at}`)
    for (let count = 0; count < 30; count++) send(eve)
    t.match(await eve.end(), { code: 4001, reason: /Your messages/ }, String(send))
    const removed = new RegExp(`EVE${at} was removed: 20 of their messages`)
    t.equal(lines.filter(({ text }) => removed.test(text)).length, 1)
    const line = lines.find(({ text }) => removed.test(text))
    t.match(line, { level: 'error', line: Number })
  }
  const again = await enter(hosted, 'eve0')
  again.send('deep', {})
  t.match(await again.end(), { code: 4001 }, 'who comes back within the minute is removed at once')
  ada.send('still here')
  await ada.next('fine')
  t.equal(ada.closed, null)
})

t.test('an error that ends a room says where the script was', async (t) => {
  const { open, enter, lines } = startScripts(t, { limits: { roomScriptShare: 1 } })
  const script = `export function message(room, player, type, data) {
  if (type === 'timer') room.after(0, spin)
  else if (type === 'await') (async () => { await null; spin() })()
  else spin()
}
function spin() {
  for (;;);
}
export const leave = spin
`
  const ends = async (type: string) => {
    const ada = await enter(await open(script, { room: type }))
    ada.send(type)
    t.same(await ada.end(), { code: 4010, reason: 'room_failed' })
    return lines.at(-1)
  }
  const took = 'A call of the script took more than 20 ms'
  t.match(await ends('step'), { level: 'fatal', text: `${took}, in \`message\` of the type "step".`, line: 6 })
  t.match(await ends('timer'), { level: 'fatal', text: `${took}, in a timer.`, line: 6 })
  t.match(await ends('await'), { level: 'fatal', text: /^A call .*, after an `await`/, line: 6 })
  const hosted = await open(script, { room: 'leave' })
  const [ada, bob] = [await enter(hosted), await enter(hosted)]
  hosted.room.leave(bob.member, bob, 'left')
  await ada.end()
  t.match(lines.at(-1), { text: `${took}, in \`leave\`.`, line: 6 })
  await t.rejects(enter(await open('for (;;);', { room: 'top' })), /refused: failed/)
  t.match(lines.at(-1), { text: `${took}, at its top level.` })
})

t.test('a room that needs too much memory is told where, and never has it', async (t) => {
  const { open, enter, lines } = startScripts(t, { limits: { roomScriptMs: 1000 } })
  const before = process.memoryUsage.rss()
  const ways = {
    buffers: 'all.push(new Uint8Array(4e6))',
    texts: "all.push('x'.repeat(1e6) + all.length)",
    objects: 'all.push({ all })',
    lists: 'all.push(new Array(1e5).fill(0))',
  }
  for (const [way, grow] of Object.entries(ways)) {
    const hosted = await open(`export function message() { const all = []; for (;;) ${grow} }`, { room: way })
    const ada = await enter(hosted)
    ada.send('grow')
    t.same(await ada.end(), { code: 4010, reason: 'room_failed' }, way)
    const text = 'The room needs more than 16 MiB of memory, in `message` of the type "grow".'
    t.match(lines.at(-1), { level: 'fatal', text }, way)
  }
  // All rooms are in one thread, whose memory is used again. It was 2,000 MB when only their number was limited.
  const grown = Math.round((process.memoryUsage.rss() - before) / 1e6)
  t.ok(grown < 200, `${grown} MB`)
})

t.test('rooms that need too much memory together end, the largest first, and others start later', async (t) => {
  const { open, enter, lines } = startScripts(t, { limits: { roomScriptsBytes: 8e6, roomScriptMs: 1000 } })
  const script = `
    const all = []
    export function message(room, player, type, count) {
      for (let at = 0; at < count; at++) all.push(new Uint8Array(1e6))
      room.send('has', all.length)
    }`
  const players: Record<string, Awaited<ReturnType<typeof enter>>> = {}
  for (const room of ['large', 'small', 'smaller']) players[room] = await enter(await open(script, { room }))
  const { large, small, smaller } = players as Record<string, (typeof players)[string]>
  small?.send('grow', 2)
  large?.send('grow', 7)
  // The rooms are looked at from time to time.
  const growing = setInterval(() => large?.send('grow', 0), 20)
  t.same(await large?.end(), { code: 4010, reason: 'room_failed' })
  clearInterval(growing)
  t.match(lines.at(-1), {
    level: 'fatal',
    text: /^The rooms of this server need too much memory together\. This one has [67]/,
  })
  for (const player of [small, smaller]) player?.send('grow', 1)
  await until(() => [small, smaller].every((player) => player?.received.some(({ type }) => type === 'has')))
  t.pass('the others go on')
})

t.test('no script starts when there is no memory for all', async (t) => {
  const { open, enter, lines } = startScripts(t, { limits: { roomScriptsBytes: 400_000 } })
  let started = 0
  await until(async () => {
    const hosted = await open('export function open() {}', { room: `room-${started}` })
    return enter(hosted).then(
      () => ++started > 100,
      () => true,
    )
  })
  t.ok(started > 0 && started < 100, `${started} rooms`)
  t.match(lines.at(-1), { level: 'fatal', text: /^The rooms of this server need too much memory together/ })
})

t.test('lines that one call logs too many are counted', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open(`
    export function message(room, player, type, count) { for (let line = 0; line < count; line++) room.log(line) }`)
  const ada = await enter(hosted)
  ada.send('log', 1500)
  await until(() => lines.length === 21)
  t.equal(lines.at(-1)?.text, '1,480 lines were left out.')
  ada.send('log', 20)
  await until(() => lines.length === 41)
  t.equal(lines.at(-1)?.text, '19')
})

t.test('what a script sends wrongly is an exception that says what to do', async (t) => {
  const { open, enter } = startScripts(t)
  const hosted = await open(`
    let gone
    const attempts = {
      name: (room) => room.send('x', 1, 'ada'),
      unknown: (room) => room.send('x', 1, 'pzz'),
      list: (room) => room.send('x', 1, ['p1', 'player1']),
      nothing: (room) => room.send('x', 1, null),
      host: (room) => room.send('x', 1, 'host'),
      text: (room) => room.sendBinary('text'),
      floats: (room) => room.sendBinary(new Float32Array(2)),
      bytesTo: (room) => room.sendBinary(new Uint8Array(2), 'bob'),
      kick: (room) => room.kick('bob'),
      left: (room) => room.send('x', 1, gone),
      leftId: (room) => room.send('x', 1, [gone.id]),
      large: (room) => room.send('x', 'y'.repeat(70000)),
      much: (room) => { for (;;) room.send('x', 'y'.repeat(60000)) },
    }
    export function leave(room, player) { gone = player; room.send('left') }
    export function message(room, player, type) {
      try {
        attempts[type](room)
        room.send('result', null, player)
      } catch (error) {
        room.log(error.message)
        room.after(10, () => room.send('result', [error.name, error.message], player))
      }
    }`)
  const ada = await enter(hosted)
  const bob = await enter(hosted)
  hosted.room.leave(bob.member, bob, 'left')
  await ada.next('left')
  const attempt = async (type: string) => {
    ada.send(type)
    return (await ada.next('result')).data
  }
  for (const type of ['name', 'unknown', 'list', 'nothing', 'host', 'bytesTo']) {
    t.match(await attempt(type), ['TypeError', /^There is no player .* Give one of room\.players, .*'all'\.$/], type)
  }
  t.match(await attempt('kick'), ['TypeError', /^There is no player "bob" in the room\. Give/])
  for (const type of ['text', 'floats'])
    t.match(await attempt(type), ['TypeError', /takes a Uint8Array or an ArrayBuffer/])
  for (const type of ['left', 'leftId']) t.equal(await attempt(type), null, 'a player who has left is no error')
  t.match(await attempt('large'), ['RangeError', 'A message has at most 65536 bytes.'])
  t.match(await attempt('much'), ['RangeError', 'One call sends and writes at most 524288 bytes.'])
})

t.test('one write of a script may fill the state', async (t) => {
  const { open, enter } = startScripts(t)
  const hosted = await open(`
    export function message(room, player, type, size) {
      try {
        room.state.set('all', 'x'.repeat(size))
        room.send('set', room.state.get('all').length)
      } catch (error) {
        room.send('refused', error.message)
      }
    }`)
  const ada = await enter(hosted)
  ada.send('set', 262_100)
  t.equal((await ada.next('set')).data, 262_100)
  t.equal((await ada.next('state')).set.all.length, 262_100)
  ada.send('set', 262_200)
  t.equal((await ada.next('refused')).data, 'The state has at most 262144 bytes.')
})
