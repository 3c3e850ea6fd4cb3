// In a process of its own: it measures how much memory this one takes.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import WebSocket from 'ws'
import { NODE_FLAGS } from '../../../bin/node-flags.js'
import { amount, inFull } from '../../kit/extent.ts'
import { FROM_SOURCE } from '../../kit/gameyard.ts'
import { type PlatformOptions, startPlatform } from '../../kit/platform.ts'
import { makeToken } from '../../kit/remote-sign-up.ts'
import { type Server, startServer } from '../../kit/server.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { ask } from '../../kit/upload.ts'
import { headersOf, RoomSocket, signInTo, upgrade } from './kit.ts'

t.setTimeout(timeLimit(600))

/** The number of sockets that connect and disconnect. */
const CONNECTS = 10_000
/**
 * The number of warm-up sockets. The resident memory stays only after thousands (new objects alone: three times 16 MB).
 */
const WARM = CONNECTS
const ROOM = '/mp/rooms/lobby'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Returns the memory in use after garbage collection. */
async function heldBytes(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    collectGarbage()
    await sleep(30)
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function openPlatform(t: Parameters<typeof startPlatform>[0], options: PlatformOptions = {}) {
  const platform = await startPlatform(t, { listen: true, ...options })
  const owner = await platform.signUp()
  const game = await platform.game(owner)
  const host = platform.gameHost(game.slug)
  const eve = await platform.signUp({ name: 'Eve' })
  await signInTo(eve, host)
  const headers = headersOf(eve, host)
  const open = (path = ROOM, more = {}) => new RoomSocket(t, platform, path, headers, more)
  const sockets = async () => {
    const metrics = await platform.app.metrics.getMetricsAsJSON()
    return metrics.find(({ name }) => name === 'gameyard_room_sockets')?.values[0]?.value
  }
  return { platform, host, eve, headers, open, sockets }
}

t.test('a session that has expired opens no room, and ends in the one it has opened', async (t) => {
  const { platform, headers, open } = await openPlatform(t, { config: { limits: { roomPingSeconds: 1 } } })
  const early = open()
  await early.enter()
  platform.clock.advance(8 * 24 * 3600 * 1000)
  t.match(await upgrade(platform, ROOM, headers), { status: 401, body: { error: 'auth_required' } })
  t.equal(await early.closed, 1008)
})

t.test('what hostile clients send ends as the contract says', async (t) => {
  const { open, platform } = await openPlatform(t)
  const witness = open()
  await witness.enter()
  const deep = '['.repeat(32_000) + ']'.repeat(32_000)
  /** Inputs that get an error response or are accepted. The connection stays open. */
  const harmless: [string, string, string][] = [
    ['no JSON', '{"t":', 'error'],
    ['JSON that never closes', '['.repeat(64_000), 'error'],
    ['a number too large', '{"t":"state","set":{"a":1},"if":1e400}', 'error'],
    ['deep JSON', `{"t":"send","type":"x","to":"all","data":${deep}}`, 'msg'],
    ['__proto__ as a key', '{"t":"state","set":{"__proto__":{"hacked":1},"constructor":{"hacked":1}}}', 'state'],
    ['__proto__ as the message', '{"__proto__":{"t":"kick","id":"p1"}}', 'error'],
    ['a type of the prototype', '{"t":"__proto__"}', 'error'],
    ['a NUL and lone surrogates', '{"t":"send","type":"\\u0000\\ud800","to":"all"}', 'msg'],
  ]
  for (const [name, text, answer] of harmless) {
    const client = open()
    await client.enter()
    client.socket.send(text)
    t.ok(await client.next(answer), name)
    t.equal(client.socket.readyState, client.socket.OPEN, `${name}: still connected`)
    client.socket.close()
    await client.closed
  }
  t.equal(({} as { hacked?: number }).hacked, undefined, 'no prototype was touched')

  /** Inputs that close the connection with a code. */
  const fatal: [string, (client: RoomSocket) => unknown, number][] = [
    ['10 MB in one frame', ({ socket }) => socket.send(Buffer.alloc(10 * 1024 * 1024)), 1009],
    ['10 MB in one text', ({ socket }) => socket.send('x'.repeat(10 * 1024 * 1024)), 1009],
    ['fragments beyond the limit', ({ socket }) => pieces(socket, Buffer.alloc(40_000), 10), 1009],
    ['tiny fragments without end', ({ socket }) => pieces(socket, Buffer.alloc(1), 300), 1008],
    ['malformed UTF-8', ({ socket }) => socket.send(Buffer.from([0xc3, 0x28]), { binary: false }), 1007],
    ['a flood of messages', (client) => flood(200, () => client.say({ t: 'ping', id: 1 })), 1008],
    ['a flood of bytes', ({ socket }) => flood(200, () => socket.send(Buffer.alloc(100))), 1008],
    ['a flood of nonsense', ({ socket }) => flood(200, () => socket.send('?')), 1008],
  ]
  const held: number[] = []
  // The first rounds allocate what the program keeps.
  const [settled, final] = [1, amount(2, 3)]
  for (let round = 0; round <= final; round++) {
    for (const [name, attack, code] of fatal) {
      const client = open()
      await client.enter()
      attack(client)
      const ended = await client.closed
      if (round === 0) t.equal(ended, code, name)
    }
    witness.received.length = 0
    if (round === settled || round === final) held.push(await heldBytes())
  }
  const [first = 0, last = 0] = held
  t.comment(`memory: ${Math.round(first / 1e6)} MB, then ${Math.round(last / 1e6)} MB`)
  // Garbage of the machine's own streams may go a moment later.
  t.ok(last < first * 1.1 || (await until(async () => (await heldBytes()) < first * 1.1)), 'memory stays')
  t.equal(witness.socket.readyState, witness.socket.OPEN, 'and nobody else was disturbed')
  t.equal((await platform.stranger.get('/healthz')).status, 200)
})

function pieces(socket: RoomSocket['socket'], piece: Buffer, count: number): void {
  for (let index = 0; index < count; index++) socket.send(piece, { fin: false })
}

function flood(count: number, send: () => void): void {
  for (let index = 0; index < count; index++) send()
}

t.test('a player has so many sockets and no more', async (t) => {
  const { open, platform, headers } = await openPlatform(t, { config: { limits: { roomSocketsPerPlayer: 3 } } })
  const clients = [open(), open('/mp/rooms/other'), open()]
  for (const client of clients) await client.enter()
  t.match(await upgrade(platform, ROOM, headers), { status: 429, body: { error: { code: 'too_many_sockets' } } })
  clients[0]?.socket.close()
  await clients[0]?.closed
  t.equal((await upgrade(platform, ROOM, headers)).status, 101, 'one that ends makes way')
})

t.test('half a handshake and half a frame hold nothing up', async (t) => {
  // The others must answer a ping before the next one, also on a busy machine.
  const { platform, headers, open, sockets } = await openPlatform(t, { config: { limits: { roomPingSeconds: 3 } } })
  const { port } = platform.app.server.address() as { port: number }
  const half = connect(port, '127.0.0.1')
  half.on('error', () => {})
  half.write(`GET ${ROOM} HTTP/1.1\r\nHost: ${headers.host}\r\nUpgrade: websocket\r\nConn`)
  const frame = open()
  await frame.enter()
  // This sends the start of a frame and then nothing, not even pongs.
  const { _socket: raw } = frame.socket as unknown as { _socket: import('node:net').Socket }
  raw.write(Buffer.from([0x81, 0xfe, 0x10]))
  raw.pause()
  const other = open()
  await other.enter()
  other.say({ t: 'ping', id: 1 })
  await other.next('pong')
  t.match(await other.next('away'), { id: 'p1' }, 'who answers no more is away')
  half.destroy()
  raw.destroy()
  await until(async () => (await sockets()) === 1)
  t.pass('the other one is left')
})

t.test('a hundred connects and disconnects leave no socket and no room', async (t) => {
  const { open, sockets, platform, host } = await openPlatform(t)
  await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const client = open(`/mp/rooms/room${index % 10}`)
      await client.enter()
      // Half of them send a close frame.
      if (index % 2) client.socket.close()
      else client.socket.terminate()
      await client.closed
    }),
  )
  await until(async () => (await sockets()) === 0)
  t.equal(((await platform.stranger.get('/mp/rooms', { host })).body.rooms as unknown[]).length > 0, true)
  // Players who disconnected without one keep their place for some time.
  platform.clock.advance(60_000)
  await until(async () => (await platform.stranger.get('/mp/rooms', { host })).body.rooms.length === 0)
  t.pass('nothing is left')
})

