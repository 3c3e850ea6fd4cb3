import { defineError } from '../../core/errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    blenderDriver: BlenderExecutor
  }
}

/** A file that a run starts with: a relative path of `[A-Za-z0-9._-]` segments, and what is in it. */
export interface InputFile {
  path: string
  /** Bytes, or a file of this machine. */
  content: Buffer | string | { file: string; size: number }
}

/** The limits of a run. A run that exceeds one of them is ended completely. */
export interface RunLimits {
  timeoutSeconds: number
  /** One artifact. */
  artifactBytes: number
  /** Its whole output. */
  logBytes: number
}

/** One run of Blender on code that nobody trusts. */
export interface BlenderRun {
  /** Names the run in messages and in what it leaves for a moment: `[A-Za-z0-9_-]`, unique. */
  id: string
  /** They appear, read by the run, in a folder of their own. */
  files: InputFile[]
  /** The Python file among them that Blender runs; it is given two arguments after `--`: that folder and the output's. */
  main: string
  /** Names of files that may be taken out of the output folder; everything else in there is lost. */
  artifacts: readonly string[]
  /** An existing, empty folder of this machine into which the artifacts are put. */
  output: string
  limits: RunLimits
  /** Ends the run, within 2 seconds. */
  signal: AbortSignal
  /** Each line that the run prints, as it comes, cut at 4,096 characters. */
  onLine(line: string): void
}

/** How a run ended. Artifacts are there in the first case only, those that the run wrote. */
export type RunEnd =
  | { ending: 'exited'; code: number; artifacts: string[] }
  | { ending: 'timeout' }
  | { ending: 'limit_exceeded'; what: string }
  /** An artifact is no ordinary file. */
  | { ending: 'invalid_artifact'; name: string }
  | { ending: 'cancelled' }

/** Whether runs are possible on this machine now. */
export type Availability =
  | {
      available: true
      blenderVersion: string
      /** The missing part of this Blender for glTF, and its package, as one sentence; null when it is complete. */
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
  /** Runs at once that the configuration gives this machine; 0 when it does none itself. */
  readonly capacity: number
  /** Tries Blender out, contained as a run is. Costs a second: the caller keeps the answer. */
  check(): Promise<Availability>
  /**
   * @throws ExecutorUnavailable when the run could not be started: nobody's script is to blame, and it may be repeated
   */
  run(run: BlenderRun): Promise<RunEnd>
  /** Removes what a process of this machine that died in the middle of a run left behind. */
  sweep(): Promise<void>
  close(): Promise<void>
}

export const ExecutorUnavailable = defineError('blender_unavailable', 503, 'Blender can not be run: %s')
