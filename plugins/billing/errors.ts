import { defineError } from '../../core/errors.ts'

/** Carries `balance` and `required` beside the error (specification, "Errors"). */
export const InsufficientCredits = defineError('insufficient_credits', 402, 'This costs up to %s credits; you have %s.')
export const HoldGone = defineError('conflict', 409, 'These credits are not held any more.')
export const BillingNotConfigured = defineError(
  'billing_not_configured',
  503,
  'Credits are not sold here: whoever runs this server has set up no payments.',
)
