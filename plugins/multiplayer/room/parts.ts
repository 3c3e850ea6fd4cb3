import type { Clock } from '../../../core/clock.ts'
import type { RoomLimits } from './limits.ts'

/** The dependencies of a room. */
export interface RoomParts {
  clock: Clock
  limits: RoomLimits
  newToken: () => string
  /** Called when the room has its first pending frame, or a change without one. The owner then calls `seal` soon. */
  wake: () => void
  /** Called when the last player has left. */
  onEmpty: () => void
  /** Whether the owner calls `takeChanges`. */
  durable: boolean
}

/** Why a room takes no player. */
export type Refusal = 'full' | 'locked' | 'kicked'
