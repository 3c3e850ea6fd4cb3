import Type from 'typebox'
import { actorOf, callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { mustBeAnother, mustBeBelow } from './rules.ts'

const Trust = Type.Object({
  playerId: Type.String(),
  trusted: Type.Boolean({ description: 'Whether their games are published without approval (`games.publish`).' }),
})

/** Actions of staff on players by the API. */
export const adminRoutes: Routes = async (app) => {
  const { administration } = app.identity

  app.put(
    '/api/admin/players/:playerId/trust',
    {
      config: { auth: 'session', role: 'moderator' },
      constraints: { origin: 'portal' },
      schema: {
        summary: 'Say whether a player publishes games without approval (moderators)',
        tags: ['games'],
        params: Type.Object({ playerId: Type.String({ maxLength: 30 }) }),
        body: Type.Object({ trusted: Trust.properties.trusted }, { additionalProperties: false }),
        response: { 200: Trust },
      },
    },
    async (request) => {
      const { playerId } = request.params
      mustBeAnother(request, playerId)
      mustBeBelow(request, await administration.find(playerId))
      const { trusted } = request.body
      await administration.setTrusted(playerId, trusted, actorOf(request))
      request.log.info(
        { step: 'trust', trusted, subject: playerId, by: callerOf(request).playerId },
        'a player changed',
      )
      return { playerId, trusted }
    },
  )
}
