// The worker thread program that runs the scripts of rooms, in QuickJS. All that it has from the server is this program:
// no environment, no arguments, no data. scripts/script-thread.ts starts and watches it.
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import release from '@jitl/quickjs-ng-wasmfile-release-sync'
import wasm from '@jitl/quickjs-ng-wasmfile-release-sync/wasm'
import { newQuickJSWASMModuleFromVariant, newVariant, type QuickJSSyncVariant } from 'quickjs-emscripten-core'
import { type FromThread, type OpenRoom, type ToThread, WATCH } from '../scripts/protocol.ts'
import { countAllocations } from '../scripts/sandbox/allocation-sizes.ts'
import { HostedSandbox } from '../scripts/sandbox/hosted-sandbox.ts'
import { markProcessorTime } from '../scripts/sandbox/processor-time.ts'
import { QuickJSMemory } from '../scripts/sandbox/quickjs-memory.ts'
import { RejectionTracker, withTable } from '../scripts/sandbox/rejection-tracker.ts'
import { type Engine, ScriptFailed } from '../scripts/sandbox/room-sandbox.ts'

/** Rooms that are due within this time run together, so that one message carries their results. */
const TOGETHER_MS = 4
const KIB = 1024
/** The longest time of a timer in Node. A later moment is reached in several steps. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
/**
 * Processor time for opening a script, beyond that of a call: for any script, and for each character. Parsing can't be
 * interrupted, and takes long for the largest script that a deploy may have. What the script does at its top level
 * has the limit of a call.
 */
const OPENING_MS = { any: 200, each: 2000 / 2 ** 20 }
/** A room without a script, as the thread's first. */
const WARM_UP: OpenRoom = {
  t: 'open',
  room: 0,
  roomId: '',
  source: '',
  path: '',
  seed: [1, 2, 3, 4],
  players: 1,
  event: '"o",[],{}',
  limits: { memoryBytes: 2 ** 24, callMs: 60_000, share: 1, stateBytes: 1024, frameBytes: 1024 },
}

const port = parentPort as NonNullable<typeof parentPort>
const watch = new Int32Array(workerData as SharedArrayBuffer)
const post = (message: FromThread) => port.postMessage(message)

// On Linux a thread has its own priority. Players of other games come before scripts.
try {
  setPriority(Number(readlinkSync('/proc/thread-self').split('/').pop()), 4)
} catch {}

const rooms = new Map<number, HostedSandbox>()
/** The memory of each room after its last turn, and of all of them. */
const held = new Map<number, number>()
let heldBytes = 0
let out: Extract<FromThread, { t: 'out' }> = { t: 'out', rooms: [], texts: [], hasRun: false }
let timer: NodeJS.Timeout | undefined
let timerDue = Infinity

/** The time of the room scripts, in ms since 1970. It never goes back. */
const now = () => performance.timeOrigin + performance.now()

// QuickJS takes the time zone from here. Scripts are not told where the server is.
Date.prototype.getTimezoneOffset = () => 0

async function start(): Promise<void> {
  const program = await WebAssembly.compile(withTable(wasm))
  let instance: WebAssembly.Instance | undefined
  let imported: WebAssembly.Imports = {}
  const instantiateWasm = (imports: WebAssembly.Imports, onSuccess: (instance: WebAssembly.Instance) => void) => {
    imported = imports
    instance = new WebAssembly.Instance(program, imports)
    onSuccess(instance)
    return instance.exports
  }
  // The package's types describe its CommonJS form; the bundle has the other one.
  const variant = release as unknown as QuickJSSyncVariant
  const quickjs = await newQuickJSWASMModuleFromVariant(newVariant(variant, { emscriptenModule: { instantiateWasm } }))
  if (!instance) throw new Error('QuickJS has changed.')
  countAllocations(quickjs, { imports: imported, exports: instance.exports })
  const engine = {
    quickjs,
    memory: new QuickJSMemory(quickjs),
    rejections: new RejectionTracker(quickjs, instance),
    mostBytes: () => (Atomics.load(watch, WATCH.mostMemory) || Infinity) * KIB,
  }
  warmUp(engine)
  port.on('message', (message: ToThread) => receive(engine, message))
  post({ t: 'ready' })
}

