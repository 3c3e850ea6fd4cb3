import t from 'tap'
import type { Member } from '../../../../plugins/multiplayer/room/member.ts'
import { until } from '../../../kit/until.ts'
import { ScriptPlayer, startScripts } from './kit.ts'

t.test('a script decides what players hear', async (t) => {
  const { open, enter } = startScripts(t)
  const hosted = await open(`
    const scores = new Map()
    export function join(room, player) {
      scores.set(player.id, 0)
      room.send('hello', { you: player.id, players: room.players.length }, player)
    }
    export function message(room, player, type, data) {
      if (type === 'hit') {
        scores.set(player.id, scores.get(player.id) + 1)
        room.send('scores', Object.fromEntries(scores))
      } else room.send('echo', [type, data ?? null], [player.id])
    }
    export function binary(room, player, bytes) {
      room.sendBinary(bytes.map((byte) => 255 - byte), 'all')
    }
    export function leave(room, player, reason) {
      room.send('gone', [player.id, reason])
    }`)
  const ada = await enter(hosted)
  const bob = await enter(hosted)
  t.match(await ada.next('welcome'), { room: { script: true } })
  t.same((await ada.next('hello')).data, { you: 'p1', players: 1 })
  t.same((await bob.next('hello')).data, { you: 'p2', players: 2 })
  bob.send('hit')
  t.match(await ada.next('scores'), { from: null, data: { p1: 0, p2: 1 } })
  ada.send('other', { a: [1] })
  t.same((await ada.next('echo')).data, ['other', { a: [1] }])
  hosted.room.receiveBinary(bob.member, Buffer.from([0, 1, 9, 10, 200, 255]))
  t.same((await ada.next('binary')).bytes, Buffer.from([255, 254, 246, 245, 55, 0]).toString())
  hosted.room.leave(bob.member, bob, 'left')
  t.same((await ada.next('gone')).data, ['p2', 'left'])
  t.notOk(
    ada.received.some(({ t, type }) => t === 'msg' && type === 'other'),
    'nothing is relayed',
  )
})

t.test('the shared state is the script’s, unless it lets players write', async (t) => {
  const { open, enter } = startScripts(t)
  const source = (clientState: boolean) => `
    export const settings = { clientState: ${clientState}, players: 2 }
    export function open(room) { room.state.assign({ a: { deep: [1] }, b: 'x' }) }
    export function message(room, player, type) {
      if (type === 'set') {
        const a = room.state.get('a')
        a.deep.push(2)
        room.state.set('a', a)
        room.state.delete('b')
      }
      if (type === 'get') room.send('values', [room.state.get('a'), room.state.get('b') ?? null, room.state.get('c') ?? null])
    }`
  const hosted = await open(source(false))
  const ada = await enter(hosted)
  t.match(await ada.next('welcome'), { state: { a: { deep: [1] }, b: 'x' }, room: { capacity: 2 } })
  ada.say({ t: 'state', set: { c: 1 } })
  hosted.flush()
  t.match(await ada.next('error'), { code: 'read_only' })
  ada.send('set')
  t.match(await ada.next('state'), { from: null, set: { a: { deep: [1, 2] } }, del: [] })
  t.match(await ada.next('state'), { from: null, set: {}, del: ['b'] })
  ada.send('get')
  t.same((await ada.next('values')).data, [{ deep: [1, 2] }, null, null])
  await enter(hosted)
  await t.rejects(enter(hosted), /refused: full/)

  const free = await open(source(true), { room: 'free' })
  const bob = await enter(free)
  bob.say({ t: 'state', set: { c: 3 }, del: ['b'] })
  bob.send('get')
  t.same((await bob.next('values')).data, [{ deep: [1] }, null, 3], 'the script hears of it, in order')
})

t.test('a script refuses, kicks, locks and makes hosts; players do not', async (t) => {
  const { open, enter } = startScripts(t)
  const hosted = await open(`
    export function join(room, player) {
      if (player.sub === 'eve') return 'Not you.'
      if (player.sub === 'mallory') return false
      if (player.sub === 'trent') throw new Error('no')
    }
    export function message(room, player, type, id) {
      if (type === 'kick') room.kick(id, 'too slow')
      if (type === 'lock') room.lock()
      if (type === 'host') room.host(player)
      room.send('players', room.players.map(({ sub }) => sub), player)
    }`)
  const ada = await enter(hosted, 'ada')
  const bob = await enter(hosted, 'bob')
  for (const [sub, reason] of [
    ['eve', 'Not you.'],
    ['mallory', ''],
    ['trent', ''],
  ] as const) {
    const account = { sub, name: sub, imageUrl: null, guest: false }
    t.same(await hosted.admit({ account, resume: null }), { refusal: 'script', reason })
  }
  ada.say({ t: 'kick', id: 'p2' })
  ada.say({ t: 'lock', locked: true })
  t.match(await ada.next('error'), { code: 'not_host' })
  bob.send('host')
  t.match(await ada.next('host'), { id: bob.member.id })
  bob.send('kick', ada.member.id)
  t.match(await bob.next('leave'), { id: ada.member.id, reason: 'kicked' })
  t.same(await ada.end(), { code: 4001, reason: 'too slow' })
  bob.send('lock')
  t.same((await bob.next('players')).data, ['ada', 'bob'])
  await bob.next('players')
  t.same((await bob.next('players')).data, ['bob'])
  await t.rejects(enter(hosted), /refused: locked/)
})

