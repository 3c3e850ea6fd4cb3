import type { Clock } from '../../core/clock.ts'
import type { SignInMethod } from '../oauth-idp/index.ts'
import { ApiToken } from './entities.ts'

/** API and CLI tokens as a sign-in method of an account. */
export const tokenSignInMethod = (clock: Clock): SignInMethod => ({
  name: 'tokens',
  openFor: async (em, playerIds) => {
    const works = { $or: [{ expiresAt: null }, { expiresAt: { $gt: clock.now() } }] }
    const rows = await em.find(ApiToken, { playerId: { $in: playerIds }, ...works }, { fields: ['playerId'] })
    return rows.map(({ playerId }) => playerId)
  },
  close: (em, playerId) => em.nativeDelete(ApiToken, { playerId }),
})
