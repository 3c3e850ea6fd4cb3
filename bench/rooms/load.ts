// The players of bench/rooms.ts: see players.ts.
import WebSocket from 'ws'
import { Deliveries, enterRooms, job, type Player, sendRegularly } from './players.ts'

/** Long enough to compile the running code, and to collect the garbage of joining. */
const WARM_UP_MS = job.rate > 0 ? 6000 : 500

const now = () => performance.now()
const deliveries = new Deliveries(16, now)

async function overWs(room: string): Promise<Player> {
  const path = job.subject === 'gameyard' ? `/mp/rooms/${room}` : `/${room}`
  const socket = new WebSocket(`ws://127.0.0.1:${job.port}${path}`, {
    headers: job.headers,
    perMessageDeflate: false,
    skipUTF8Validation: true,
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    // Gameyard's first message is the welcome.
    socket.once(job.subject === 'gameyard' ? 'message' : 'open', () => resolve())
  })
  socket.on('message', (data: Buffer) => deliveries.count(() => JSON.parse(data.toString()).data.at))
  return { send: (data) => socket.send(JSON.stringify({ t: 'send', type: 'm', data })) }
}

async function overColyseus(name: string): Promise<Player> {
  const { Client } = await import('@colyseus/sdk')
  const room = await new Client(`http://127.0.0.1:${job.port}`).joinOrCreate('bench', { room: name })
  room.onMessage('m', (data: { at: number }) => deliveries.count(() => data.at))
  return { send: (data) => room.send('m', data) }
}

const players = await enterRooms(job.subject === 'colyseus' ? overColyseus : overWs, 50)

// This process never sleeps. Waking a sleeping process costs the server CPU time at each write, and only a server that
// is faster than its players meets sleeping ones.
const stayAwake = () => void setImmediate(stayAwake)
if (job.rate > 0) stayAwake()

// The message has 60 bytes as JSON.
const message = (at: number) => ({ at: Number(at.toFixed(3)), x: 123.456, y: 654.321, pad: 'abcdefg' })
const stop = job.rate > 0 ? sendRegularly(players, now, message) : () => {}
await deliveries.measure({ warmUpMs: WARM_UP_MS, stop })
