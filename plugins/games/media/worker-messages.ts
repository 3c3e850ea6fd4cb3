import type { PackedPixels } from './formats/format.ts'
import type { Inspected } from './record.ts'

/** An upload to inspect: an open file, which the worker reads by the descriptor of this process. */
export interface MediaTask {
  fd: number
  size: number
}

export type MediaAnswer =
  | { inspected: Inspected; packed: PackedPixels | null }
  /** The file is refused. `isTooLarge` distinguishes its size from its content. */
  | { refusal: string; isTooLarge: boolean }
  /** The worker failed for another reason. */
  | { failure: string }
