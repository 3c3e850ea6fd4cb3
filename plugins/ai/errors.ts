import { defineError } from '../../core/errors.ts'

export const AiNotConfigured = defineError(
  'ai_not_configured',
  503,
  'Nothing generates %s here: whoever runs this server has set up no AI for it.',
)
