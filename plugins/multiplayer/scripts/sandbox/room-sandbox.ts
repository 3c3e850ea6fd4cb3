import type {
  JSPromiseState,
  QuickJSContext,
  QuickJSHandle,
  QuickJSRuntime,
  QuickJSWASMModule,
} from 'quickjs-emscripten-core'
import { formatBytes } from '../../../../core/format-bytes.ts'
import type { Failure, OpenRoom, ScriptLimits } from '../protocol.ts'
import clock from './prelude/clock.js' with { type: 'text' }
import log from './prelude/log.js' with { type: 'text' }
import players from './prelude/players.js' with { type: 'text' }
import prelude from './prelude/prelude.js' with { type: 'text' }
import random from './prelude/random.js' with { type: 'text' }
import rejections from './prelude/rejections.js' with { type: 'text' }
import requests from './prelude/requests.js' with { type: 'text' }
import settings from './prelude/settings.js' with { type: 'text' }
import state from './prelude/state.js' with { type: 'text' }
import timers from './prelude/timers.js' with { type: 'text' }
import { processorMs } from './processor-time.ts'
import type { QuickJSMemory, SharedNumbers } from './quickjs-memory.ts'
import type { RejectionTracker } from './rejection-tracker.ts'

/** The stack of a script. The WebAssembly stack has several times as much. */
const STACK_BYTES = 256 * 1024
/** The bytes that a script may send in one call, beside a whole state, as a multiple of the largest message. */
const FRAMES_IN_CALL = 4
/**
 * The processor time of one visit, with all its events and timers, as a multiple of that of one call. It is below the
 * patience of the main thread, which can only end the whole thread (`../script-thread.ts`).
 */
const CALLS_IN_VISIT = 2.5
/**
 * What QuickJS lets a room allocate, as a multiple of its memory. A room with more than its memory is ended when QuickJS
 * asks, and after each turn: QuickJS itself throws only `null` when there is no memory for an exception either.
 */
const MEMORY_IN_CALL = 1.25
/** The equal parts of the memory for all rooms that one room may have, when they need too much together. */
const MEMORY_BEYOND_PART = 2
/** Microtasks that run before the time is looked at again. */
const JOBS_AT_ONCE = 64

/** Positions of the numbers that are shared with the prelude. */
const NUMBERS = { now: 0, allowance: 1, nextTimer: 2, calls: 3, answered: 4, rejected: 5, event: 6 }
/** Values of `NUMBERS.event` that are no position in the events. */
const IN_TIMERS = -1
const IN_REACTIONS = -2
/** The names of events, by their letters. */
const HANDLERS: Record<string, string> = {
  m: 'message',
  t: 'tick',
  b: 'binary',
  j: 'join',
  l: 'leave',
  n: 'snapshot',
  o: 'open',
  R: 'restore',
  c: 'close',
}
/** What of a message's type an error shows. */
const LONGEST_TYPE = 60

/** The script can't go on, and its room ends. */
export class ScriptFailed extends Error {
  override name = 'ScriptFailed'
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.text)
    this.failure = failure
  }
}

/** The result of a dispatch. */
export interface Dispatched {
  /** The time of the next timer in ms since 1970; -1 for none. */
  due: number
  /** What is left of what may be sent. */
  left: number
  /** Whether the script answered to a player's message before it returned. */
  hasAnswered: boolean
  /** `../operations.ts` */
  operations: string
}

/** The QuickJS of a thread, with what this program adds to it. */
export interface Engine {
  quickjs: QuickJSWASMModule
  memory: QuickJSMemory
  rejections: RejectionTracker
  /** An equal part of the memory for all rooms, when they need more than that together; Infinity otherwise. */
  mostBytes(): number
}

/** What the room may send: bytes a second, and at once. */
export interface Sending {
  perSecond: number
  atOnce: number
}

/** The script of one room in a QuickJS runtime of its own. Every method may throw ScriptFailed. */
export class RoomSandbox {
  readonly #limits: ScriptLimits
  readonly #runtime: QuickJSRuntime
  readonly #context: QuickJSContext
  readonly #dispatch: QuickJSHandle
  readonly #track: QuickJSHandle
  readonly #memory: QuickJSMemory
  readonly #mostBytes: () => number
  readonly #rejections: RejectionTracker
  readonly #shared: SharedNumbers
  #isOpen = false
  /** The number of turns so far: dispatches, and promise reactions after them. */
  #turns = 0
  /** The turn, and the call of the script in it, whose time is measured now. */
  #measured = { turn: -1, calls: -1 }
  #measuredSince = 0
  /** The processor time at the first question in this visit; null before it. */
  #visitSince: number | null = null
  /** Set once a limit is exceeded. A promise may have swallowed the exception with which QuickJS ends the call. */
  #exceeded: Failure | null = null
  /** The events that run now: JSON values, separated by commas. */
  #events = ''

