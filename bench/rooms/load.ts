// The players of bench/rooms.ts in a separate process. It reads one job as JSON from the command line, and writes
// `{"phase":"begin"}` and `{"phase":"end", …}` at the beginning and the end of the measurement.
import { setTimeout as sleep } from 'node:timers/promises'
import WebSocket from 'ws'

export interface Job {
  subject: string
  port: number
  headers: Record<string, string>
  rooms: number
  players: number
  /** Messages per second from each player; 0 for silent sockets. */
  rate: number
  seconds: number
}

interface Player {
  send(data: object): void
}

/** Long enough to compile the running code, and to collect the garbage of joining. */
const WARM_UP_MS = 6000
/**
 * Latency is measured once per so many deliveries, because parsing all of them would make this process the bottleneck.
 */
const SAMPLE = 16
const AT_ONCE = 50

const job = JSON.parse(process.argv[2] ?? '{}') as Job
let delivered = 0
const latencies: number[] = []

const now = () => performance.now()
let isCounting = false
const heardText = (data: Buffer) => {
  if (!isCounting) return // The messages so far report other players who join.
  if (delivered++ % SAMPLE === 0) latencies.push(now() - JSON.parse(data.toString()).data.at)
}

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
  socket.on('message', heardText)
  return { send: (data) => socket.send(JSON.stringify({ t: 'send', type: 'm', data })) }
}

async function overColyseus(name: string): Promise<Player> {
  const { Client } = await import('@colyseus/sdk')
  const room = await new Client(`http://127.0.0.1:${job.port}`).joinOrCreate('bench', { room: name })
  room.onMessage('m', (data: { at: number }) => {
    if (isCounting && delivered++ % SAMPLE === 0) latencies.push(now() - data.at)
  })
  return { send: (data) => room.send('m', data) }
}

const join = job.subject === 'colyseus' ? overColyseus : overWs
const names = Array.from({ length: job.rooms * job.players }, (_, index) => `room${index % job.rooms}`)
const players: Player[] = []
for (let at = 0; at < names.length; at += AT_ONCE) {
  players.push(...(await Promise.all(names.slice(at, at + AT_ONCE).map(join))))
}

// This process never sleeps. Waking a sleeping process costs the server CPU time at each write, and only a server that
// is faster than its players meets sleeping ones.
const stayAwake = () => void setImmediate(stayAwake)
if (job.rate > 0) stayAwake()

let ticking: NodeJS.Timeout | undefined
if (job.rate > 0) {
  // Each player sends at a constant rate, with a random offset, like independent players.
  const due = players.map(() => now() + (Math.random() * 1000) / job.rate)
  ticking = setInterval(() => {
    const time = now()
    players.forEach((player, index) => {
      if ((due[index] as number) > time) return
      due[index] = (due[index] as number) + 1000 / job.rate
      // The message has 60 bytes as JSON.
      player.send({ at: Number(time.toFixed(3)).valueOf(), x: 123.456, y: 654.321, pad: 'abcdefg' })
    })
  }, 2)
  await sleep(WARM_UP_MS)
} else {
  await sleep(500)
}
isCounting = true
process.stdout.write('{"phase":"begin"}\n')
await sleep(job.seconds * 1000)
clearInterval(ticking)
isCounting = false
const sorted = latencies.toSorted((a, b) => a - b)
const quantile = (part: number) => sorted[Math.floor(sorted.length * part)] ?? null
process.stdout.write(`${JSON.stringify({ phase: 'end', delivered, p50: quantile(0.5), p99: quantile(0.99) })}\n`)
await sleep(300)
process.exit(0)
