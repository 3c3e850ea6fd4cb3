import type { ErrorDetail } from '../../../core/errors.ts'
import type { PresetName } from './humanoid/presets.ts'
import type { ModelFacts } from './inspect.ts'

/** What the worker is asked to do with a file on this machine's disk; what it makes, it writes to `out`. */
export type ModelTask =
  | { task: 'inspect'; path: string }
  | { task: 'simplify'; path: string; out: string }
  | { task: 'draw'; path: string; out: string }
  | { task: 'shrink'; path: string; out: string }
  | { task: 'animate'; path: string; out: string; preset: PresetName }

export interface ModelResults {
  inspect: ModelFacts
  /** Null when nothing is won by it. */
  simplify: { triangles: number } | null
  /** Null when there is nothing to see. */
  draw: true | null
  /** Null for what is no PNG or JPEG, and for what can't be read. */
  shrink: true | null
  /** False when the model has no humanoid rig. */
  animate: boolean
}

/** What it answers. */
export type ModelAnswer =
  | { result: unknown }
  /** The file is at fault. */
  | { refusal: { message: string; details: ErrorDetail[] } }
  /** We are. */
  | { failure: string }
