// Who has a place in a room, and for how long: reloads, crashes, absent hosts and empty rooms.
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import ipc from '../../../drivers/bus/ipc.ts'
import { joinRoom, refusalOf } from '../../../plugins/multiplayer/admission/join.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { startPlatform } from '../../kit/platform.ts'
import { until } from '../../kit/until.ts'
import { headersOf, RoomSocket, signInTo, upgrade } from './kit.ts'
import { makeRoom } from './room-kit.ts'

const accountOf = (sub: string) => ({ sub, name: sub.toUpperCase(), imageUrl: null, guest: false })
const requestOf = (sub: string) => ({ account: accountOf(sub), resume: null, acks: true })

t.test('whoever comes later learns who is away', async (t) => {
  const { room, enter } = makeRoom()
  const [ada] = [enter('ada'), enter('bob')]
  room.drop(ada.member, ada.connection)
  t.match(enter('eve').connection.take()[0], {
    players: [
      { id: 'p1', away: true },
      { id: 'p2', away: false },
      { id: 'p3', away: false },
    ],
  })
})

t.test('an absent host hands over after a while, to somebody who is there', async (t) => {
  const { room, clock, enter, newConnection } = makeRoom({ hostPatienceSeconds: 5 })
  const [ada, bob] = [enter('ada'), enter('bob')]
  const eve = enter('eve')
  room.drop(bob.member, bob.connection)
  room.drop(ada.member, ada.connection)
  clock.advance(4900)
  room.sweep()
  t.equal(room.host, 'p1')
  clock.advance(100)
  room.sweep()
  t.match(eve.connection.take().at(-1), { t: 'host', id: 'p3' })
  const again = newConnection()
  room.resume(ada.member, again, null)
  t.match(again.take()[0], { you: 'p1', room: { host: 'p3' } })
  room.drop(eve.member, eve.connection)
  room.drop(ada.member, again)
  clock.advance(6000)
  room.sweep()
  t.equal(room.host, 'p3', 'an absent host stays while nobody is there')
})

t.test('an account takes its own place back, in a full and in a locked room', async (t) => {
  const { room, clock, enter, newConnection } = makeRoom({ players: 2 })
  const [ada, bob] = [enter('ada', true), enter('bob')]
  ada.say({ t: 'lock', locked: true })
  ada.say({ t: 'state', set: { a: 1 } })
  bob.connection.take()
  t.equal(refusalOf(room, requestOf('eve')), 'full')

  room.drop(ada.member, ada.connection, true)
  t.match(bob.connection.take(), [{ t: 'away', id: 'p1' }], 'the page may be loaded again')
  t.equal(refusalOf(room, requestOf('ada')), null)
  const reloaded = newConnection()
  t.equal(joinRoom(room, requestOf('ada'), reloaded), ada.member)
  t.match(reloaded.take(), [{ t: 'welcome', you: 'p1', replay: null, state: { a: 1 }, room: { host: 'p1' } }])
  t.match(bob.connection.take(), [{ t: 'back', id: 'p1' }])
  t.equal(room.members.resumable('token1', accountOf('ada')), null, 'the former page does not take it back')

  t.equal(refusalOf(room, requestOf('ada')), null, 'from another device')
  const elsewhere = newConnection()
  t.equal(joinRoom(room, requestOf('ada'), elsewhere), ada.member)
  t.equal(elsewhere.take().length, 1)
  t.equal(reloaded.closed, 4012, 'where the player is no longer')
  t.same(bob.connection.take(), [], 'of which others notice nothing')

  joinRoom(room, requestOf('bob'), newConnection())
  elsewhere.take()
  t.equal(bob.connection.closed, 4002, 'a client of an earlier version knows this as an end')

  room.drop(ada.member, elsewhere, true)
  clock.advance(5000)
  room.sweep()
  t.equal(room.members.byId.has('p1'), false, 'whoever closed the page has left after 5 s')
})

t.test('an account may be present twice, while there is room', async (t) => {
  const { room, enter, newConnection } = makeRoom({ players: 3 })
  const ada = enter('ada')
  const second = newConnection()
  t.not(joinRoom(room, requestOf('ada'), second), ada.member)
  t.equal(ada.connection.closed, null)
  const guest = { ...accountOf('guest_1'), guest: true }
  joinRoom(room, { account: guest, resume: null }, newConnection())
  t.equal(refusalOf(room, { account: { ...guest, sub: 'guest_2' }, resume: null }), 'full', 'guests have no such place')
  enter('eve')
})