  constructor(
    { quickjs, memory, rejections: tracker, mostBytes }: Engine,
    { roomId, source, path, seed, players: most, limits }: Omit<OpenRoom, 't'>,
    sending: Sending,
  ) {
    this.#limits = limits
    this.#memory = memory
    this.#mostBytes = mostBytes
    this.#rejections = tracker
    const runtime = quickjs.newRuntime()
    this.#runtime = runtime
    runtime.setMemoryLimit(limits.memoryBytes * MEMORY_IN_CALL)
    runtime.setMaxStackSize(STACK_BYTES)
    runtime.setInterruptHandler(() => this.#isOverLimit())
    const context = runtime.newContext()
    this.#context = context
    const handles: QuickJSHandle[] = []
    const kept = (handle: QuickJSHandle) => {
      handles.push(handle)
      return handle
    }
    let isOpen = false
    try {
      this.#shared = memory.share(context, Object.keys(NUMBERS).length)
      const buffer = kept(this.#shared.buffer)
      const { stateBytes, frameBytes } = limits
      const options = {
        id: roomId,
        seed,
        players: most,
        stateBytes,
        frameBytes,
        callBytes: frameBytes * FRAMES_IN_CALL + stateBytes,
        sentPerSecond: sending.perSecond,
        sentAtOnce: sending.atOnce,
      }
      const [create, ...parts] = [
        prelude,
        random,
        players,
        state,
        timers,
        requests,
        rejections,
        log,
        settings,
        clock,
      ].map((code) => kept(this.#value(context.evalCode(code, 'gameyard', { type: 'global' })))) as [
        QuickJSHandle,
        ...QuickJSHandle[],
      ]
      const text = kept(context.newString(JSON.stringify(options)))
      const platform = kept(this.#value(context.callFunction(create, context.undefined, [text, buffer, ...parts])))
      const start = kept(context.getProp(platform, 'start'))
      this.#track = kept(context.getProp(platform, 'track')).dup()
      tracker.watch(context, this.#track)
      const module = kept(this.#evaluate(source, path))
      this.#dispatch = this.#value(context.callFunction(start, context.undefined, [module]))
      isOpen = true
    } finally {
      for (const handle of handles) handle.dispose()
      // Nobody else has the sandbox yet.
      if (!isOpen) this.#disposeRuntime()
    }
  }

  /** Begins a visit: dispatches whose time is limited together. */
  beginVisit(): void {
    this.#visitSince = null
  }

  get memoryBytes(): number {
    return this.#memory.allocatedBytes(this.#runtime)
  }

  /**
   * Runs events and due timers.
   *
   * @param events JSON values, separated by commas; may be empty
   * @param now in ms since 1970
   * @param mayStillSend bytes times recipients
   */
  dispatch(events: string, bytes: Uint8Array | null, now: number, mayStillSend: number): Dispatched {
    this.#turns++
    const { numbers } = this.#memory
    const { at } = this.#shared
    numbers[at + NUMBERS.now] = now
    numbers[at + NUMBERS.allowance] = mayStillSend
    numbers[at + NUMBERS.answered] = 0
    let operations = this.#run(events, bytes)
    if (this.#runtime.hasPendingJob() || this.#number('rejected') > 0) {
      this.#runJobs()
      // Collects what the script did after the dispatch, in promises.
      operations += this.#run('"e"', null)
    }
    this.#isOpen = true
    const after = this.#memory.numbers
    return {
      due: after[at + NUMBERS.nextTimer] as number,
      left: after[at + NUMBERS.allowance] as number,
      hasAnswered: after[at + NUMBERS.answered] === 1,
      operations,
    }
  }

  dispose(): void {
    this.#dispatch.dispose()
    this.#disposeRuntime()
  }

  #disposeRuntime(): void {
    this.#rejections.unwatch(this.#context)
    this.#track?.dispose()
    this.#context.dispose()
    this.#runtime.dispose()
  }

  #number(name: keyof typeof NUMBERS): number {
    return this.#memory.numbers[this.#shared.at + NUMBERS[name]] as number
  }

  #run(events: string, bytes: Uint8Array | null): string {
    this.#events = events
    const given = bytes && this.#context.newArrayBuffer(bytes.slice().buffer)
    const result = this.#memory.call(this.#context, this.#dispatch, `[${events}]`, given)
    given?.dispose()
    if (typeof result !== 'string') throw this.#failure(result)
    this.#mustBeWithinLimits()
    return result
  }

  #mustBeWithinLimits(): void {
    this.#exceeded ??= this.#memoryFailure()
    if (this.#exceeded) throw new ScriptFailed(this.#exceeded)
  }

  /** Evaluates the module, and returns its exports. */
  #evaluate(source: string, path: string): QuickJSHandle {
    const evaluated = this.#value(this.#context.evalCode(source, path, { type: 'module' }))
    let isItself = false
    try {
      this.#runJobs()
      const state = this.#context.getPromiseState(evaluated)
      isItself = state.type === 'fulfilled' && state.notAPromise === true
      return this.#exports(state)
    } finally {
      if (!isItself) evaluated.dispose()
    }
  }

  #exports(state: JSPromiseState): QuickJSHandle {
    if (state.type === 'fulfilled') return state.value
    if (state.type === 'rejected') throw this.#failure(state.error)
    throw new ScriptFailed({
      reason: 'open',
      text: 'The script waits at its top level for something that never comes.',
    })
  }

  /** Runs promise reactions. All of them together are one call. */
  #runJobs(): void {
    this.#turns++
    while (this.#runtime.hasPendingJob()) {
      const done = this.#runtime.executePendingJobs(JOBS_AT_ONCE)
      if (done.error) throw this.#failure(done.error)
      done.dispose()
      // A chain of short reactions may never reach the interrupt.
      this.#isOverLimit()
      this.#mustBeWithinLimits()
    }
  }

