import { defineError } from '../../core/errors.ts'

export const AiNotConfigured = defineError(
  'ai_not_configured',
  503,
  'This server generates no %s: its administrator has not set up AI for it.',
)

/** The body also contains `allowUrl`. */
export const AiNotAllowed = defineError(
  'ai_not_allowed',
  403,
  'The player has not allowed this game to spend credits on AI. Open allowUrl in a new tab, so that the player can.',
)
/** The body also contains `accountUrl`. */
export const GuestCannotSpend = defineError(
  'account_required',
  403,
  'A guest can’t spend credits in a game. Create an account in the settings of the platform first.',
)
/** The body also contains `limit`, `used`, `resetsAt` and `allowUrl`. */
export const DailyLimitReached = defineError(
  'daily_limit_reached',
  402,
  'This costs up to %s credits. Of the %s credits a day that the player allows this game, %s are used or reserved.',
)
/** The code of the ledger's refusal, without the balance: that is not for the game. */
export const TooFewCredits = defineError(
  'insufficient_credits',
  402,
  'The player has too few credits for this. They are at creditsUrl.',
)
