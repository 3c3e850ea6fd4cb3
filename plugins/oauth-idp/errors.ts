import { defineError } from '../../core/errors.ts'

export const EmailTaken = defineError('email_taken', 409, 'An account with this email address already exists.')
export const InvalidCredentials = defineError('invalid_credentials', 401, 'Email address or password is wrong.')
export const AccountDisabled = defineError('account_disabled', 403, '%s')
export const SignUpClosed = defineError('sign_up_closed', 403, 'The administrator of this server creates the accounts.')
export const ChallengeRequired = defineError(
  'challenge_required',
  403,
  'A new account needs a proof of work, which this page computes with JavaScript. Turn JavaScript on, and try again.',
)
export const ChallengeInvalid = defineError(
  'challenge_invalid',
  403,
  'The proof of work is wrong, expired or used. Try again.',
)
export const EmailDomainBlocked = defineError(
  'email_domain_blocked',
  400,
  'Addresses at %s are not accepted here; use another one.',
)
export const SetupLinkUsed = defineError('gone', 410, 'This set-up link has been used, or was never valid.')
export const InvitationUsed = defineError(
  'gone',
  410,
  'This invitation has been used, has expired, or was never valid. Check it, or ask for another.',
)
export const LinkUsed = defineError('gone', 410, 'This link has been used, has expired, or was never valid.')
export const GuestsNotWelcome = defineError(
  'guests_off',
  403,
  'This server does not admit guests; create an account instead.',
)
export const LastAdmin = defineError('last_admin', 409, 'This is the only administrator; appoint another one first.')
export const AppSuspended = defineError(
  'suspended',
  409,
  'The game of this application is suspended; the application stays linked to it.',
)
export const TooManyApplications = defineError(
  'too_many_applications',
  409,
  'You have %s applications, as many as one may; delete one.',
)
export const LastSignInMethod = defineError(
  'last_sign_in_method',
  409,
  'This is the only way to sign in to this account. First set a password, or add a passkey or another account.',
)
export const UpstreamFailed = defineError(
  'upstream_error',
  502,
  '%s did not answer as expected. Try again, or sign in another way.',
)
export const ExportUnderWay = defineError(
  'export_under_way',
  409,
  'Your data is being downloaded already; wait until that has ended.',
)