const leavesNothing = `${CONNECTS} connects and disconnects leave nothing behind in the server`
inFull(t)?.test(leavesNothing, { timeout: timeLimit(1200) }, async (t) => {
  const server = await startServer(t, {
    // With these flags the program does not re-execute itself, so there is only one inspector.
    program: [process.execPath, ...NODE_FLAGS, '--inspect=127.0.0.1:0', FROM_SOURCE],
    config: {
      blender: { driver: 'none' },
      limits: { rateLimits: false, roomSocketsPerPlayer: 100_000, roomResumeSeconds: 1 },
    },
  })
  const token = await makeToken(server.portal, ['games:read', 'games:write'])
  const headers = { authorization: `Bearer ${token}` }
  const made = await ask('POST', `${server.portal}/api/games`, { headers, body: { title: 'Pong', description: 'A.' } })
  const settings = { multiplayer: { guests: true } }
  await ask('PATCH', `${server.portal}/api/games/${made.body.id}`, { headers, body: { settings } })
  const host = `${made.body.slug}.localhost:${server.port}`
  const rooms = async () => (await ask('GET', `http://${host}/mp/rooms`)).body.rooms.length
  const sockets = async () =>
    Number(/^gameyard_room_sockets(?:\{.*\})? (\d+)/m.exec((await ask('GET', `${server.portal}/metrics`)).body)?.[1])

  const visit = async (room: string, politely: boolean) => {
    const address = `ws://127.0.0.1:${server.port}/mp/rooms/${room}`
    const socket = new WebSocket(address, { headers: { host, origin: `http://${host}` } })
    const closed = once(socket, 'close')
    await once(socket, 'message')
    socket.send('{"t":"send","type":"hello","to":"all"}')
    // Half of them send a close frame.
    if (politely) socket.close()
    else socket.terminate()
    await closed
  }
  const wave = async (count: number) => {
    let at = 0
    const come = async () => {
      for (let mine = at++; mine < count; mine = at++) await visit(`room${mine % 40}`, mine % 2 === 0)
    }
    await Promise.all(Array.from({ length: 25 }, come))
    // Players who disconnected without one keep their place for some time.
    await until(async () => (await rooms()) === 0)
  }
  // The first wave loads and compiles everything, and allocates permanent memory.
  await wave(WARM)
  const before = await memoryOf(server)
  await wave(CONNECTS)
  t.equal(await rooms(), 0, 'no room')
  t.equal(await sockets(), 0, 'no socket')
  const after = await memoryOf(server)
  for (const what of ['heap', 'resident'] as const) {
    const [then, now] = [before[what], after[what]]
    if (then === null || now === null) continue
    t.ok(now < then * 1.1, `${what} memory: ${(then / 1e6).toFixed(1)} MB, then ${(now / 1e6).toFixed(1)} MB`)
  }
})