/** The same on one node, and on one of several. */
async function startGame(t: Test, bus: 'local' | 'ipc', settings: object = {}) {
  const path = join(t.testdir(), 'bus.sock')
  if (bus === 'ipc') {
    const first = await ipc.create({ path }, driverContext())
    t.teardown(() => first.close())
  }
  const config = bus === 'ipc' ? { bus: { driver: 'ipc', path } } : {}
  const platform = await startPlatform(t, { listen: true, config })
  const owner = await platform.signUp()
  const game = await platform.game(owner, { settings: { multiplayer: settings } })
  const host = platform.gameHost(game.slug)
  const [ada, bob] = [await platform.signUp({ name: 'Ada' }), await platform.signUp({ name: 'Bob' })]
  for (const player of [ada, bob]) await signInTo(player, host)
  const open = (player: typeof ada) => new RoomSocket(t, platform, '/mp/rooms/lobby', headersOf(player, host))
  const upgradeOf = (player: typeof ada) => upgrade(platform, '/mp/rooms/lobby', headersOf(player, host))
  /** Waits for the end of the only socket, at the server too: it closes after the client. */
  const gone = async (socket: RoomSocket) => {
    await socket.closed
    await until(async () => (await promisify(platform.app.server.getConnections.bind(platform.app.server))()) === 0)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { platform, ada, bob, open, upgradeOf, gone, host }
}

for (const bus of ['local', 'ipc'] as const) {
  t.test(`${bus}: an empty room is gone at once, with its lock and its state`, async (t) => {
    const { ada, bob, open, gone } = await startGame(t, bus)
    for (const player of [ada, bob, ada]) {
      const socket = open(player)
      t.match(await socket.enter(), { you: 'p1', state: {}, version: 0, players: [{ name: player.account.name }] })
      socket.say({ t: 'lock', locked: true })
      socket.say({ t: 'state', set: { level: 4 } })
      await socket.next('state')
      socket.socket.close(1000)
      await gone(socket)
    }
  })

  t.test(`${bus}: who reloads the page of a locked room finds it as it was, and others a new one`, async (t) => {
    const { ada, bob, open, upgradeOf, gone } = await startGame(t, bus)
    const first = open(ada)
    await first.enter()
    first.say({ t: 'lock', locked: true })
    first.say({ t: 'state', set: { level: 4 } })
    await first.next('state')
    t.match(await upgradeOf(bob), { status: 409, body: { error: { code: 'room_locked' } } })
    first.socket.close(1001)
    await gone(first)
    const reloaded = open(ada)
    t.match(await reloaded.enter(), { you: 'p1', state: { level: 4 }, room: { host: 'p1', locked: true } })
    reloaded.socket.close(1001)
    await gone(reloaded)
    const other = open(bob)
    t.match(await other.enter(), { you: 'p1', state: {}, room: { locked: false }, players: [{ name: 'Bob' }] })
    const late = open(ada)
    t.match(await late.enter(), { you: 'p2' })
  })

  t.test(`${bus}: whose browser crashed is back at once in a full room, and the host again`, async (t) => {
    const { ada, bob, open } = await startGame(t, bus, { maxPlayersPerRoom: 2 })
    const first = open(ada)
    await first.enter()
    const other = open(bob)
    await other.enter()
    first.socket.terminate()
    await other.next('away')
    const again = open(ada)
    t.match(await again.enter(), { you: 'p1', room: { host: 'p1' } })
    await other.next('back')
    // The network of a device is gone without a word, and the player takes another device.
    const elsewhere = open(ada)
    t.match(await elsewhere.enter(), { you: 'p1', room: { host: 'p1' } })
    t.equal(await again.closed, 4002)
  })
}

t.test('the page of a guest that is closed leaves', async (t) => {
  const { platform, bob, open, host } = await startGame(t, 'local', { guests: true })
  const other = open(bob)
  await other.enter()
  const guest = new RoomSocket(t, platform, '/mp/rooms/lobby', { host, origin: `http://${host}` })
  const { you } = await guest.enter()
  guest.socket.close(1001)
  t.match(await other.next('leave'), { id: you, reason: 'left' })
})
