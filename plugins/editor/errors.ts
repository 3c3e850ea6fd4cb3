import { defineError } from '../../core/errors.ts'

export const DraftConflict = defineError('draft_conflict', 409, '%s')
export const DraftOutdated = defineError(
  'draft_outdated',
  409,
  'Another deploy went live since this draft began. Bring the draft to it, then publish.',
)
export const NothingToPublish = defineError('nothing_to_publish', 409, 'The draft has no changes to publish.')
export const FileExists = defineError('file_exists', 409, 'There is a file %s already.')
export const DraftFull = defineError('draft_full', 409, 'A draft changes at most %s files. Publish it first.')
