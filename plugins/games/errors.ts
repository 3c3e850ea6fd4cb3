import { defineError } from '../../core/errors.ts'

export const Suspended = defineError('suspended', 451, 'The administrators of this platform have suspended this game.')
export const NotWaiting = defineError(
  'not_waiting',
  409,
  'This game waits for no approval; somebody has decided already.',
)
export const SlugTaken = defineError('slug_taken', 409, 'The address %s is taken; choose another.')
export const SlugReserved = defineError(
  'slug_reserved',
  409,
  'The address %s is reserved for the platform; choose another.',
)
export const TooManySlugs = defineError(
  'too_many_slugs',
  409,
  'This game has had %s addresses recently; wait until one of them is free again.',
)
export const TooManyReserved = defineError(
  'too_many_reserved_slugs',
  409,
  'Your former and deleted games had %s addresses in the last 90 days, which stay reserved; wait until one is free again.',
)
export const MediaRefused = defineError('media_refused', 415, '%s')
export const TooManyMedia = defineError('too_many_media', 409, 'A game has at most %s pictures and videos; remove one.')
export const UploadCut = defineError('upload_cut', 400, 'The upload ended before it was complete.')
export const MediaTooLarge = defineError('payload_too_large', 413, '%s')
export const NotBasedOnLive = defineError(
  'conflict',
  409,
  'Another deploy is live by now: %s. Read its files, and try again.',
)
