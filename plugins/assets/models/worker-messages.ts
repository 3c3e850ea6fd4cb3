import type { ErrorDetail } from '../../../core/errors.ts'
import type { LodReason } from '../schemas.ts'
import type { NotAnimated } from './animate.ts'
import type { PresetName } from './humanoid/presets.ts'
import type { ModelFacts } from './inspect.ts'
import type { Surroundings } from './references.ts'

/** A task of the worker for a file on this machine's disk; the worker writes results to `out`. */
export type ModelTask =
  | { task: 'inspect'; path: string; beside?: Surroundings }
  /** Writes a glTF binary with everything that the model refers to. */
  | { task: 'embed'; path: string; out: string; beside?: Surroundings }
  /** Writes a repaired copy if there is something to repair. The files of its pack are changed in place. */
  | { task: 'repair'; path: string; out: string; beside?: Surroundings }
  | { task: 'simplify'; path: string; out: string }
  | { task: 'draw'; path: string; out: string; beside?: Surroundings }
  | { task: 'animate'; path: string; out: string; clip: { preset: PresetName } | { from: string; name: string } }

export interface ModelResults {
  inspect: ModelFacts
  /** Facts about the written file. */
  embed: ModelFacts
  /** What was done, in a sentence each. */
  repair: string[]
  /** `reason` explains why the simplified form is not useful. */
  simplify: { triangles: number } | { reason: LodReason }
  /** Null when the model has no visible surface. */
  draw: true | null
  animate: 'animated' | NotAnimated
}

/** The answer of the worker. */
export type ModelAnswer =
  | { result: unknown }
  /** The file is invalid. */
  | { refusal: { message: string; details: ErrorDetail[] } }
  /** The worker failed for another reason. */
  | { failure: string }
