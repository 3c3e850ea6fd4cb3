import type { Clock } from '../../core/clock.ts'
import { Counters } from '../../core/data/counters.ts'
import type { Lease } from './interface.ts'

/** Expired records and holders are dropped once there are so many entries, and then each time the number has doubled. */
const FIRST_SWEEP = 1024

/** The part of a bus that is state: counters, leases and records, in the memory of one process. See `Bus`. */
export class BusState {
  readonly #clock: Clock
  readonly #counters: Counters
  readonly #leases = new Map<string, Lease>()
  /** Expiry of each holder, in ms since 1970. */
  readonly #holders = new Map<string, number>()
  readonly #records = new Map<string, { fence: number; texts: string[]; until: number }>()
  #fence = 0
  #sweepAt = FIRST_SWEEP

  constructor(clock: Clock) {
    this.#clock = clock
    this.#counters = new Counters(clock)
  }

  increment(key: string, windowMs: number): { count: number; resetMs: number } {
    return this.#counters.increment(key, windowMs)
  }

  keepAlive(holder: string, ttlMs: number): boolean {
    const before = this.#lives(holder)
    this.#holders.set(holder, this.#now() + ttlMs)
    return before
  }

  acquire(key: string, holder: string): Lease {
    const held = this.#leases.get(key)
    if (held && (held.holder === holder || this.#lives(held.holder))) return held
    // If fences restarted at one after the state was lost, an earlier holder could keep the new one out.
    this.#fence = Math.max(this.#fence + 1, this.#now())
    const lease = { holder, fence: this.#fence }
    this.#leases.set(key, lease)
    this.#sweep()
    return lease
  }

  release(key: string, holder: string): void {
    if (this.#leases.get(key)?.holder !== holder) return
    this.#leases.delete(key)
    this.#records.delete(key)
  }

  save(key: string, fence: number, text: string, ttlMs: number): boolean {
    if ((this.#recordOf(key)?.fence ?? 0) > fence) return false
    this.#records.set(key, { fence, texts: [text], until: this.#now() + ttlMs })
    return true
  }

  append(key: string, fence: number, texts: string[], ttlMs: number): boolean {
    const record = this.#recordOf(key)
    if (record?.fence !== fence) return false
    record.texts.push(...texts)
    record.until = this.#now() + ttlMs
    return true
  }

  load(key: string): { fence: number; texts: string[] } | null {
    const record = this.#recordOf(key)
    return record ? { fence: record.fence, texts: [...record.texts] } : null
  }

  #now(): number {
    return this.#clock.now().getTime()
  }

  #lives(holder: string): boolean {
    return (this.#holders.get(holder) ?? 0) > this.#now()
  }

  #recordOf(key: string) {
    const record = this.#records.get(key)
    if (record && record.until <= this.#now()) this.#records.delete(key)
    return this.#records.get(key)
  }

  /** Drops expired records, holders, and the leases of expired holders. */
  #sweep(): void {
    if (this.#leases.size + this.#records.size < this.#sweepAt) return
    const now = this.#now()
    for (const [key, { until }] of this.#records) if (until <= now) this.#records.delete(key)
    for (const [key, { holder }] of this.#leases) if (!this.#lives(holder)) this.#leases.delete(key)
    for (const [holder, until] of this.#holders) if (until <= now) this.#holders.delete(holder)
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * (this.#leases.size + this.#records.size))
  }
}
