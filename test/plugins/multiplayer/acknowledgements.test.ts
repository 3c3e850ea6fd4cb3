// What a room tells a client about the frames that it has taken.
import t from 'tap'
import type { Member } from '../../../plugins/multiplayer/room/member.ts'
import { snapshotFrom } from '../../../plugins/multiplayer/room/snapshot.ts'
import { makeRoom } from './room-kit.ts'

const acksOf = (frames: { t: string; taken?: number }[]) =>
  frames.filter((frame) => frame.t === 'ack').map(({ taken }) => taken)

t.test('a client that asks is told each second, and every 64 frames, what the room has taken', async (t) => {
  const { room, clock, enter } = makeRoom()
  const [ada, bob] = [enter('ada', true), enter('bob')]
  t.match(ada.connection.take()[0], { taken: 0, limits: { messagesPerSecond: 60, messageBurst: 120 } })
  for (let count = 0; count < 40; count++) ada.say({ t: 'send', type: 'n' })
  for (let count = 0; count < 30; count++) room.receiveBinary(ada.member, Buffer.from('b'))
  t.same(acksOf(ada.connection.take()), [60], 'half of the burst at the most')
  clock.advance(1000)
  room.sweep()
  t.same(acksOf(ada.connection.take()), [70])
  room.sweep()
  t.same(acksOf(ada.connection.take()), [], 'nothing new')
  for (let count = 0; count < 100; count++) bob.say({ t: 'ping', id: 1 })
  room.sweep()
  t.same(acksOf(bob.connection.take()), [], 'a client of an earlier version counts frames, and knows no such frame')
})

t.test('an acknowledgement is no part of the order', async (t) => {
  const { room, enter, newConnection } = makeRoom()
  const [ada, bob] = [enter('ada', true), enter('bob')]
  for (let data = 1; data <= 3; data++) {
    ada.say({ t: 'presence', data })
    bob.say({ t: 'send', type: 'n', data })
    room.sweep()
  }
  const frames = ada.connection.take().filter(({ t: type }) => !['welcome', 'ack'].includes(type))
  const again = newConnection()
  room.resume(ada.member, again, frames.length, true)
  t.match(again.take(), [{ t: 'welcome', replay: 0, taken: 3 }])
})

t.test('whoever resumes learns what was taken, on another node too', async (t) => {
  const { room, enter, newConnection } = makeRoom()
  const ada = enter('ada', true)
  for (let count = 0; count < 5; count++) ada.say({ t: 'send', type: 'n' })
  const again = newConnection()
  room.resume(ada.member, again, null, true)
  ada.say({ t: 'send', type: 'n' })
  t.match(again.take()[0], { t: 'welcome', taken: 5 })
  const next = makeRoom()
  next.room.restore(snapshotFrom([room.snapshot()]), 1)
  const there = next.newConnection()
  const member = next.room.members.resumable('token1', { sub: 'ada', guest: false }) as Member
  next.room.resume(member, there, null, true)
  t.match(there.take()[0], { t: 'welcome', you: 'p1', taken: 6 })
})
