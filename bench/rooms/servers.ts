// `node bench/rooms/servers.ts gameyard|colyseus|ws|bare`: one of the servers that bench/rooms.ts compares. Writes one
// line of JSON once it listens: its port, and the headers for opening a player's socket.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { textFrame } from '../../plugins/multiplayer/room/frames.ts'

const LARGEST_ROOM = 200

async function gameyard() {
  const { startKernel } = await import('../../test/kit/kernel.ts')
  const { Platform } = await import('../../test/kit/platform.ts')
  const { headersOf, signInTo } = await import('../../test/plugins/multiplayer/kit.ts')
  const { manualClock } = await import('../../test/kit/driver-context.ts')
  const { plugins } = await import('../../plugins/index.ts')
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  const test = { teardown() {} } as unknown as Parameters<typeof startKernel>[0]
  // All settings have their defaults, except that one account may hold all sockets, and rooms have the scenario's size.
  const limits = {
    ...{ rateLimits: false, connectionsPerAddress: 100_000 },
    ...{ roomSocketsPerPlayer: 100_000, roomPlayers: LARGEST_ROOM },
  }
  const app = await startKernel(test, { plugins, config: { listen: { host: '127.0.0.1', port }, limits } })
  await app.listen({ host: '127.0.0.1', port })
  const platform = new Platform(app, manualClock())
  const player = await platform.signUp()
  const settings = { multiplayer: { maxPlayersPerRoom: LARGEST_ROOM } }
  const game = await platform.game(player, { settings })
  const host = platform.gameHost(game.slug)
  await signInTo(player, host)
  return { port, headers: headersOf(player, host) }
}

async function colyseus() {
  const { Room, Server } = await import('@colyseus/core')
  const { WebSocketTransport } = await import('@colyseus/ws-transport')
  class BenchRoom extends Room {
    override maxClients = LARGEST_ROOM
    override patchRate = null
    override onCreate() {
      this.onMessage('m', (client, data) => this.broadcast('m', data, { except: client }))
    }
  }
  const http = createServer()
  const server = new Server({ greet: false, transport: new WebSocketTransport({ server: http }) })
  server.define('bench', BenchRoom).filterBy(['room'])
  await server.listen(0, '127.0.0.1')
  return { port: (http.address() as { port: number }).port, headers: {} }
}

/** A minimal implementation: one set of sockets per room; JSON is parsed once and serialized for each recipient. */
async function plain() {
  const rooms = new Map<string, Set<WebSocket>>()
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
  server.on('connection', (socket, request) => {
    const name = request.url as string
    const room = rooms.get(name) ?? new Set<WebSocket>()
    rooms.set(name, room.add(socket))
    socket.on('message', (text) => {
      const { type, data } = JSON.parse(String(text))
      for (const other of room) if (other !== socket) other.send(JSON.stringify({ t: 'msg', type, data }))
    })
    socket.on('close', () => room.delete(socket))
  })
  await once(server, 'listening')
  return { port: (server.address() as { port: number }).port, headers: {} }
}

/**
 * Our server reduced to its sockets: no sign-in, limits, replay or backpressure. Each room's frames are created once
 * and written together every 8 ms. It shows approximately the maximum that Node and the kernel achieve with batches of
 * 8 ms.
 */
async function bare() {
  interface Said {
    frame: Buffer
    by: Duplex
  }
  const rooms = new Map<string, { streams: Set<Duplex>; said: Said[] }>()
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false, skipUTF8Validation: true })
  server.on('connection', (socket, { url = '', socket: stream }) => {
    const room = rooms.get(url) ?? { streams: new Set(), said: [] }
    rooms.set(url, room)
    room.streams.add(stream)
    const handOver = () => {
      const said = room.said.splice(0)
      const senders = new Set(said.map(({ by }) => by))
      const all = Buffer.concat(said.map(({ frame }) => frame))
      for (const other of room.streams) {
        if (!senders.has(other)) other.write(all)
        else other.write(Buffer.concat(said.filter(({ by }) => by !== other).map(({ frame }) => frame)))
      }
    }
    socket.on('message', (text) => {
      const { type, data } = JSON.parse(String(text))
      const frame = textFrame(JSON.stringify({ t: 'msg', from: 'p1', type, data }))
      if (room.said.push({ frame, by: stream }) === 1) setTimeout(handOver, 8)
    })
    socket.on('close', () => room.streams.delete(stream))
  })
  await once(server, 'listening')
  return { port: (server.address() as { port: number }).port, headers: {} }
}

process.on('SIGTERM', () => process.exit(0))

const subjects: Record<string, () => Promise<{ port: number; headers: Record<string, string> }>> = {
  gameyard,
  colyseus,
  ws: plain,
  bare,
}
const subject = subjects[process.argv[2] ?? '']
if (!subject) throw new Error(`Say which: ${Object.keys(subjects).join(', ')}`)
process.stdout.write(`${JSON.stringify(await subject())}\n`)
