import { defineError, RETRY_SOON } from '../../core/errors.ts'

/** The refusal of an upgrade without a sign-in. The specification defines its body. */
export const AuthRequired = defineError('auth_required', 401, 'Sign in to enter this room.')
export const RoomFull = defineError('room_full', 409, 'This room is full.')
export const RoomLocked = defineError('room_locked', 409, 'The host has locked this room.')
export const RoomForbidden = defineError('kicked', 403, 'The host has removed you from this room.')
export const RefusedByRoom = defineError('refused_by_room', 403, 'This room does not take you in.')
export const RoomFailed = defineError(
  'room_failed',
  503,
  'The script of this room failed; try again in a moment.',
  RETRY_SOON,
)
export const TooManySockets = defineError('too_many_sockets', 429, 'You are in too many rooms at once; leave one.')
export const UpgradeRequired = defineError('upgrade_required', 426, 'This address is a WebSocket.')
export const RoomUnavailable = defineError(
  'room_unavailable',
  503,
  'This room is moving to another server; try again in a moment.',
  RETRY_SOON,
)
