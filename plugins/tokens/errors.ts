import { defineError } from '../../core/errors.ts'

export const TooManyTokens = defineError(
  'too_many_tokens',
  409,
  'You have %s %s tokens, as many as one may; revoke one.',
)
