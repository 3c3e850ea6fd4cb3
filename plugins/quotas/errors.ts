import { defineError } from '../../core/errors.ts'

export const QuotaExceeded = defineError('quota_exceeded', 403, '%s')
