import { callerOf, TOKENS_AND_SESSION } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { LogList, LogParams, LogQuery } from './schemas.ts'
import type { StoredScriptLogs } from './script-logs.ts'

/** The log of a game's room scripts, for its owner. */
export const logRoutes =
  (logs: StoredScriptLogs): Routes =>
  async (app) => {
    app.get(
      '/api/games/:id/logs',
      {
        config: { auth: { scope: 'games:read', accepts: TOKENS_AND_SESSION } },
        constraints: { origin: 'portal' },
        schema: {
          summary: 'The lines that the room scripts of a game have logged, newest first',
          tags: ['games'],
          params: LogParams,
          querystring: LogQuery,
          response: { 200: LogList },
        },
      },
      async (request, reply) => {
        const game = await app.games.mustMake(callerOf(request).playerId, request.params.id)
        const { follow, ...page } = request.query
        if (follow) return app.eventStreams.send(reply as never, logs.follow(game.id, page.limit)) as never
        reply.header('cache-control', 'no-store')
        return logs.list(game.id, page)
      },
    )
  }
