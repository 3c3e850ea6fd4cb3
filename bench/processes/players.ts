// Players of rooms for bench/processes.ts, in a process of their own. They share the cores with the servers, so they are
// as cheap as Node allows: bare sockets that read into one buffer, frames that are counted without parsing them, and the
// same bytes for all players who send at a time. It reads one job as JSON from the command line. It writes
// `{"phase":"begin"}` and `{"phase":"end", …}` for one rate after the other, until one is too high twice.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface PlayersJob {
  port: number
  /** Host of the game. */
  host: string
  rooms: number
  players: number
  /** Messages per second from each player, ascending. */
  rates: number[]
  /** Of the measurement of one rate. */
  seconds: number
}

export interface PlayersResult {
  rate: number
  /** Whether 99 % of messages came within 50 ms, and as many as were sent. */
  sustained: boolean
  /** Messages a second. */
  delivered: number
  p50: number
  p99: number
  /** Processor time of the players, in cores. */
  own: number
}

const LIMIT_MS = 50
/** Of the messages that players of rooms without any delay would have got. */
const MOST = 0.97

/** Long enough to compile the running code, and to collect the garbage of joining. */
const WARM_UP_MS = 6000
const SETTLE_MS = 1000
/** Latency is measured once per so many reads. */
const SAMPLE = 16
const AT_ONCE = 25
/** The pause between two looks at who sends now. */
const TICK_MS = 2

const job = JSON.parse(process.argv[2] ?? '{}') as PlayersJob
/** Keeps the numbers of all times equally long. */
const BASE_MS = 1_000_000
const now = () => BASE_MS + performance.now()

let counting = false
let delivered = 0
let sent = 0
let reads = 0
const latencies: number[] = []
/** One buffer for all sockets: nothing outlives the call that reads. */
const shared = Buffer.allocUnsafe(256 * 1024)

const PING = 0x89
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0])

/** Counts the frames of one connection, whose ends need not be those of reads. */
class FrameCounter {
  /** Called when the server asks whether the player is there. */
  readonly #pinged: () => void
  #rest: Buffer | null = null
  /** Bytes of the current frame that are still to come. */
  #left = 0

  constructor(pinged: () => void) {
    this.#pinged = pinged
  }

  read(bytes: Buffer): void {
    let from = bytes
    if (this.#rest) {
      from = Buffer.concat([this.#rest, bytes])
      this.#rest = null
    }
    let at = this.#left
    while (at < from.length) {
      const length = lengthAt(from, at)
      if (length === null) {
        this.#rest = Buffer.from(from.subarray(at))
        this.#left = 0
        return
      }
      if (from[at] === PING) this.#pinged()
      else if (counting) delivered++
      at += length
    }
    this.#left = at - from.length
  }
}

/** Returns the length of a frame of a server with its header, or null when the header is incomplete. */
function lengthAt(bytes: Buffer, at: number): number | null {
  if (bytes.length - at < 2) return null
  const short = bytes[at + 1] as number
  if (short < 126) return 2 + short
  if (bytes.length - at < 4) return null
  if (short === 126) return 4 + bytes.readUInt16BE(at + 2)
  throw new Error('A frame is longer than any of this job.')
}

function sampleLatency(bytes: Buffer): void {
  if (!counting || reads++ % SAMPLE !== 0) return
  const at = bytes.indexOf('"at":')
  const time = at < 0 ? Number.NaN : Number(bytes.toString('latin1', at + 5, at + 16))
  if (time > BASE_MS) latencies.push(now() - time)
}

/** Joins a room. Resolves when the server's first frame, the welcome, has come. */
async function join(room: string): Promise<Socket> {
  const welcome = Promise.withResolvers<void>()
  let head = ''
  const frames = new FrameCounter(() => socket.write(PONG))
  const take = (bytes: Buffer) => {
    frames.read(bytes)
    welcome.resolve()
    sampleLatency(bytes)
  }
  const callback = (length: number) => {
    const bytes = shared.subarray(0, length)
    if (head === 'over') return void take(bytes)
    head += bytes.toString('latin1')
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    if (!head.startsWith('HTTP/1.1 101 ')) return welcome.reject(new Error(head))
    const after = Buffer.from(head.slice(end + 4), 'latin1')
    head = 'over'
    if (after.length > 0) take(after)
  }
  const onread = { buffer: shared, callback: (length: number) => callback(length) !== null }
  const socket = connect({ port: job.port, host: '127.0.0.1', noDelay: true, onread })
  socket.on('error', welcome.reject)
  socket.on('close', () => welcome.reject(new Error(`A socket of ${room} has been closed.`)))
  await once(socket, 'connect')
  const key = Buffer.alloc(16, 1).toString('base64')
  socket.write(
    `GET /mp/rooms/${room} HTTP/1.1\r\nhost: ${job.host}\r\norigin: http://${job.host}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n\r\n`,
  )
  await welcome.promise
  socket.on('close', () => fail(`A player of ${room} was disconnected.`))
  return socket
}

let over = false
function fail(message: string): void {
  if (over) return
  console.error(message)
  process.exit(1)
}

/** One message, as a client sends it: a text frame with a mask of zeros. Its data has 60 bytes as JSON. */
function message(time: number): Buffer {
  const text = `{"t":"send","type":"m","data":{"at":${time.toFixed(3)},"x":123.456,"y":654.321,"pad":"abcdefg"}}`
  const frame = Buffer.alloc(6 + text.length)
  frame[0] = 0x81
  frame[1] = 0x80 | text.length
  frame.write(text, 6, 'latin1')
  return frame
}

const names = Array.from({ length: job.rooms * job.players }, (_, index) => `room${index % job.rooms}`)
const players: Socket[] = []
for (let at = 0; at < names.length; at += AT_ONCE)
  players.push(...(await Promise.all(names.slice(at, at + AT_ONCE).map(join))))

// Each player sends at a constant rate, with a random offset, like independent players.
let pause = 0
let due: number[] = []
function send(): void {
  const time = now()
  let bytes: Buffer | null = null
  for (let index = 0; index < due.length; index++) {
    if ((due[index] as number) > time) continue
    due[index] = (due[index] as number) + pause
    bytes ??= message(time)
    players[index]?.write(bytes)
    if (counting) sent++
  }
}

async function measure(rate: number, settleMs: number): Promise<PlayersResult> {
  pause = 1000 / rate
  due = players.map(() => now() + Math.random() * pause)
  await sleep(settleMs)
  ;[delivered, sent, reads, latencies.length] = [0, 0, 0, 0]
  process.stdout.write('{"phase":"begin"}\n')
  counting = true
  const [began, used] = [performance.now(), process.cpuUsage()]
  await sleep(job.seconds * 1000)
  counting = false
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(used)
  const sorted = latencies.toSorted((a, b) => a - b)
  const quantile = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.POSITIVE_INFINITY
  const [p50, p99] = [quantile(0.5), quantile(0.99)]
  const sustained = p99 <= LIMIT_MS && delivered >= MOST * sent * (job.players - 1)
  const result = { rate, sustained, delivered: delivered / seconds, p50, p99, own: (user + system) / 1e6 / seconds }
  process.stdout.write(`${JSON.stringify({ phase: 'end', ...result })}\n`)
  return result
}

setInterval(send, TICK_MS)
let settleMs = WARM_UP_MS
for (const rate of job.rates) {
  const { sustained } = await measure(rate, settleMs)
  settleMs = SETTLE_MS
  if (!sustained && !(await measure(rate, settleMs)).sustained) break
}
over = true
for (const player of players) player.destroy()
process.exit(0)
