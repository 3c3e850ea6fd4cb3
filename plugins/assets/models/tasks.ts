import type { ErrorDetail } from '../../../core/errors.ts'
import type { ModelFacts } from './inspect.ts'

/** What the worker is asked to do with a file on this machine's disk. */
export type ModelTask = { task: 'inspect'; path: string }

export interface ModelResults {
  inspect: ModelFacts
}

/** What it answers. */
export type ModelAnswer =
  | { result: unknown }
  /** The file is at fault. */
  | { refusal: { message: string; details: ErrorDetail[] } }
  /** We are. */
  | { failure: string }
