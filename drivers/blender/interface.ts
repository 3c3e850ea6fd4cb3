import { defineError } from '../../core/errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    blenderDriver: BlenderExecutor
  }
}

/** An input file of a run: a relative path of `[A-Za-z0-9._-]` segments, and its content. */
export interface InputFile {
  path: string
  /** Bytes, or the path of a local file. */
  content: Buffer | string | { file: string; size: number }
}

/** The limits of a run. Exceeding one of them ends the whole run. */
export interface RunLimits {
  timeoutSeconds: number
  /** Size of one artifact. */
  artifactBytes: number
  /** Size of the whole output. */
  logBytes: number
}

/** One run of Blender with untrusted code. */
export interface BlenderRun {
  /** Names the run in messages and temporary objects: `[A-Za-z0-9_-]`, unique. */
  id: string
  /** Input files. The run gets them in a folder of its own, which it can only read. */
  files: InputFile[]
  /**
   * The Python file among them that Blender runs. Its arguments after `--` are the input folder and the output folder.
   */
  main: string
  /** Names of files to take from the output folder; all other files there are discarded. */
  artifacts: readonly string[]
  /** An existing, empty folder of this machine that receives the artifacts. */
  output: string
  limits: RunLimits
  /** Aborts the run, which then ends within 2 seconds. */
  signal: AbortSignal
  /** Receives each line of output as it is printed, cut at 4,096 characters. */
  onLine(line: string): void
}

/** The outcome of a run. Only a successful run has artifacts: those that it wrote. */
export type RunEnd =
  | { ending: 'exited'; code: number; artifacts: string[] }
  | { ending: 'timeout' }
  | { ending: 'limit_exceeded'; what: string }
  /** An artifact is not an ordinary file. */
  | { ending: 'invalid_artifact'; name: string }
  | { ending: 'cancelled' }

/** Whether this machine can run Blender now. */
export type Availability =
  | {
      available: true
      blenderVersion: string
      /** One sentence on what this Blender lacks for glTF, with the package to install; null when it is complete. */
      missing: string | null
    }
  | { available: false; reason: string }

/**
 * Runs Blender on untrusted scripts. The family `blender`.
 *
 * A run has no access to the network, to files of the machine other than Blender's own and its inputs, to other runs,
 * or to the environment. It can signal no process outside, and its time, memory, processes and disk are bounded. When
 * `run` settles, in whatever way, no process, mount, folder or container of it remains. A driver that can't guarantee
 * this refuses to run.
 */
export interface BlenderExecutor {
  readonly name: string
  /** The configured number of concurrent runs on this machine; 0 when it runs none. */
  readonly capacity: number
  /** Tests Blender in the sandbox of a run. This takes about a second, so the caller caches the result. */
  check(): Promise<Availability>
  /**
   * @throws ExecutorUnavailable when the run could not start. The script is not the cause, and the run may be retried
   */
  run(run: BlenderRun): Promise<RunEnd>
  /** Removes the remains of runs whose process on this machine died. */
  sweep(): Promise<void>
  close(): Promise<void>
}

export const ExecutorUnavailable = defineError('blender_unavailable', 503, 'Blender cannot be run: %s')
