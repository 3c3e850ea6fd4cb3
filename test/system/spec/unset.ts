import type { Test } from 'tap'
import { startPlatform } from '../../kit/platform.ts'

/** A platform on which nobody has set up an AI or payments. */
export const unset = {
  'Errors / 503 ai_not_configured': async (t: Test) => {
    const platform = await startPlatform(t)
    const program = await platform.program(await platform.signUp())
    t.match(await program.post('/api/ai/generate', { type: 'text', prompt: 'x' }), {
      status: 503,
      body: { error: { code: 'ai_not_configured', message: String } },
    })
  },
  'Errors / 503 billing_not_configured': async (t: Test) => {
    const platform = await startPlatform(t)
    const player = await platform.signUp()
    t.match(await player.post('/api/payments/checkout', { packId: 'small' }), {
      status: 503,
      body: { error: { code: 'billing_not_configured', message: String } },
    })
  },
}
