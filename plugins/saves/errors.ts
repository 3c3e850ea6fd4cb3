import { defineError, RETRY_SOON } from '../../core/errors.ts'

export const NoSuchSave = defineError('no_such_save', 404, 'There is no save named %s.')
export const NoSuchVersion = defineError('no_such_save', 404, 'Version %s of the save %s is not kept.')
export const SaveConflict = defineError('save_conflict', 412, '%s')
export const SaveTooLarge = defineError('save_too_large', 413, 'A save has at most %s.')
export const SavesFull = defineError('saves_full', 507, '%s')
export const SaveNotJson = defineError('save_not_json', 409, 'The save %s is no JSON.')
export const SaveBusy = defineError(
  'save_busy',
  503,
  'This value is being removed at the moment; try again.',
  RETRY_SOON,
)
