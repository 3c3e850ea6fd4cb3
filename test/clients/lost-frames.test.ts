// The client of rooms behind a network that loses what it carries, with a real server.
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { join, type Room } from '../../clients/browser/multiplayer.ts'
import { keepPace } from '../kit/driver-context.ts'
import { inFull } from '../kit/extent.ts'
import { startFaultyNetwork } from '../kit/faulty-network.ts'
import { startPlatform } from '../kit/platform.ts'
import { SEED } from '../kit/seed.ts'
import { timeLimit } from '../kit/time-limit.ts'
import { until } from '../kit/until.ts'
import { headersOf, signInTo } from '../plugins/multiplayer/kit.ts'
import { openPages } from '../plugins/multiplayer/page.ts'

/** Starts a game, to which some players have a faulty network. */
async function startGame(t: Test) {
  const network = await startFaultyNetwork(t)
  const platform = await startPlatform(t, { listen: true })
  network.target = (platform.app.server.address() as { port: number }).port
  const owner = await platform.signUp()
  const game = await platform.game(owner, { settings: { multiplayer: {} } })
  const host = platform.gameHost(game.slug)
  const [openPage, openFaulty] = [openPages(t, network.target), openPages(t, network.port)]
  /** Enters a room as a new player, and records what happens. */
  const enter = async (name: string, { isFaulty = false, giveUpAfterMs = 600_000 } = {}) => {
    const player = await platform.signUp({ name })
    await signInTo(player, host)
    const open = isFaulty ? openFaulty : openPage
    const room = await join('lobby', { origin: open(headersOf(player, host)), giveUpAfterMs })
    t.teardown(() => room.leave())
    return { room, ...record(room) }
  }
  return { platform, network, enter }
}

/** Records the messages and the events of a room. */
function record(room: Room) {
  const messages: unknown[] = []
  const events: unknown[] = []
  room.on('message', (_type, data) => messages.push(data))
  room.on('binary', (bytes) => messages.push(bytes[0]))
  room.on('reconnecting', () => events.push('reconnecting'))
  room.on('reconnected', (info) => events.push(info))
  for (const name of ['join', 'leave', 'away', 'back'] as const)
    room.on(name, ({ name: who }: { name: string }, reason?: string) => events.push([name, who, reason]))
  room.on('host', (player) => events.push(['host', player?.name]))
  room.on('state', (set, del) => events.push(['state', set, del]))
  room.on('left', (reason) => events.push(['left', reason]))
  return { messages, events }
}

t.test('what a half-open socket swallows arrives once, in order, both ways', async (t) => {
  const { network, enter } = await startGame(t)
  const ada = await enter('Ada', { isFaulty: true })
  const bob = await enter('Bob')
  let said = 0
  const say = (count: number) => {
    const buffer = new Uint8Array(1)
    for (let end = said + count; said < end; ) {
      said++
      bob.room.send('n', said)
      if (said % 2) ada.room.send('n', said)
      else {
        buffer[0] = said
        ada.room.sendBinary(buffer)
      }
    }
  }
  say(6)
  await until(() => ada.messages.length === 6 && bob.messages.length === 6)
  for (let round = 0; round < 2; round++) {
    network.isSwallowing = true
    say(6)
    network.reset()
    say(3)
    network.isSwallowing = false
    await until(() => ada.messages.length === said && bob.messages.length === said)
  }
  const numbers = Array.from({ length: said }, (_, index) => index + 1)
  t.same(ada.messages, numbers)
  t.same(bob.messages, numbers)
  t.same(
    ada.events.filter((event) => !Array.isArray(event)),
    Array(2)
      .fill(['reconnecting', { missed: false, dropped: 0 }])
      .flat(),
  )
})

t.test('after a longer absence the game hears what changed, and nobody gets what was for another', async (t) => {
  const { platform, network, enter } = await startGame(t)
  const ada = await enter('Ada', { isFaulty: true })
  const bob = await enter('Bob')
  const eve = await enter('Eve')
  ada.room.state.set('score', 1)
  ada.room.state.set('card', 'ace')
  await until(() => ada.room.state.has('card') && ada.room.players.length === 3)
  network.isRefusing = true
  network.reset()
  await until(() => !ada.room.connected)
  ada.room.send('n', 'for Bob alone', [bob.room.me])
  ada.room.state.set('score', 9, { if: ada.room.state.version })
  ada.room.send('n', 'for all')
  await until(() => bob.room.players.some(({ away }) => away))
  platform.clock.advance(31_000)
  await until(() => bob.room.isHost)
  bob.room.state.assign({ score: 2, round: 1 })
  bob.room.state.delete('card')
  await until(() => eve.room.state.has('round') && !eve.room.state.has('card'))
  const dan = await enter('Dan')
  await until(() => bob.room.players.length === 3)
  bob.room.leave()
  await until(() => dan.room.players.length === 2 && dan.room.host?.name === 'Eve')
  ada.events.length = 0
  network.isRefusing = false
  await until(() => dan.messages.length > 0 && eve.messages.length > 0)
  t.same(dan.messages, ['for all'])
  t.same(eve.messages, ['for all'])
  const { missed, dropped } = ada.events.shift() as { missed: boolean; dropped: number }
  t.equal(missed, true)
  t.ok(dropped >= 2, 'the two that name what is gone, and what was sent but not yet acknowledged')
  t.same(ada.events, [
    ['leave', 'Bob', 'gone'],
    ['join', 'Dan', undefined],
    ['host', 'Eve'],
    ['state', { score: 2, round: 1 }, ['card']],
  ])
  t.same(
    ada.room.players.map(({ name }) => name),
    ['Eve', 'Dan', 'Ada'],
  )
  t.equal(ada.room.me.name, 'Ada')
})

inFull(t)?.test(
  'through a hundred cuts nothing is lost, doubled or out of order',
  { timeout: timeLimit(300) },
  async (t) => {
    const { platform, network, enter } = await startGame(t)
    keepPace(t, platform.clock)
    const ada = await enter('Ada', { isFaulty: true })
    const bob = await enter('Bob')
    let said = 0
    const talking = setInterval(() => {
      said++
      ada.room.send('n', said)
      bob.room.send('n', said)
    }, 100)
    t.teardown(() => clearInterval(talking))
    let last = (SEED % 2_147_483_646) + 1
    /** Returns a number from 0 to 1, the same ones for the same seed. */
    const random = () => {
      last = (last * 48_271) % 2_147_483_647
      return last / 2_147_483_647
    }
    for (let cut = 0; cut < 100; cut++) {
      const kind = Math.floor(random() * 3)
      if (kind === 1) network.isSwallowing = true
      if (kind === 2) network.delayMs = 20 + random() * 300
      await sleep(random() * 400)
      network.reset()
      network.isSwallowing = false
      network.delayMs = 0
      // Some cuts hit the client while it reconnects.
      if (random() < 0.7) await until(() => ada.room.connected)
    }
    clearInterval(talking)
    await until(() => ada.messages.length >= said && bob.messages.length >= said)
    const numbers = Array.from({ length: said }, (_, index) => index + 1)
    t.same(ada.messages, numbers)
    t.same(bob.messages, numbers)
    const infos = ada.events.filter((event) => typeof event === 'object' && !Array.isArray(event))
    t.same(
      infos,
      infos.map(() => ({ missed: false, dropped: 0 })),
    )
    t.comment(`seed ${SEED}: ${said} messages each way, ${infos.length} reconnections`)
  },
)
