// `npx node bench/rooms/servers.ts gameyard|colyseus|ws|bare`: one of the servers that bench/rooms.ts compares. Writes one
// line of JSON once it listens: its port, and the headers for opening a player's socket.
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { textFrame } from '../../plugins/multiplayer/room/frames.ts'
import { LARGEST_ROOM, type Listening, runServer, startColyseus, startGameyard } from './start-server.ts'

async function colyseus(): Promise<Listening> {
  const { Room } = await import('@colyseus/core')
  class BenchRoom extends Room {
    override maxClients = LARGEST_ROOM
    override patchRate = null
    override onCreate() {
      this.onMessage('m', (client, data) => this.broadcast('m', data, { except: client }))
    }
  }
  return await startColyseus(BenchRoom)
}

/** A minimal implementation: one set of sockets per room; JSON is parsed once and serialized for each recipient. */
async function plain(): Promise<Listening> {
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
async function bare(): Promise<Listening> {
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

await runServer({ gameyard: () => startGameyard(), colyseus, ws: plain, bare })
