import t from 'tap'
import type { Member } from '../../../../plugins/multiplayer/room/member.ts'
import { processorLimit } from '../../../kit/time-limit.ts'
import { startScripts } from './kit.ts'

/** A room that counts, and continues from its snapshot. */
const COUNTER = `
  let count = 0
  export function open(room) { room.send('open') }
  export function message(room, player, type) {
    if (type === 'hang') { const long = 'a'.repeat(2e6); for (;;) long.indexOf('a'.repeat(1e6) + 'b') }
    count++
    room.send('count', [count, room.players.length])
  }
  export const snapshot = () => ({ count })
  export function restore(room, data) {
    count = data.count
    room.send('restored', count)
  }`

t.test('rooms of a game share a thread, and go on elsewhere when one of them hangs it', async (t) => {
  const { open, enter, scripts, rooms } = startScripts(t)
  const one = await open(COUNTER, { room: 'one' })
  const two = await open(COUNTER, { room: 'two' })
  const other = await open(COUNTER, { game: 'other' })
  const [ada, bob, eve] = [await enter(one), await enter(two), await enter(other)]
  t.equal(scripts.threads, 2, 'a thread for each game')
  bob.send('count')
  t.same((await bob.next('count')).data, [1, 1])
  await two.script?.takeSnapshot(10_000)

  ada.send('hang')
  t.same(await ada.end(), { code: 4010, reason: 'room_failed' })
  t.same((await bob.next('restored')).data, 1, 'the other room continues')
  bob.send('count')
  t.same((await bob.next('count')).data, [2, 1])
  eve.send('count')
  t.same((await eve.next('count')).data, [1, 1])
  t.equal(rooms.find('game', 'one'), undefined, 'the failed room is gone')
  t.ok(rooms.find('game', 'two'))
})

t.test('a join and a request that are under way when the thread is lost are not those of the next one', async (t) => {
  const saves = new Map<string, PromiseWithResolvers<string>>()
  const saveOf = (key: string) => {
    if (!saves.has(key)) saves.set(key, Promise.withResolvers())
    return saves.get(key) as PromiseWithResolvers<string>
  }
  const readSave = ({ key }: { key: string }) => saveOf(key).promise
  const unused = async () => null
  const { open, enter } = startScripts(t, { backends: { readSave, submitScore: unused, writeSave: unused } })
  const one = await open(COUNTER, { room: 'one' })
  const two = await open(
    `
    export function message(room, player, type, key) {
      room.send('asked', key)
      room.saves.get(player, key).then((value) => room.send('read', [key, value]))
    }
    export const leave = (room, player, reason) => room.send('away', [player.sub, reason, room.players.length])`,
    { room: 'two' },
  )
  const [ada, bob] = [await enter(one), await enter(two)]
  bob.send('read', 'first')
  await bob.next('asked')

  ada.send('hang')
  const account = { sub: 'eve', name: 'Eve', imageUrl: null, guest: false }
  t.same(await two.admit({ account, resume: null }), { refusal: 'failed' }, 'nobody has refused the player')
  t.same((await bob.next('away')).data, ['eve', 'left', 1], 'the script has met the player, who does not come')
  t.equal(two.room.members.taken, 1)

  bob.send('read', 'second')
  await bob.next('asked')
  saveOf('first').resolve('of the former')
  await new Promise((done) => setImmediate(done))
  saveOf('second').resolve('of the present')
  t.same((await bob.next('read')).data, ['second', 'of the present'])
})

t.test('a room continues from a snapshot on another node', async (t) => {
  const { open, enter, rooms } = startScripts(t)
  const texts: string[] = []
  const hosted = await open(COUNTER)
  const ada = await enter(hosted)
  ada.send('count')
  await ada.next('count')
  const data = JSON.parse((await hosted.script?.takeSnapshot(10_000)) ?? 'null')
  texts.push(hosted.room.snapshot(), JSON.stringify({ script: { deployId: 'deploy', data } }))
  hosted.end()
  t.same(ada.closed, { code: 1012, reason: 'moving' })

  const script = hosted.script?.script ?? null
  const again = rooms.restore('game', 'lobby', { maxPlayers: 100, hostPatienceSeconds: 5, script }, texts)
  const member = again.room.members.resumable(ada.member.resumeToken, ada.member.account)
  t.ok(member)
  ada.closed = null
  ada.hosted = again
  if (member) again.room.resume(member, ada, null)
  ada.member = member as Member
  ada.send('count')
  t.same((await ada.next('count')).data, [2, 1])
})

t.test('rooms of a game start again when its scripts are restarted', async (t) => {
  const { open, enter, rooms } = startScripts(t)
  const hosted = await open(COUNTER)
  const ada = await enter(hosted)
  rooms.restart('another')
  t.equal(ada.closed, null)
  rooms.restart('game')
  t.same(ada.closed, { code: 1012, reason: 'restarted' })
  t.equal(rooms.find('game', 'lobby'), undefined)
})

t.test('lists of many rooms do not walk through all their heaps for each room', async (t) => {
  const { open, enter, rooms } = startScripts(t)
  const players = await Promise.all(
    Array.from({ length: 40 }, async (_, at) => enter(await open(COUNTER, { room: `${at}` }))),
  )
  const before = process.cpuUsage()
  for (let lists = 0; lists < 50; lists++) rooms.list('game')
  // The thread answers after what it was asked before.
  players[0]?.send('count')
  await players[0]?.next('count')
  const { user, system } = process.cpuUsage(before)
  const ms = (user + system) / 1000
  t.ok(ms < processorLimit(500), `${Math.round(ms)} ms of processor time`)
})
