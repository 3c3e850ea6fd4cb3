import { defineError } from '../../core/errors.ts'

export const AssetRefused = defineError('asset_refused', 415, '%s')
/** `details` say what is wrong, and where. */
export const InvalidModel = defineError('invalid_model', 400, 'This is not a valid glTF binary: %s')
export const NotRigged = defineError('not_rigged', 422, '%s')
export const CuratedAsset = defineError('asset_curated', 409, 'Games rely on a curated asset; %s')
