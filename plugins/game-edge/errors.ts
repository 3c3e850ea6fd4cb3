import { defineError, type PlatformError, Unauthorized } from '../../core/errors.ts'

export const SignInFailed = defineError('sign_in_failed', 400, '%s')

/** Refuses a request on a game's origin that needs a player. Scripts read in `signIn` where the sign-in begins. */
export const signInRequired = (message: string): PlatformError =>
  new Unauthorized(message).with({
    headers: { 'www-authenticate': 'Bearer' },
    body: { signIn: '/auth/service/start' },
  })
