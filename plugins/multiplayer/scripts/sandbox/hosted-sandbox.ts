import { MOST_AT_ONCE, type OpenRoom, type Usage } from '../protocol.ts'
import { Allowance, processorMsSinceMark } from './processor-time.ts'
import { type Engine, RoomSandbox, ScriptFailed, type Sending } from './room-sandbox.ts'

/** What a room may send: bytes, and 200 for each operation, times recipients, a second and at once. */
const SENT: Sending = { perSecond: 8 * 1024 * 1024, atOnce: 4 * 1024 * 1024 }
/** A room may use its share of this time at once. */
const SHARE_WINDOW_MS = 5000
/** The least time between snapshots, and the part of the time that they may take. */
const SNAPSHOT = { everyMs: 1000, part: 0.01 }
/**
 * Messages of players wait for the room's next tick when it comes this soon, and the script has not answered to any for
 * so long. Then the room runs once for all of them, with its part of the memory in the processor's caches.
 */
const WAIT = { longestMs: 50, quietMs: 2000 }
/** Ticks of the thread's rooms begin together, at moments this far apart. */
const SLOT_MS = 12
/** Wall time of a dispatch above which its processor time is asked for: the thread may have waited for a processor. */
const SHORT_MS = 1

/** A room in this thread: its sandbox, and when it is due. */
export class HostedSandbox {
  readonly room: number
  /** The time of the next tick or timer, in ms since 1970; Infinity for none. */
  due = Infinity
  readonly #sandbox: RoomSandbox
  readonly #sent: Allowance
  readonly #cpu: Allowance
  readonly #share: number
  #tickMs = 0
  #nextTick = Infinity
  #lastTick = 0
  #nextTimer = Infinity
  /** Events that wait for the next tick, and the bytes of the binary ones. */
  #waiting = ''
  #waitingBytes: Uint8Array[] = []
  /** The characters and bytes of both. */
  #waitingSize = 0
  #answeredAt: number
  #takesSnapshots = false
  #nextSnapshot = 0
  /** The recently used processor time: ms, decaying by half each five seconds. */
  #recentMs = 0
  #recentAt: number

  constructor(engine: Engine, message: OpenRoom, now: number) {
    this.room = message.room
    this.#share = message.limits.share
    this.#sent = new Allowance(SENT.perSecond, SENT.atOnce, now)
    this.#cpu = new Allowance(1000 * message.limits.share, SHARE_WINDOW_MS * message.limits.share, now)
    this.#recentAt = now
    this.#answeredAt = now
    this.#sandbox = new RoomSandbox(engine, message, SENT)
  }

  /** Opens the room. @returns operations @throws ScriptFailed */
  open(event: string, now: number): string {
    this.#sandbox.beginVisit()
    const operations = this.#dispatch(event, null, now)
    const settings = JSON.parse(/^O\t(.*)$/m.exec(operations)?.[1] ?? '{}')
    this.#takesSnapshots = settings.snapshot === true
    if (settings.tick > 0) {
      this.#tickMs = 1000 / settings.tick
      this.#lastTick = now
      this.#nextTick = this.#tickAfter(now)
    }
    this.#schedule()
    return operations
  }

  /** Whether events can be added to those that wait. Otherwise `runWaiting` comes first, as a call of its own. */
  hasSpaceFor(events: string, bytes: Uint8Array | null): boolean {
    return this.#waitingSize === 0 || this.#waitingSize + events.length + (bytes?.length ?? 0) <= MOST_AT_ONCE
  }

  /** Runs the events that wait. @returns operations @throws ScriptFailed */
  runWaiting(now: number): string {
    return this.#runAll('', now)
  }

  /**
   * Runs events.
   *
   * @param mayWait whether they may run with the next tick instead
   * @returns operations
   * @throws ScriptFailed
   */
  run(events: string, bytes: Uint8Array | null, mayWait: boolean, now: number): string {
    this.#waiting += this.#waiting === '' ? events : `,${events}`
    if (bytes) this.#waitingBytes.push(bytes)
    this.#waitingSize += events.length + (bytes?.length ?? 0)
    return mayWait && this.#isQuiet(now) ? '' : this.#runAll('', now)
  }

