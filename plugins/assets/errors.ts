import { defineError } from '../../core/errors.ts'

export const Suspended = defineError('suspended', 451, 'This asset is suspended by the moderators of this platform.')
export const OwnerOnly = defineError('owner_only', 403, 'Only the owner %s.')
export const AssetRefused = defineError('asset_refused', 415, '%s')
/** `details` contains the errors and their locations. */
export const InvalidModel = defineError('invalid_model', 400, 'This is not a valid glTF binary: %s')
/** The file may be valid, but takes more time or memory than a model may. */
export class ModelTooCostly extends InvalidModel {}
export const NotRigged = defineError('not_rigged', 422, '%s')
export const ClipDoesNotFit = defineError('clip_does_not_fit', 422, '%s')
export const TooManyClips = defineError(
  'too_many_clips',
  409,
  'A model has at most %s clips of others; remove one first.',
)
export const CuratedAsset = defineError('asset_curated', 409, 'Games rely on a curated asset; %s')
