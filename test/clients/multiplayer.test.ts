// What the client of rooms tells the server when a connection is lost, without a server.
import { on, once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type WebSocket, WebSocketServer } from 'ws'
import { ServerClock } from '../../clients/browser/multiplayer/clock.ts'
import { Heartbeat } from '../../clients/browser/multiplayer/heartbeat.ts'
import { join } from '../../clients/browser/multiplayer.ts'
import { inFull } from '../kit/extent.ts'
import { timeLimit } from '../kit/time-limit.ts'

const WELCOME = {
  t: 'welcome',
  v: 1,
  you: 'p1',
  state: {},
  version: 0,
  resume: 'the-token',
  sequence: 7,
  now: 0,
  replay: null,
  room: { id: 'lobby', host: 'p1', capacity: 2 },
  players: [{ id: 'p1', index: 0, sub: 'ada', name: 'Ada', imageUrl: null, data: null, joinedAt: '' }],
}

/** A server that welcomes the first socket and refuses all others. It records the requests without an upgrade. */
async function startServer(t: Test) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url as string)
    response.writeHead(403, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { code: 'kicked', message: 'Out.' } }))
  })
  const sockets = new WebSocketServer({ noServer: true })
  const { promise: socket, resolve } = Promise.withResolvers<WebSocket>()
  let count = 0
  server.on('upgrade', (request: IncomingMessage, stream, head) => {
    if (++count > 1) return stream.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n')
    sockets.handleUpgrade(request, stream, head, (welcomed) => {
      welcomed.send(JSON.stringify(WELCOME))
      resolve(welcomed)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { origin: `http://127.0.0.1:${port}`, socket, asked }
}

/** Returns the client's next ping. */
async function nextPing(socket: WebSocket): Promise<{ t: string; id: number }> {
  for await (const [data] of on(socket, 'message')) {
    const message = JSON.parse(data.toString())
    if (message.t === 'ping') return message
  }
  throw new Error('The socket sends nothing.')
}

t.test('whoever is refused on the way back asks for the reason as the player who was there', async (t) => {
  const { origin, socket, asked } = await startServer(t)
  const room = await join('lobby', { origin })
  const left = new Promise((resolve) => room.on('left', resolve))
  ;(await socket).terminate()
  t.equal(await left, 'kicked')
  t.same(asked, ['/mp/rooms/lobby?acks=1&resume=the-token&received=7'])
})

t.test('a player with a new name is the same player', async (t) => {
  const { origin, socket } = await startServer(t)
  const room = await join('lobby', { origin })
  t.teardown(() => room.leave())
  const told = new Promise((resolve) => room.on('profile', resolve))
  const { me } = room
  ;(await socket).send(JSON.stringify({ t: 'profile', id: 'p1', name: 'Countess', imageUrl: '/x.png' }))
  t.equal(await told, me)
  t.match(me, { name: 'Countess', imageUrl: '/x.png', sub: 'ada' })
})

/** Lets the client's time jump, as when a device sleeps or a browser runs the timers of a hidden tab once a minute. */
function sleepingDevice(t: Test) {
  const { now } = performance
  let slept = 0
  t.teardown(() => Object.assign(performance, { now }))
  performance.now = () => now.call(performance) + slept
  return {
    sleep: (ms: number) => {
      slept += ms
    },
  }
}

t.test('a device that slept, or hid the tab, asks first whether the server is still there', async (t) => {
  const { origin, socket } = await startServer(t)
  const room = await join('lobby', { origin })
  t.teardown(() => room.leave())
  const welcomed = await socket
  const left = once(welcomed, 'close').then(() => 'closed')
  const answer = ({ id }: { id: number }) => welcomed.send(JSON.stringify({ t: 'pong', id, now: 0 }))
  answer(await nextPing(welcomed))
  const device = sleepingDevice(t)
  for (const ms of [60_000, 50_000]) {
    const asked = nextPing(welcomed)
    device.sleep(ms)
    const ping = await Promise.race([asked, left])
    if (ping === 'closed') return t.fail('the client gave up')
    answer(ping as { id: number })
  }
  t.equal(room.connected, true)
})

t.test('a silent socket is closed as lost, so that the server keeps the place', async (t) => {
  const { origin, socket } = await startServer(t)
  const room = await join('lobby', { origin })
  t.teardown(() => room.leave())
  const welcomed = await socket
  const closed = once(welcomed, 'close')
  const device = sleepingDevice(t)
  const sleeping = setInterval(() => device.sleep(20_000), 1000)
  t.teardown(() => clearInterval(sleeping))
  const [code] = await Promise.race([closed, sleep(timeLimit(), ['never'])])
  t.equal(code, 4100)
})

t.test('a silence counts from an unanswered ping, and what nobody observed counts for half of it', async (t) => {
  const heartbeat = new Heartbeat()
  t.equal(heartbeat.check(1000), 'ping')
  heartbeat.pinged(1000)
  t.equal(heartbeat.check(61_000), 'ping', 'a late check')
  heartbeat.heard()
  t.equal(heartbeat.check(121_000), 'ping', 'a minute without a question is no silence')
  heartbeat.pinged(121_000)
  t.equal(heartbeat.check(171_000), 'ping', 'the device slept after the ping')
  heartbeat.pinged(171_000)
  for (let now = 173_500; now < 183_500; now += 2500) t.not(heartbeat.check(now), 'lost')
  t.equal(heartbeat.check(183_500), 'lost', '12.5 s later')
})

t.test('the time of a room goes on when the clock of the device is set, or stood still', async (t) => {
  const clock = new ServerClock()
  const { now } = performance
  const wall = Date.now
  t.teardown(() => Object.assign(performance, { now }) && Object.assign(Date, { now: wall }))
  let at = 1000
  performance.now = () => at
  const ping = (server: number, took: number) => {
    const sentAt = at
    at += took
    clock.addPing(sentAt, server + took / 2)
  }
  clock.set(5_000_000)
  for (let count = 0; count < 3; count++) ping(5_000_000 + at - 1000, 10)
  Date.now = () => wall() - 3_600_000
  t.equal(clock.now(), 5_000_000 + at - 1000)
  // The device slept for a minute, in which its clock stood still.
  ping(5_060_000 + at - 1000, 80)
  t.equal(clock.now(), 5_060_000 + at - 1000, 'although earlier pings were faster')
  ping(5_060_000 + at - 1000 + 20, 60)
  t.equal(clock.now(), 5_060_020 + at - 1000, 'the fastest of those that agree')
})

inFull(t)?.test('a network that swallows the question for the reason delays the return only', async (t) => {
  const server = createServer(() => {})
  server.on('upgrade', (_request, stream) => stream.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  const entered = join('lobby', { origin: `http://127.0.0.1:${port}` }).catch(({ code }) => code)
  t.equal(await Promise.race([entered, sleep(timeLimit(), 'nothing', { ref: false })]), 'unreachable')
})