  /** Runs what is due: a tick, timers. @returns operations @throws ScriptFailed */
  runDue(now: number): string {
    if (this.#nextTick > now) return this.#runAll('', now)
    const tick = `"t",${(now - this.#lastTick) / 1000}`
    this.#lastTick = now
    const next = this.#nextTick + this.#tickMs
    // A late thread skips ticks rather than running them in a row.
    this.#nextTick = next > now + this.#tickMs / 2 ? next : this.#tickAfter(now + this.#tickMs / 2)
    return this.#runAll(tick, now)
  }

  get memoryBytes(): number {
    return this.#sandbox.memoryBytes
  }

  usage(now: number): Usage {
    this.#decay(now)
    // The decaying sum of a constant load of 1 ms a ms is 5000 / ln 2.
    const used = this.#recentMs / (SHARE_WINDOW_MS / Math.LN2)
    return { room: this.room, cpuShare: Math.min(1, used / this.#share), memoryBytes: this.memoryBytes }
  }

  dispose(): void {
    this.#sandbox.dispose()
  }

  /** Runs the events that wait, and one more. */
  #runAll(last: string, now: number): string {
    const events = this.#waiting === '' || last === '' ? this.#waiting + last : `${this.#waiting},${last}`
    const bytes = this.#waitingBytes.length === 0 ? null : new Uint8Array(Buffer.concat(this.#waitingBytes))
    this.#waiting = ''
    this.#waitingSize = 0
    if (bytes) this.#waitingBytes = []
    this.#sandbox.beginVisit()
    const operations = this.#dispatch(events, bytes, now) + this.#snapshot(now)
    this.#schedule()
    return operations
  }

  #isQuiet(now: number): boolean {
    const ticksSoon = this.#tickMs > 0 && this.#tickMs <= WAIT.longestMs
    return ticksSoon && now - this.#answeredAt > WAIT.quietMs
  }

  /** Returns the first moment for a tick after a time: the same for many rooms of the thread. */
  #tickAfter(time: number): number {
    const slots = Math.max(1, Math.floor(this.#tickMs / SLOT_MS))
    const phase = (this.room % slots) * (this.#tickMs / slots)
    return (Math.floor((time - phase) / this.#tickMs) + 1) * this.#tickMs + phase
  }

  #snapshot(now: number): string {
    if (!this.#takesSnapshots || now < this.#nextSnapshot) return ''
    const started = performance.now()
    const operations = this.#dispatch('"n"', null, now)
    this.#nextSnapshot = now + Math.max(SNAPSHOT.everyMs, (performance.now() - started) / SNAPSHOT.part)
    return operations
  }

  /** Dispatches events, and charges their processor time. */
  #dispatch(events: string, bytes: Uint8Array | null, now: number): string {
    const started = performance.now()
    const mayStillSend = this.#sent.at(now)
    const { due, left, hasAnswered, operations } = this.#sandbox.dispatch(events, bytes, now, mayStillSend)
    if (hasAnswered) this.#answeredAt = now
    this.#nextTimer = due < 0 ? Infinity : due
    this.#sent.use(mayStillSend - left)
    const elapsed = performance.now() - started
    this.#charge(elapsed < SHORT_MS ? elapsed : Math.min(elapsed, processorMsSinceMark()), now)
    return operations
  }

  #charge(ms: number, now: number): void {
    this.#decay(now)
    this.#recentMs += ms
    const left = this.#cpu.at(now)
    this.#cpu.use(ms)
    if (left >= ms) return
    const percent = Math.round(this.#share * 100)
    const text = `The room used more than ${percent} % of a core for ${SHARE_WINDOW_MS / 1000} seconds.`
    throw new ScriptFailed({ reason: 'share', text })
  }

  #decay(now: number): void {
    this.#recentMs *= 0.5 ** ((now - this.#recentAt) / SHARE_WINDOW_MS)
    this.#recentAt = now
  }

  #schedule(): void {
    this.due = Math.min(this.#nextTick, this.#nextTimer)
  }
}