/** Returns the memory in use of a server process after garbage collection, in bytes, through its inspector. */
async function memoryOf(server: Server): Promise<{ heap: number; resident: number | null }> {
  const address = /Debugger listening on (ws:\S+)/.exec(server.output())?.[1]
  const inspector = new WebSocket(address as string)
  await once(inspector, 'open')
  let asked = 0
  const call = async (method: string) => {
    inspector.send(JSON.stringify({ id: ++asked, method }))
    const [answer] = await once(inspector, 'message')
    return JSON.parse(String(answer)).result
  }
  for (let round = 0; round < 4; round++) {
    await call('HeapProfiler.collectGarbage')
    await sleep(100)
  }
  const { usedSize, totalSize, backingStorageSize = 0 } = await call('Runtime.getHeapUsage')
  inspector.close()
  // Linux reports it; elsewhere only the heap is available. Pages of files do not count, because the system manages
  // them.
  const status = await readFile(`/proc/${server.process.pid}/status`, 'utf8').catch(() => '')
  const resident = /RssAnon:\s+(\d+)/.exec(status)?.[1]
  // The heap keeps pages for a while that it once had.
  const unused = totalSize - usedSize
  return { heap: usedSize + backingStorageSize, resident: resident ? Number(resident) * 1024 - unused : null }
}

t.test('a wave of upgrades that are refused leaves no socket', async (t) => {
  const { platform, host } = await openPlatform(t)
  const { port } = platform.app.server.address() as { port: number }
  const ends = Array.from({ length: amount(30, 100) }, async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `GET ${ROOM} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    socket.resume()
    await once(socket, 'end', { signal: AbortSignal.timeout(timeLimit()) })
  })
  await Promise.all(ends)
  await until(
    () => new Promise<boolean>((resolve) => platform.app.server.getConnections((_, count) => resolve(count === 0))),
  )
  t.pass('no connection is left')
})
