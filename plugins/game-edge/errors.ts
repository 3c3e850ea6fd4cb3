import { defineError, type PlatformError, Unauthorized } from '../../core/errors.ts'

export const SignInFailed = defineError('sign_in_failed', 400, '%s')

/** The file exists only in a coding that the client does not accept (RFC 9110 section 15.5.7). */
export const CodingNotAccepted = defineError(
  'coding_not_accepted',
  406,
  'This file is compressed (%s), this client does not accept that, and %s.',
)

/** The page names another player than that of the session. */
export const OtherPlayer = defineError(
  'other_player',
  409,
  'Another player has signed in here since this page was loaded. Reload the page.',
)

/** Refuses a request on a game's origin that needs a player. Scripts read in `signIn` where the sign-in begins. */
export const signInRequired = (message: string): PlatformError =>
  new Unauthorized(message).with({
    headers: { 'www-authenticate': 'Bearer' },
    body: { signIn: '/auth/service/start' },
  })
