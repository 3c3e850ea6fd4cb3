import { defineError } from '../../core/errors.ts'

export const RemixNotAllowed = defineError(
  'remix_not_allowed',
  403,
  'Its maker does not let others make their own version of this game.',
)
export const NothingToRemix = defineError('conflict', 409, 'This game has no build here that could be copied now.')