t.test('whoever only asks whether they may join takes no place, and has left again', async (t) => {
  const { open, enter, rooms } = startScripts(t)
  const hosted = await open(`
    export const settings = { players: 1 }
    const log = []
    export function join(room, player) {
      log.push('+' + player.sub)
      if (player.sub === 'eve') return 'Not you.'
      if (player.sub === 'ada') room.after(0, () => room.send('log', log))
    }
    export const leave = (room, player, reason) => log.push('-' + player.sub, reason)`)
  const ask = (sub: string, token?: string) => {
    const account = { sub, name: sub, imageUrl: null, guest: false }
    return hosted.admit({ account, resume: token ? { token, received: null } : null, inquiry: true })
  }
  for (let time = 0; time < 2; time++) t.same(await ask('bob'), { refusal: null })
  t.same(await ask('eve'), { refusal: 'script', reason: 'Not you.' })
  t.equal(hosted.room.members.taken, 0)
  const ada = await enter(hosted, 'ada')
  t.same((await ada.next('log')).data, ['+bob', '-bob', 'left', '+bob', '-bob', 'left', '+eve', '+ada'])
  hosted.room.drop(ada.member, ada)
  t.same(await ask('dan'), { refusal: 'full' })
  t.same(await ask('ada'), { refusal: null }, 'an account takes its own place back')
  t.same(await ask('ada', ada.member.resumeToken), { refusal: null }, 'with their token they are known')
  t.equal(hosted.room.members.taken, 1)
  t.equal(rooms.find('game', 'lobby'), hosted)
})

t.test('a room stays when all its players leave while another one comes', async (t) => {
  const { open, enter, rooms } = startScripts(t)
  const hosted = await open('export const join = () => {}')
  const ada = await enter(hosted)
  const entering = enter(hosted)
  hosted.room.leave(ada.member, ada, 'left')
  t.equal(rooms.find('game', 'lobby'), hosted, 'the script is being asked')
  const { member } = await entering
  rooms.sweep()
  t.equal(rooms.find('game', 'lobby'), hosted)

  const account = { sub: 'late', name: 'Late', imageUrl: null, guest: false }
  const { reservation } = await hosted.admit({ account, resume: null })
  hosted.room.leave(member, member.link, 'left')
  t.equal(rooms.find('game', 'lobby'), hosted, 'a place is kept until the socket is open')
  const late = new ScriptPlayer()
  late.member = hosted.room.claim(reservation as string, account, late) as Member
  hosted.room.leave(late.member, late, 'left')
  t.equal(rooms.find('game', 'lobby'), undefined, 'then nobody is there')
})

t.test('ticks, timers and promises run; time stands still within a call', async (t) => {
  // The many calls below take more processor time on a slow machine than a call may use.
  const { open, enter } = startScripts(t, { limits: { roomScriptMs: 1000 } })
  const hosted = await open(`
    export const settings = { tick: 60 }
    let ticks = 0
    export function join(room, player) {
      const began = room.now()
      for (let i = 0; i < 50000; i++) if (room.now() !== began) throw new Error('time went on')
      const stop = room.every(20, () => { room.send('every', room.now() - began); stop() })
      room.after(30, () => room.send('after', [Date.now() - Math.floor(began) > 25, new Date().getTimezoneOffset()]))
      Promise.resolve(1).then((value) => room.send('promise', value + 1))
      const both = [room.random(), Math.random()]
      room.send('random', both[0] !== both[1] && both.every((x) => x >= 0 && x < 1))
    }
    export function tick(room, seconds) { if (++ticks === 3) room.send('tick', seconds) }`)
  const ada = await enter(hosted)
  t.equal((await ada.next('promise')).data, 2)
  t.equal((await ada.next('random')).data, true)
  t.ok((await ada.next('every')).data >= 20)
  t.same((await ada.next('after')).data, [true, 0])
  t.ok((await ada.next('tick')).data > 0.01)
})

t.test('exceptions are logged with their line', async (t) => {
  const { open, enter, lines } = startScripts(t)
  const hosted = await open(`
export function message(room, player, type) {
  room.log('got', { type }, 7)
  if (type === 'throw') undefined.x
  if (type === 'reject') return Promise.reject(new TypeError('later'))
  room.send('fine')
}`)
  const ada = await enter(hosted)
  ada.send('throw')
  ada.send('reject')
  ada.send('go on')
  await ada.next('fine')
  t.match(lines, [
    { level: 'log', text: 'got {"type":"throw"} 7', roomId: 'lobby', deployId: 'deploy' },
    { level: 'error', text: /^TypeError: /, line: 4, stack: /room\.js:4/ },
    { level: 'log' },
    { level: 'log' },
    { level: 'error', text: 'TypeError: later', line: 5 },
  ])
  t.match(hosted.script?.status, { deployId: 'deploy', lastError: { text: 'TypeError: later', line: 5 } })
})

