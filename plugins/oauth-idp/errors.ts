import { defineError } from '../../core/errors.ts'

export const EmailTaken = defineError('email_taken', 409, 'There is an account with this email address already.')
export const InvalidCredentials = defineError('invalid_credentials', 401, 'Email address or password is wrong.')
export const SignUpClosed = defineError('sign_up_closed', 403, 'Accounts here are made by whoever runs this server.')
export const SetupLinkUsed = defineError('gone', 410, 'This set-up link has been used, or was never valid.')
