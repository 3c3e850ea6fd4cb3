import type { Test } from 'tap'
import { startPlatform } from '../../kit/platform.ts'

const DAY = 86_400_000

/** A platform whose time goes on. */
export const expiry = {
  'States of an API token / active: passing of expiresAt': async (t: Test) => {
    const platform = await startPlatform(t)
    const player = await platform.signUp()
    const { body } = await player.post('/api/tokens', { label: 'x', scopes: ['games:read'], expiresInDays: 30 })
    const headers = { authorization: `Bearer ${body.token}`, origin: undefined }
    const status = async () => (await platform.stranger.get('/api/games', { headers })).status
    platform.clock.advance(30 * DAY - 60_000)
    t.equal(await status(), 200, 'a minute before')
    platform.clock.advance(120_000)
    t.equal(await status(), 401, 'a minute after')
  },
}