t.test('a script uses scores and saves of players in its room', async (t) => {
  const asked: unknown[] = []
  const backends = {
    submitScore: async (score: object) => {
      asked.push(score)
      return { rank: 1 }
    },
    readSave: async ({ key }: { key: string }) => (key === 'none' ? undefined : { key }),
    writeSave: async () => {
      throw Object.assign(new Error('Too much.'), { code: 'saves_full' })
    },
  }
  const { open, enter } = startScripts(t, { backends })
  const hosted = await open(`
    export async function message(room, player, type, data) {
      if (type === 'go') {
        const { rank } = await room.score('best', player, 12, { lap: 1 })
        room.send('done', [rank, await room.saves.get(player, 'k'), await room.saves.get(player, 'none')])
      }
      try {
        await room.saves.set(player, 'k', 1)
      } catch (error) {
        room.send('failed', [error.code, error.message])
      }
    }`)
  const ada = await enter(hosted, 'ada')
  ada.send('go')
  t.same((await ada.next('done')).data, [1, { key: 'k' }, null])
  t.same(asked, [{ gameId: 'game', boardId: 'best', playerId: 'ada', score: 12, detail: { lap: 1 } }])
  t.same((await ada.next('failed')).data, ['saves_full', 'Too much.'])
})

t.test('a score or save that fails is logged where the script does not wait for it', async (t) => {
  const refuse = async () => {
    throw Object.assign(new Error('There is no such board.'), { code: 'not_found' })
  }
  const { open, enter, lines } = startScripts(t, {
    backends: { submitScore: refuse, readSave: refuse, writeSave: refuse },
  })
  const hosted = await open(`export async function message(room, player, type) {
  if (type === 'caught') await room.score('week', player, 1).catch(() => {})
  if (type === 'all') await Promise.allSettled([room.score('week', player, 1), room.saves.get(player, 'k')])
  if (type === 'later') {
    const asked = room.score('week', player, 1)
    try { await asked } catch { room.log('caught') }
  }
  if (type === 'returned') return room.score('week', player, 1)
  if (type === 'lost')
    room.score('week', player, 1)
  room.send('done', type)
}`)
  const ada = await enter(hosted)
  for (const type of ['caught', 'all', 'later']) {
    ada.send(type)
    t.equal((await ada.next('done')).data, type)
  }
  ada.send('returned')
  for (let count = 0; count < 25; count++) ada.send('lost')
  await until(() => lines.length === 27)
  const errors = lines.filter(({ text }) => text === 'Error: There is no such board.')
  t.same(
    errors.map(({ level, line }) => ({ level, line })).sort((one, other) => Number(one.line) - Number(other.line)),
    [{ level: 'error', line: 8 }, ...Array(25).fill({ level: 'error', line: 10 })],
  )
  t.equal(ada.closed, null, 'only exceptions end the room')
})

t.test('messages that a script does not answer run with its next tick, in order', async (t) => {
  const { open, enter } = startScripts(t)
  const hosted = await open(`
    export const settings = { tick: 30 }
    let taken = []
    export function message(room, player, type, data) {
      taken.push({ data, at: room.now() })
      if (type === 'ask') room.send('answer', data)
    }
    export function binary(room, player, bytes) { taken.push({ data: [...bytes], at: room.now() }) }
    export function tick(room) {
      if (taken.length < 3) return
      room.send('taken', { values: taken.map(({ data }) => data), together: taken.every(({ at }) => at === room.now()) })
      taken = []
    }`)
  const ada = await enter(hosted)
  const play = async (type: string) => {
    ada.send(type, 'one')
    hosted.room.receiveBinary(ada.member, Buffer.from([1, 2]))
    hosted.room.receiveBinary(ada.member, Buffer.from([3]))
    const { data } = await ada.next('taken')
    t.same(data.values, ['one', [1, 2], [3]])
    return data.together
  }
  t.equal(await play('move'), false, 'a new room gets them at once')
  while (!(await play('move')));
  await play('ask')
  t.equal((await ada.next('answer')).data, 'one')
  t.equal(await play('move'), false, 'a room that has answered gets them at once')
})

t.test('a message that is nested deeply harms no room', async (t) => {
  const { open, enter } = startScripts(t)
  const hosted = await open(`
    export function message(room, player, type, data) { room.send('heard', [type, typeof data]) }`)
  const ada = await enter(hosted)
  const data = `${'['.repeat(8000)}${']'.repeat(8000)}`
  hosted.room.receive(ada.member, `{"t":"send","type":"deep","data":${data}}`)
  hosted.room.receive(ada.member, `{"t":"send","type":"keys","data":${'{"a":'.repeat(2500)}1${'}'.repeat(2500)}}`)
  ada.send('flat', 1)
  for (;;) {
    const { data } = await ada.next('heard')
    if (data[0] === 'flat') break
  }
  t.equal(ada.closed, null)
})
