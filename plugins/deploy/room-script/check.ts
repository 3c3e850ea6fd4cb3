import { WorkerPool, WorkTookTooLong } from '../../../core/jobs/worker-pool.ts'
import type { WorkerPrograms } from '../../../core/jobs/worker-programs.ts'
import { InvalidRoomScript } from '../errors.ts'
import type { Inspection, ScriptNote } from './inspect.ts'

const IDLE_MS = 5000
/** The maximum time to parse a script. One of 1 MiB takes about 0.2 s. */
const PARSING_MS = 5000
const HEAP_MB = 256

/** Checks room scripts in a worker thread, since parsing a hostile one may take long. */
export class RoomScriptCheck {
  readonly #pool: WorkerPool<string, Inspection>

  constructor(programs: WorkerPrograms) {
    const program = () => programs.text('room-script')
    this.#pool = new WorkerPool({ name: 'room-script', program, idleMs: IDLE_MS, heapMb: HEAP_MB })
  }

  /**
   * Requires a text that rooms can run.
   *
   * @param path the script's path in the build, for the error
   * @returns what its author should look at
   * @throws InvalidRoomScript with the line and the column
   */
  async check(path: string, bytes: Buffer): Promise<ScriptNote[]> {
    const { problem, notes } = await this.#inspect(bytes)
    if (!problem) return notes
    const { message, line, column } = problem
    throw new InvalidRoomScript(path, `${message} (line ${line}, column ${column})`).with({
      details: [{ path: `${path}:${line}:${column}`, message }],
    })
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #inspect(bytes: Buffer): Promise<Inspection> {
    const whole = (message: string) => ({ problem: { message, line: 1, column: 1 }, notes: [] })
    let source: string
    try {
      source = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    } catch {
      return whole('It is not UTF-8 text')
    }
    try {
      return await this.#pool.run(source, { longestMs: PARSING_MS })
    } catch (error) {
      if (error instanceof WorkTookTooLong) return whole('It takes too long to parse')
      if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY')
        return whole('It takes too much memory to parse')
      throw error
    }
  }
}
