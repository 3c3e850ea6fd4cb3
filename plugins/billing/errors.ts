import { defineError } from '../../core/errors.ts'

/** The body also contains `balance` and `required` (specification, "Errors"). */
export const InsufficientCredits = defineError('insufficient_credits', 402, 'This costs up to %s credits; you have %s.')
export const HoldGone = defineError('conflict', 409, 'These credits are no longer reserved.')
export const BillingNotConfigured = defineError(
  'billing_not_configured',
  503,
  'This server sells no credits: its administrator has not set up payments.',
)
