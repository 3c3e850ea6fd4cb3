import { defineError, RETRY_SOON } from '../../core/errors.ts'

export const IncompleteDeploy = defineError('incomplete_deploy', 409, 'Files of this deploy are missing: %s.')
export const TooManyOpenDeploys = defineError(
  'too_many_open_deploys',
  409,
  'You have %s deploys that wait for their files, as many as allowed. Finalize one, or delete one with DELETE /api/deploy/{id}. Each ends a day after it began.',
)
export const DeployExpired = defineError('deploy_expired', 410, 'This deploy has expired; start another one.')
export const DeployClosed = defineError('conflict', 409, 'This deploy accepts no more files; start another one.')
export const NotRestorable = defineError('conflict', 409, 'Only a deploy that was live before can be restored.')
export const NoPreviews = defineError(
  'conflict',
  409,
  'This game has no previews: games have ports instead of names on this server, or its address is too long.',
)
export const UploadRefused = defineError(
  'forbidden',
  403,
  'This upload URL is not valid: it was changed, has expired, or belongs to another deploy.',
)
export const LiveSecret = defineError(
  'live_secret',
  400,
  'Everybody can read what a deploy publishes, and %s, line %s, holds a secret that works on this platform: %s%s. Take it out of the build, and make a new one.',
)
export const InvalidRoomScript = defineError('invalid_room_script', 400, '%s cannot be a room script: %s.')
export const NothingToRestart = defineError(
  'invalid_request',
  400,
  'restartRooms is for the live rooms, and a new preview has none.',
)
export const LengthRequired = defineError('invalid_request', 411, 'Send the size of the file as Content-Length.')
export const SizeMismatch = defineError('digest_mismatch', 422, 'The file %s was announced with %s bytes, not %s.')
export const InvalidBundle = defineError(
  'invalid_request',
  400,
  'The bundle is not a tar archive of files of this deploy: %s.',
)
export const BlobBusy = defineError(
  'blob_busy',
  503,
  'The server is deleting some of these bytes right now; try again.',
  RETRY_SOON,
)
export const DeployIsPinned = defineError('conflict', 409, 'This deploy is pinned; unpin it before deleting it.')
export const NotPinnable = defineError('conflict', 409, 'Only a deploy whose files are all there can be pinned.')
export const DeployIsLive = defineError(
  'conflict',
  409,
  'This deploy is live; put another one live before deleting it.',
)
