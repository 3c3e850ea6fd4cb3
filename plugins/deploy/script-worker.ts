import { WorkerPool, WorkTookTooLong } from '../../core/jobs/worker-pool.ts'
import type { WorkerPrograms } from '../../core/jobs/worker-programs.ts'
import { InvalidRoomScript } from './errors.ts'
import type { Inspection, ScriptNote } from './room-script/inspect.ts'
import type { Place, SourcePlace } from './source-maps/places.ts'
import type { MapText } from './source-maps/source-map.ts'

const IDLE_MS = 5000
/** The maximum time to parse a script. One of 1 MiB takes about 0.2 s. */
const PARSING_MS = 5000
/** The maximum time to read a source map. One of 8 MiB takes about 1 s. */
const MAPPING_MS = 5000
const HEAP_MB = 256

/** The messages of workers/scripts.ts. */
export type ScriptTask = { source: string } | { sourceMap: MapText; places: readonly Place[] }
export type ScriptAnswer = { inspection: Inspection } | { places: (SourcePlace | null)[] }

/** Reads room scripts and source maps in a worker thread, since a hostile one may take long. */
export class ScriptWorker {
  readonly #pool: WorkerPool<ScriptTask, ScriptAnswer>

  constructor(programs: WorkerPrograms) {
    const program = () => programs.text('scripts')
    this.#pool = new WorkerPool({ name: 'scripts', program, idleMs: IDLE_MS, heapMb: HEAP_MB })
  }

  /**
   * Requires a text that rooms can run.
   *
   * @param script `path` in the build, for the error; `owner`: who waits
   * @returns what its author should look at
   * @throws InvalidRoomScript with the line and the column
   */
  async check({
    path,
    bytes,
    owner,
  }: {
    path: string
    bytes: Buffer
    owner: string | undefined
  }): Promise<ScriptNote[]> {
    const { problem, notes } = await this.#inspect(bytes, owner)
    if (!problem) return notes
    const { message, line, column } = problem
    throw new InvalidRoomScript(path, `${message} (line ${line}, column ${column})`).with({
      details: [{ path: `${path}:${line}:${column}`, message }],
    })
  }

  /**
   * Finds places of a script in the files that it was bundled from (source-maps/source-map.ts).
   *
   * @returns null for each place that the map does not know, and for all where the map can't be read
   */
  async locate(sourceMap: MapText, places: readonly Place[], owner: string): Promise<(SourcePlace | null)[]> {
    try {
      const answer = await this.#pool.run({ sourceMap, places }, { longestMs: MAPPING_MS, owner })
      return (answer as { places: (SourcePlace | null)[] }).places
    } catch (error) {
      if (error instanceof WorkTookTooLong || isOutOfMemory(error)) return places.map(() => null)
      throw error
    }
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #inspect(bytes: Buffer, owner: string | undefined): Promise<Inspection> {
    const whole = (message: string) => ({ problem: { message, line: 1, column: 1 }, notes: [] })
    let source: string
    try {
      source = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    } catch {
      return whole('It is not UTF-8 text')
    }
    try {
      const answer = await this.#pool.run({ source }, { longestMs: PARSING_MS, owner })
      return (answer as { inspection: Inspection }).inspection
    } catch (error) {
      if (error instanceof WorkTookTooLong) return whole('It takes too long to parse')
      if (isOutOfMemory(error)) return whole('It takes too much memory to parse')
      throw error
    }
  }
}

const isOutOfMemory = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'