  #value(result: ReturnType<QuickJSContext['callFunction']>): QuickJSHandle {
    if (result.error) throw this.#failure(result.error)
    return result.value
  }

  /**
   * Asked by QuickJS every few thousand operations. The time counts from the first question in a call. The prelude
   * counts the calls.
   */
  #isOverLimit(): boolean {
    this.#exceeded ??= this.#memoryFailure()
    if (this.#exceeded) return true
    const now = processorMs()
    const { callMs } = this.#limits
    this.#visitSince ??= now
    if (now - this.#visitSince > callMs * CALLS_IN_VISIT) {
      this.#exceeded = this.#tooLate('Calls that came together', callMs * CALLS_IN_VISIT)
      return true
    }
    const calls = this.#number('calls')
    if (this.#measured.turn !== this.#turns || this.#measured.calls !== calls) {
      this.#measured = { turn: this.#turns, calls }
      this.#measuredSince = now
      return false
    }
    if (now - this.#measuredSince <= callMs) return false
    this.#exceeded = this.#tooLate('A call of the script', callMs)
    return true
  }

  #tooLate(what: string, ms: number): Failure {
    return { reason: 'time', text: `${what} took more than ${ms} ms, ${this.#place()}.` }
  }

  #memoryFailure(): Failure | null {
    const { memoryBytes } = this
    if (memoryBytes > this.#limits.memoryBytes) return this.#tooLarge()
    // A new room must fit. Those that are open end only for much more than others have.
    const most = this.#mostBytes() * (this.#isOpen ? MEMORY_BEYOND_PART : 1)
    if (memoryBytes <= most) return null
    const text = `The rooms of this server need too much memory together. This one has ${formatBytes(memoryBytes)}, and may have ${formatBytes(most)} now.`
    return { reason: 'memory', text }
  }

  #tooLarge(): Failure {
    const text = `The room needs more than ${formatBytes(this.#limits.memoryBytes)} of memory, ${this.#place()}.`
    return { reason: 'memory', text }
  }

  /** Says in which handler the script is. */
  #place(): string {
    const at = this.#number('event')
    if (at === IN_TIMERS) return 'in a timer'
    const events: unknown[] = at === IN_REACTIONS ? [] : JSON.parse(`[${this.#events}]`)
    if (at === IN_REACTIONS || events[at] === 'e') return 'after an `await`, or in a reaction of a promise'
    const handler = HANDLERS[String(events[at])]
    if (handler === undefined) return 'at its top level'
    if (handler !== 'message') return `in \`${handler}\``
    return `in \`message\` of the type ${JSON.stringify(String(events[at + 2]).slice(0, LONGEST_TYPE))}`
  }

  #failure(error: QuickJSHandle): ScriptFailed {
    const context = this.#context
    const part = (name: string) => {
      const handle = context.getProp(error, name)
      const text = context.typeof(handle) === 'string' ? context.getString(handle) : ''
      handle.dispose()
      return text
    }
    const [name, message, stack] = [part('name'), part('message'), part('stack')]
    const thrown = context.typeof(error) === 'string' ? context.getString(error) : `${name}: ${message}`
    error.dispose()
    const exceeded = this.#exceeded ?? (message === 'out of memory' ? this.#tooLarge() : null)
    if (exceeded) return new ScriptFailed({ ...exceeded, stack: stack.slice(0, 2000) })
    return new ScriptFailed({ reason: 'open', text: thrown.slice(0, 2000), stack: stack.slice(0, 2000) })
  }
}
