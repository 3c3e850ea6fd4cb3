import { defineError } from '../../core/errors.ts'

export const AiNotConfigured = defineError(
  'ai_not_configured',
  503,
  'This server generates no %s: its administrator has not set up AI for it.',
)
