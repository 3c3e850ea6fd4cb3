import { Unauthorized } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { UserInfo, userInfoOf } from './user.ts'

/** The userinfo endpoint (OpenID Connect Core section 5.3), which returns the player of an access token. */
export const userinfoRoutes: Routes = async (app) => {
  app.route({
    method: ['GET', 'POST'],
    url: '/api/oauth/userinfo',
    config: { auth: { accepts: ['oauth-token'] } },
    constraints: { origin: 'portal' },
    schema: { tags: ['OAuth'], summary: 'The player behind an access token', response: { 200: UserInfo } },
    handler: async (request, reply) => {
      const { playerId, scopes } = callerOf(request)
      const player = await app.identity.players.find(playerId)
      if (!player || scopes === 'all') throw new Unauthorized('This token is not valid.')
      reply.header('cache-control', 'no-store')
      return userInfoOf(player, scopes)
    },
  })
}
