import { defineError } from '../../core/errors.ts'

export const SignInFailed = defineError('sign_in_failed', 400, '%s')
