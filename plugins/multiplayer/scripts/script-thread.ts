import type { Worker } from 'node:worker_threads'
import { startWorker } from '../../../core/jobs/start-worker.ts'
import { type Failure, type FromThread, type OpenRoom, type ToThread, type Usage, WATCH } from './protocol.ts'

/** A room whose script runs in a thread. */
export interface ThreadRoom {
  readonly gameId: string
  /** Receives operations of the script (`operations.ts`). */
  receive(operations: string): void
  /** The room's script can't go on. */
  failed(failure: Failure): void
  /** The thread is gone, for which another room is to blame. The room starts again in another thread. */
  moved(): void
  used(usage: Usage): void
}

/** The time between two looks at a running thread. */
const WATCH_MS = 25
/** A call is ended from outside after so many times its limit: QuickJS could not interrupt it itself. */
const PATIENCE = 3
/**
 * How long events are collected: one trip to the thread then serves many, and a room runs once for several. A thread
 * with many busy rooms gets its events less often.
 */
const COLLECT = { fewMs: 4, many: 8, manyMs: 12 }
/**
 * Batches of events that a thread may have before it. A thread that gets too little time of a processor then gets fewer
 * and larger batches, between which its rooms tick.
 */
const MOST_BATCHES = 2
/** The least time between two measurements of a thread's rooms. A list of rooms asks once for each room. */
const MEASURE_MS = 1000
/** The V8 heap of a thread. The memory of scripts is outside it, in WebAssembly. */
const HEAP = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8, stackSizeMb: 4 }

type MeasurableWorker = Worker & { cpuUsage(): Promise<NodeJS.CpuUsage> }

/**
 * One worker thread that runs the scripts of rooms. Events of all its rooms are sent together. It is watched from here:
 * a thread whose script takes far too long is ended, whatever it does.
 */
export class ScriptThread {
  readonly #worker: MeasurableWorker
  readonly #watch = new Int32Array(new SharedArrayBuffer(Object.keys(WATCH).length * Int32Array.BYTES_PER_ELEMENT))
  readonly #callMs: number
  readonly #onGone: (thread: ScriptThread, blamed: ThreadRoom | undefined) => void
  readonly #rooms = new Map<number, ThreadRoom>()
  #numbers = 0
  #queue: Extract<ToThread, { t: 'run' }> = { t: 'run', rooms: [], events: [], bytes: [], mayWait: [] }
  #callbacks: (() => void)[] = []
  #flushedAt = 0
  /** Batches without an answer, and whether events wait for one. */
  #batches = 0
  #isHeld = false
  #measuredAt = -Infinity
  #collectMs = COLLECT.fewMs
  #isGone = false
  #watching: NodeJS.Timeout | undefined
  /** The call that a look found running, and the thread's processor time then. */
  #suspect: { call: number; cpuMs: number } | null = null