/** Compiles what QuickJS needs for a room, which takes longer than a call may: it is not the first script's time. */
function warmUp(engine: Engine): void {
  const hosted = new HostedSandbox(engine, WARM_UP, now())
  hosted.open(WARM_UP.event, now())
  hosted.dispose()
}

/**
 * Runs a room under the watch of the main thread. An exception that is not the script's ends the thread.
 *
 * @param opening what it may take beyond a call, in ms
 */
function attempt(room: number, run: () => string, opening = 0): void {
  Atomics.store(watch, WATCH.opening, opening)
  Atomics.store(watch, WATCH.room, room)
  Atomics.add(watch, WATCH.call, 1)
  try {
    const operations = run()
    if (operations === '') return
    out.rooms.push(room)
    out.texts.push(operations)
  } catch (error) {
    if (!(error instanceof ScriptFailed)) throw error
    flush()
    post({ t: 'failed', room, failure: error.failure })
    // From here on a crash is not this room's.
    Atomics.store(watch, WATCH.room, 0)
    end(room)
  } finally {
    Atomics.store(watch, WATCH.room, 0)
    countMemory(room)
  }
}

function end(room: number): void {
  rooms.get(room)?.dispose()
  rooms.delete(room)
  countMemory(room)
}

/** Tells the main thread what the rooms have. */
function countMemory(room: number): void {
  const bytes = rooms.get(room)?.memoryBytes ?? 0
  heldBytes += bytes - (held.get(room) ?? 0)
  if (bytes > 0) held.set(room, bytes)
  else held.delete(room)
  Atomics.store(watch, WATCH.memory, Math.ceil(heldBytes / KIB))
}

function flush(): void {
  if (out.rooms.length === 0 && !out.hasRun) return
  post(out)
  out = { t: 'out', rooms: [], texts: [], hasRun: false }
}

function schedule(): void {
  let due = Infinity
  for (const hosted of rooms.values()) if (hosted.due < due) due = hosted.due
  if (due >= timerDue && timer !== undefined) return
  clearTimeout(timer)
  timer = undefined
  timerDue = due
  if (due === Infinity) return
  timer = setTimeout(runDue, Math.min(LONGEST_TIMER_MS, Math.max(0, due - now()) + TOGETHER_MS / 2))
}

function runDue(): void {
  markProcessorTime()
  timer = undefined
  timerDue = Infinity
  const time = now()
  for (const hosted of rooms.values()) {
    if (hosted.due <= time + TOGETHER_MS / 2) attempt(hosted.room, () => hosted.runDue(Math.max(time, hosted.due)))
  }
  flush()
  schedule()
}

function receive(engine: Engine, message: ToThread): void {
  markProcessorTime()
  if (message.t === 'run') {
    const time = now()
    for (const [at, room] of message.rooms.entries()) {
      const { [at]: events = '' } = message.events
      const { [at]: bytes = null } = message.bytes
      const hosted = rooms.get(room)
      if (!hosted) continue
      if (!hosted.hasSpaceFor(events, bytes)) attempt(room, () => hosted.runWaiting(time))
      if (rooms.has(room)) attempt(room, () => hosted.run(events, bytes, message.mayWait[at] === true, time))
    }
    out.hasRun = true
  } else if (message.t === 'open') {
    const open = () => {
      const hosted = new HostedSandbox(engine, message, now())
      rooms.set(message.room, hosted)
      return hosted.open(message.event, now())
    }
    attempt(message.room, open, OPENING_MS.any + message.source.length * OPENING_MS.each)
  } else if (message.t === 'end') {
    end(message.room)
  } else {
    post({ t: 'usage', rooms: Array.from(rooms.values(), (hosted) => hosted.usage(now())) })
  }
  flush()
  schedule()
}

void start()
