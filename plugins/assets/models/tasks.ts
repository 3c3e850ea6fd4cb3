import type { ErrorDetail } from '../../../core/errors.ts'
import type { LodReason } from '../schemas.ts'
import type { NotAnimated } from './animate.ts'
import type { PresetName } from './humanoid/presets.ts'
import type { ModelFacts } from './inspect.ts'

/** A task of the worker for a file on this machine's disk; the worker writes results to `out`. */
export type ModelTask =
  | { task: 'inspect'; path: string }
  | { task: 'simplify'; path: string; out: string }
  | { task: 'draw'; path: string; out: string }
  | { task: 'shrink'; path: string; out: string }
  | { task: 'animate'; path: string; out: string; clip: { preset: PresetName } | { from: string; name: string } }

export interface ModelResults {
  inspect: ModelFacts
  /** The reason when nothing is won by it. */
  simplify: { triangles: number } | { reason: LodReason }
  /** Null when there is nothing to see. */
  draw: true | null
  /** Null for what is no PNG or JPEG, and for what can't be read. */
  shrink: true | null
  animate: 'animated' | NotAnimated
}

/** Its answer. */
export type ModelAnswer =
  | { result: unknown }
  /** The file is at fault. */
  | { refusal: { message: string; details: ErrorDetail[] } }
  /** We are. */
  | { failure: string }
