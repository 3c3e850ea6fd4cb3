// The players of bench/authority.ts in a separate process. It reads one job as JSON from the command line, and writes
// `{"phase":"begin"}` and `{"phase":"end", …}` at the beginning and the end of the measurement.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import WebSocket from 'ws'

export interface Job {
  subject: string
  port: number
  headers: Record<string, string>
  rooms: number
  players: number
  /** Inputs per second from each player; 0: one for each state that the player receives. */
  rate: number
  seconds: number
}

const WARM_UP_MS = 4000
/** Latency is measured once per so many deliveries. */
const SAMPLE = 8
const AT_ONCE = 20

const job = JSON.parse(process.argv[2] ?? '{}') as Job
const now = () => performance.timeOrigin + performance.now()
let isCounting = false
let delivered = 0
const latencies: number[] = []
const sampled = (at: () => number) => {
  if (isCounting && delivered++ % SAMPLE === 0) latencies.push(now() - at())
}

interface Player {
  send(data: object): void
}

const input = () => ({ vx: Math.random() * 2 - 1, vy: Math.random() * 2 - 1 })

async function overWs(room: string): Promise<Player> {
  const url = `ws://127.0.0.1:${job.port}/mp/rooms/${room}`
  const connect = async () => {
    const socket = new WebSocket(url, { headers: job.headers, perMessageDeflate: false, skipUTF8Validation: true })
    await once(socket, 'message')
    return socket
  }
  // A busy server may refuse, for example when the script has not admitted the player in time.
  const socket = await connect().catch(connect).catch(connect)
  const player = { send: (data: object) => socket.send(JSON.stringify({ t: 'send', type: 'm', data })) }
  socket.on('message', (data: Buffer) => {
    sampled(() => JSON.parse(data.toString()).data.at)
    if (job.rate === 0) player.send(input())
  })
  return player
}

async function overColyseus(name: string): Promise<Player> {
  const { Client } = await import('@colyseus/sdk')
  const client = new Client(`http://127.0.0.1:${job.port}`)
  // A busy server drops connections of its matchmaking.
  const enter = () => client.joinOrCreate('bench', { room: name })
  const room = await enter().catch(enter).catch(enter)
  room.onStateChange((state: { at: number }) => {
    sampled(() => state.at)
    if (job.rate === 0) room.send('m', input())
  })
  return { send: (data) => room.send('m', data) }
}

const join = job.subject === 'colyseus' ? overColyseus : overWs
const names = Array.from({ length: job.rooms * job.players }, (_, index) => `room${index % job.rooms}`)
const players: Player[] = []
for (let at = 0; at < names.length; at += AT_ONCE) {
  players.push(...(await Promise.all(names.slice(at, at + AT_ONCE).map(join))))
}
const due = players.map(() => (job.rate === 0 ? Infinity : now() + (Math.random() * 1000) / job.rate))
const sending = setInterval(() => {
  const time = now()
  for (const [index, player] of players.entries()) {
    if ((due[index] as number) > time) continue
    due[index] = (due[index] as number) + 1000 / job.rate
    player.send(input())
  }
}, 2)
await sleep(WARM_UP_MS)
isCounting = true
process.stdout.write('{"phase":"begin"}\n')
await sleep(job.seconds * 1000)
isCounting = false
clearInterval(sending)
const sorted = latencies.toSorted((a, b) => a - b)
const quantile = (part: number) => sorted[Math.floor(sorted.length * part)] ?? null
process.stdout.write(`${JSON.stringify({ phase: 'end', delivered, p50: quantile(0.5), p99: quantile(0.99) })}\n`)
await sleep(200)
process.exit(0)
