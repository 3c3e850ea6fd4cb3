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
    for (const body of [{ packId: 'small' }, {}, undefined, { packId: 7 }, { other: 'x' }, '{']) {
      const headers = { 'content-type': 'application/json' }
      t.match(
        await player.post('/api/payments/checkout', body, { headers }),
        { status: 503, body: { error: { code: 'billing_not_configured', message: String } } },
        JSON.stringify(body),
      )
    }
    t.equal((await platform.stranger.post('/api/payments/checkout', {})).status, 401, 'but a session comes first')
  },
}
