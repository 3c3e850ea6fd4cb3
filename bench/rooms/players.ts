// The players of bench/rooms.ts and bench/authority.ts, as far as they are the same. They run in a separate process, which
// reads one job as JSON from the command line, and writes `{"phase":"begin"}` and `{"phase":"end", …}` at the beginning
// and the end of the measurement.
import { setTimeout as sleep } from 'node:timers/promises'

export interface Job {
  subject: string
  port: number
  headers: Record<string, string>
  rooms: number
  players: number
  /** Messages per second from each player. */
  rate: number
  seconds: number
}

export interface Player {
  send(data: object): void
}

export const job = JSON.parse(process.argv[2] ?? '{}') as Job

/** Players enter their rooms, so many at a time. */
export async function enterRooms(join: (room: string) => Promise<Player>, atOnce: number): Promise<Player[]> {
  const names = Array.from({ length: job.rooms * job.players }, (_, index) => `room${index % job.rooms}`)
  const players: Player[] = []
  for (let at = 0; at < names.length; at += atOnce) {
    players.push(...(await Promise.all(names.slice(at, at + atOnce).map(join))))
  }
  return players
}

/**
 * Each player sends at the job's rate, with a random offset, like independent players.
 *
 * @returns ends it
 */
export function sendRegularly(players: Player[], now: () => number, message: (at: number) => object): () => void {
  const due = players.map(() => now() + (Math.random() * 1000) / job.rate)
  const ticking = setInterval(() => {
    const time = now()
    for (const [index, player] of players.entries()) {
      if ((due[index] as number) > time) continue
      due[index] = (due[index] as number) + 1000 / job.rate
      player.send(message(time))
    }
  }, 2)
  return () => clearInterval(ticking)
}

/** Counts deliveries and measures how late they are. */
export class Deliveries {
  #isCounting = false
  #delivered = 0
  readonly #latencies: number[] = []

  readonly #sample: number
  readonly #now: () => number

  /** @param sample latency is measured once per so many deliveries, because parsing all would make us the bottleneck */
  constructor(sample: number, now: () => number) {
    this.#sample = sample
    this.#now = now
  }

  /** @param sentAt called for the deliveries whose latency is measured */
  count(sentAt: () => number): void {
    if (!this.#isCounting) return // The messages so far report other players who join.
    if (this.#delivered++ % this.#sample === 0) this.#latencies.push(this.#now() - sentAt())
  }

  /** Measures for the time of the job, after warming up, and ends the process. */
  async measure({ warmUpMs, stop = () => {} }: { warmUpMs: number; stop?: () => void }): Promise<never> {
    await sleep(warmUpMs)
    this.#isCounting = true
    process.stdout.write('{"phase":"begin"}\n')
    await sleep(job.seconds * 1000)
    this.#isCounting = false
    stop()
    const sorted = this.#latencies.toSorted((a, b) => a - b)
    const quantile = (part: number) => sorted[Math.floor(sorted.length * part)] ?? null
    const result = { phase: 'end', delivered: this.#delivered, p50: quantile(0.5), p99: quantile(0.99) }
    process.stdout.write(`${JSON.stringify(result)}\n`)
    await sleep(300)
    process.exit(0)
  }
}