  /**
   * @param program the text of workers/script-sandbox.ts
   * @param callMs the longest call
   * @param onGone called once, when the thread has ended by itself or was ended, with the room that was to blame
   * @throws ThreadsExhausted
   */
  constructor(program: string, callMs: number, onGone: (thread: ScriptThread, blamed: ThreadRoom | undefined) => void) {
    this.#callMs = callMs
    this.#onGone = onGone
    this.#worker = startWorker(program, {
      name: 'room scripts',
      resourceLimits: HEAP,
      workerData: this.#watch.buffer,
      // Nothing of the server is in the thread.
      env: {},
      argv: [],
      execArgv: [],
      stdin: false,
      trackUnmanagedFds: true,
    }) as MeasurableWorker
    this.#worker.unref()
    this.#worker.on('message', (message: FromThread) => this.#receive(message))
    this.#worker.on('error', () => this.#gone())
    this.#worker.on('exit', () => this.#gone())
  }

  get size(): number {
    return this.#rooms.size
  }

  /** The memory of its rooms in KiB. */
  get memoryKib(): number {
    return Atomics.load(this.#watch, WATCH.memory)
  }

  /** Bounds the memory of each room beside its own limit. @param kib an equal part for each room; 0 for no other bound */
  boundRooms(kib: number): void {
    Atomics.store(this.#watch, WATCH.mostMemory, kib)
  }

  /** Starts a room's script. @returns the room's number in this thread */
  open(client: ThreadRoom, message: Omit<OpenRoom, 't' | 'room'>): number {
    const room = ++this.#numbers
    this.#rooms.set(room, client)
    this.#send({ t: 'open', room, ...message })
    this.#watching ??= setInterval(() => void this.#look(), WATCH_MS).unref()
    return room
  }

  /** Calls back when events should be sent: at once when the thread is quiet. The callbacks call `run`. */
  schedule(callback: () => void): void {
    if (this.#callbacks.push(callback) > 1) return
    const wait = this.#collectMs - (performance.now() - this.#flushedAt)
    if (wait <= 0) setImmediate(this.#flush)
    else setTimeout(this.#flush, wait)
  }

  /** Sends events of a room (`protocol.ts`), together with those of other rooms. */
  run(room: number, events: string, bytes: Uint8Array | null, mayWait: boolean): void {
    this.#queue.rooms.push(room)
    this.#queue.events.push(events)
    this.#queue.bytes.push(bytes)
    this.#queue.mayWait.push(mayWait)
  }

  readonly #flush = () => {
    this.#isHeld = this.#batches >= MOST_BATCHES
    if (this.#isHeld) return
    for (const callback of this.#callbacks.splice(0)) callback()
    this.#sendQueue()
  }

  #sendQueue(): void {
    if (this.#queue.rooms.length === 0) return
    this.#flushedAt = performance.now()
    this.#collectMs = this.#queue.rooms.length < COLLECT.many ? COLLECT.fewMs : COLLECT.manyMs
    this.#batches++
    this.#send(this.#queue)
    this.#queue = { t: 'run', rooms: [], events: [], bytes: [], mayWait: [] }
  }

  close(room: number): void {
    if (!this.#rooms.delete(room)) return
    this.#sendQueue()
    this.#send({ t: 'end', room })
    this.#rest()
  }

  /** Asks for the usage of all rooms, which is reported later. */
  measure(): void {
    const now = performance.now()
    if (now - this.#measuredAt < MEASURE_MS) return
    this.#measuredAt = now
    this.#send({ t: 'usage' })
  }

  async end(): Promise<void> {
    this.#gone()
    await this.#worker.terminate()
  }

  #send(message: ToThread): void {
    if (!this.#isGone) this.#worker.postMessage(message)
  }

  #receive(message: FromThread): void {
    if (this.#isGone) return
    if (message.t === 'out') {
      if (message.hasRun) this.#batches--
      for (const [at, room] of message.rooms.entries()) this.#rooms.get(room)?.receive(message.texts[at] as string)
      if (this.#isHeld) this.#flush()
    } else if (message.t === 'failed') {
      const client = this.#rooms.get(message.room)
      this.#rooms.delete(message.room)
      client?.failed(message.failure)
      this.#rest()
    } else if (message.t === 'usage') {
      for (const usage of message.rooms) this.#rooms.get(usage.room)?.used(usage)
    }
  }

  #rest(): void {
    if (this.#rooms.size > 0) return
    clearInterval(this.#watching)
    this.#watching = undefined
  }

  /** Ends the thread when the same call has used far too much processor time. */
  async #look(): Promise<void> {
    const room = Atomics.load(this.#watch, WATCH.room)
    const call = Atomics.load(this.#watch, WATCH.call)
    const opening = Atomics.load(this.#watch, WATCH.opening)
    if (room === 0) {
      this.#suspect = null
      return
    }
    const cpuMs = await this.#cpuMs()
    if (this.#isGone || Atomics.load(this.#watch, WATCH.call) !== call) return
    if (this.#suspect?.call !== call) this.#suspect = { call, cpuMs }
    else if (cpuMs - this.#suspect.cpuMs > this.#callMs * PATIENCE + opening) {
      const text =
        opening === 0
          ? `A call of the script took more than ${this.#callMs} ms.`
          : `Opening the script took more than ${opening} ms.`
      const failure = { reason: 'time', text } as const
      this.#gone({ room, failure })
      void this.#worker.terminate()
    }
  }

  async #cpuMs(): Promise<number> {
    try {
      const { user, system } = await this.#worker.cpuUsage()
      return (user + system) / 1000
    } catch {
      // The thread has ended meanwhile.
      return 0
    }
  }

  /** @param blamed the room that failed; without it, the one that ran when the thread ended */
  #gone(blamed?: { room: number; failure: Failure }): void {
    if (this.#isGone) return
    this.#isGone = true
    clearInterval(this.#watching)
    const room = blamed?.room ?? Atomics.load(this.#watch, WATCH.room)
    const failure = blamed?.failure ?? { reason: 'crash', text: 'The script ended the thread in which it ran.' }
    this.#onGone(this, this.#rooms.get(room))
    for (const [number, client] of this.#rooms) {
      if (number === room) client.failed(failure)
      else client.moved()
    }
    this.#rooms.clear()
  }
}
