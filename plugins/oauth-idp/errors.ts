import { defineError } from '../../core/errors.ts'

export const EmailTaken = defineError('email_taken', 409, 'There is an account with this email address already.')
export const InvalidCredentials = defineError('invalid_credentials', 401, 'Email address or password is wrong.')
export const SignUpClosed = defineError('sign_up_closed', 403, 'Accounts here are made by whoever runs this server.')
export const SetupLinkUsed = defineError('gone', 410, 'This set-up link has been used, or was never valid.')
export const LinkUsed = defineError('gone', 410, 'This link has been used, has expired, or was never valid.')
export const GuestsNotWelcome = defineError('guests_off', 403, 'Guests are not let in here; make an account instead.')
export const LastAdmin = defineError('last_admin', 409, 'This is the only administrator; make somebody else one first.')
export const UpstreamFailed = defineError(
  'upstream_error',
  502,
  '%s did not answer as expected. Try again, or sign in another way.',
)
