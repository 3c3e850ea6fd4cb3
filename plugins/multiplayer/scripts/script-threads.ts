import { availableParallelism } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import { ScriptThread, type ThreadRoom } from './script-thread.ts'

/** The time between two looks at the memory of all rooms. */
const MEMORY_MS = 100
/** A thread without rooms ends after this time. */
const IDLE_MS = 10_000
/** Games share threads beyond this number, so that each thread costs memory only where games need it. */
const MOST_THREADS = Math.max(8, availableParallelism() * 4)
/** A game whose script ended a thread shares none with other games for this time. */
const APART_MS = 3_600_000
/** A game with more rooms than this gets another thread. */
const MOST_ROOMS = 256

interface Options {
  callMs: number
  memoryBytes: () => Promise<number>
  log: FastifyBaseLogger
}

/**
 * The threads that run room scripts. Rooms of one game share threads, and games do not as long as there are few, so
 * that a script delays nobody else's.
 */
export class ScriptThreads {
  readonly #program: () => Promise<string>
  readonly #log: FastifyBaseLogger
  readonly #callMs: number
  readonly #memoryBytes: () => Promise<number>
  #memoryKib = 0
  #text: string | null = null
  readonly #byGame = new Map<string, ScriptThread[]>()
  readonly #all = new Set<ScriptThread>()
  readonly #idle = new Map<ScriptThread, NodeJS.Timeout>()
  /** When the scripts of games ended a thread last. */
  readonly #blamed = new Map<string, number>()
  #isClosed = false
  #watching: NodeJS.Timeout | undefined
  #isFull = false

  /**
   * @param program loads the text of workers/script-sandbox.ts
   * @param options `callMs`: the longest call; `memoryBytes`: reads the memory of all rooms
   */
  constructor(program: () => Promise<string>, { callMs, memoryBytes, log }: Options) {
    this.#program = program
    this.#log = log
    this.#callMs = callMs
    this.#memoryBytes = memoryBytes
  }

  get size(): number {
    return this.#all.size
  }

  /** Loads the program. It is called before `take`. */
  async prepare(): Promise<void> {
    if (this.#text !== null) return
    this.#memoryKib = Math.floor((await this.#memoryBytes()) / 1024)
    this.#text = await this.#program()
  }

  /** Returns a thread for one more room of a game. */
  take(gameId: string): ScriptThread {
    const own = this.#byGame.get(gameId) ?? []
    const known = own.find((thread) => thread.size < MOST_ROOMS)
    const thread = known ?? this.#start(gameId, own)
    clearTimeout(this.#idle.get(thread))
    this.#idle.delete(thread)
    return thread
  }

  /** A room of the thread has ended. */
  rest(thread: ScriptThread): void {
    if (thread.size > 0 || this.#idle.has(thread) || !this.#all.has(thread)) return
    this.#idle.set(thread, setTimeout(() => void this.#end(thread), IDLE_MS).unref())
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#all].map((thread) => this.#end(thread)))
  }

  #start(gameId: string, own: ScriptThread[]): ScriptThread {
    if (this.#text === null || this.#isClosed) throw new Error('room scripts do not run')
    const onGone = (gone: ScriptThread, blamed: ThreadRoom | undefined) => {
      if (blamed) this.#blamed.set(blamed.gameId, performance.now())
      this.#forget(gone)
    }
    const thread = this.#shared(gameId) ?? new ScriptThread(this.#text, this.#callMs, onGone)
    this.#all.add(thread)
    this.#watching ??= setInterval(() => this.#boundMemory(), MEMORY_MS).unref()
    this.#byGame.set(gameId, [...own, thread])
    return thread
  }

  /**
   * Returns the thread with the fewest rooms when there are too many threads. Games whose scripts ended a thread share
   * with one another only; there may be one thread more for them.
   */
  #shared(gameId: string): ScriptThread | null {
    if (this.#all.size < MOST_THREADS) return null
    for (const [blamed, at] of this.#blamed) if (performance.now() - at > APART_MS) this.#blamed.delete(blamed)
    const isBlamed = this.#blamed.has(gameId)
    const apart = new Set<ScriptThread>()
    for (const [other, threads] of this.#byGame) {
      if (this.#blamed.has(other)) for (const thread of threads) apart.add(thread)
    }
    const all = [...this.#all].filter((thread) => apart.has(thread) === isBlamed)
    return all.length === 0 ? null : all.reduce((least, thread) => (thread.size < least.size ? thread : least))
  }

  /** Bounds each room to about an equal part of the memory, when all of them have too much. */
  #boundMemory(): void {
    let kib = 0
    let rooms = 0
    for (const thread of this.#all) {
      kib += thread.memoryKib
      rooms += thread.size
    }
    const isFull = kib > this.#memoryKib && rooms > 0
    if (isFull && !this.#isFull)
      this.#log.warn({ rooms, kib }, 'room scripts need more memory than limits.roomScriptsBytes')
    this.#isFull = isFull
    const most = isFull ? Math.ceil(this.#memoryKib / rooms) : 0
    for (const thread of this.#all) thread.boundRooms(most)
  }

  async #end(thread: ScriptThread): Promise<void> {
    this.#forget(thread)
    await thread.end()
  }

  #forget(thread: ScriptThread): void {
    this.#all.delete(thread)
    if (this.#all.size === 0) {
      clearInterval(this.#watching)
      this.#watching = undefined
    }
    clearTimeout(this.#idle.get(thread))
    this.#idle.delete(thread)
    for (const [gameId, threads] of this.#byGame) {
      const left = threads.filter((other) => other !== thread)
      if (left.length === 0) this.#byGame.delete(gameId)
      else if (left.length < threads.length) this.#byGame.set(gameId, left)
    }
  }
}
