import type { FastifyRequest } from 'fastify'
import { callerOf, TOKENS_AND_SESSION } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { GameParams } from '../schemas.ts'
import { ActivityList, ActivityQuery } from './schemas.ts'

/** `GET /api/games/:id/activity`: who changed a game, and when. */
export const activityRoutes: Routes = async (app) => {
  app.get(
    '/api/games/:id/activity',
    {
      config: { auth: { scope: 'games:read', accepts: TOKENS_AND_SESSION } },
      constraints: { origin: 'portal' },
      onRequest: async (request: FastifyRequest) => {
        await app.games.mustMake(callerOf(request).playerId, (request.params as { id: string }).id)
      },
      schema: {
        summary: 'Who changed a game, and when; the latest first; kept for `limits.activityDays`',
        tags: ['games'],
        params: GameParams,
        querystring: ActivityQuery,
        response: { 200: ActivityList },
      },
    },
    async (request) => {
      const { id } = await app.games.mustMake(callerOf(request).playerId, request.params.id)
      return app.games.activity.list(id, request.query)
    },
  )
}
