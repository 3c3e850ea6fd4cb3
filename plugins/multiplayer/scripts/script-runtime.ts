import { totalmem } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import { groupMemory } from '../../../core/observe/cgroup-memory.ts'
import type { Room } from '../room/room.ts'
import type { LoadRoomScript, RoomScript, ScriptLogs, ScriptSource } from './interface.ts'
import type { ScriptLimits } from './protocol.ts'
import { RunningScript, type RunningScriptParts } from './running-script.ts'
import { ScriptThreads } from './script-threads.ts'
import { type ScriptBackends, ScriptServices } from './services.ts'

/** The limits of room scripts in the configuration. */
interface Limits {
  roomScriptBytes: number
  roomScriptsBytes: number
  roomScriptMs: number
  roomScriptShare: number
  roomStateBytes: number
  roomFrameBytes: number
}

interface ScriptRuntimeParts {
  clock: Clock
  log: FastifyBaseLogger
  limits: Limits
  /** Loads the program of the threads. */
  program: () => Promise<string>
  backends: ScriptBackends | null
  /** Finds the script of a deploy. */
  load: LoadRoomScript
}

type StartOptions = Pick<RunningScriptParts, 'gameId' | 'isPreview' | 'onFailed' | 'onSnapshot'>

/** A script may send larger messages than a client of any configuration. */
const LEAST_FRAME_BYTES = 64 * 1024

/** The memory of the machine or, where it is less, of the container. */
const machineBytes = async (): Promise<number> => Math.min(totalmem(), (await groupMemory())?.limit ?? Infinity)

/** Runs the scripts of this node's rooms. */
export class ScriptRuntime {
  logs: ScriptLogs = { append() {} }
  readonly #parts: ScriptRuntimeParts
  readonly #limits: ScriptLimits
  readonly #threads: ScriptThreads
  readonly #services: ScriptServices
  readonly #closing = new Set<RunningScript>()

  constructor(parts: ScriptRuntimeParts) {
    this.#parts = parts
    const { limits, program, backends } = parts
    this.#limits = {
      memoryBytes: limits.roomScriptBytes,
      callMs: limits.roomScriptMs,
      share: limits.roomScriptShare,
      stateBytes: limits.roomStateBytes,
      frameBytes: Math.max(limits.roomFrameBytes, LEAST_FRAME_BYTES),
    }
    this.#threads = new ScriptThreads(program, {
      callMs: limits.roomScriptMs,
      memoryBytes: async () => limits.roomScriptsBytes || (await machineBytes()) / 4,
      log: parts.log,
    })
    this.#services = new ScriptServices(backends)
  }

  /** The number of threads that run now. */
  get threads(): number {
    return this.#threads.size
  }

  /** Returns the script for a room that is about to open; null when there is none. */
  async scriptFor(gameId: string, source: ScriptSource): Promise<RoomScript | null> {
    const script = await this.#parts.load(gameId, source)
    if (script) await this.#threads.prepare()
    return script
  }

  /** Starts the script of a room. @param snapshot JSON, when the room comes from another node */
  start(
    room: Room,
    script: RoomScript,
    snapshot: string | null,
    { gameId, isPreview, onFailed, onSnapshot }: StartOptions,
  ): RunningScript {
    return new RunningScript(room, script, snapshot, {
      gameId,
      isPreview,
      clock: this.#parts.clock,
      limits: this.#limits,
      threads: this.#threads,
      services: this.#services,
      closing: this.#closing,
      log: (line) => this.logs.append(gameId, [line]),
      onFailed: (failure) => {
        this.#parts.log.info({ gameId, room: room.id, reason: failure.reason }, 'a room ended: its script failed')
        onFailed(failure)
      },
      onSnapshot,
    })
  }

  /** Ends the threads when the scripts whose rooms are over have done what they still do, a few seconds at most. */
  async close(): Promise<void> {
    await Promise.all([...this.#closing].map(({ ended }) => ended))
    await this.#threads.close()
  }
}
