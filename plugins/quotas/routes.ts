import { actorOf, callerOf, TOKENS_AND_SESSION } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { LimitChanges, PlayerParams, PlayerQuotas, USAGE_RATE_LIMIT, Usage } from './schemas.ts'

const constraints = { origin: 'portal' } as const

export const routes: Routes = async (app) => {
  const admin = { config: { auth: 'session', role: 'admin' }, constraints } as const
  const quotasOf = async (playerId: string) => ({
    playerId,
    quotas: await app.quotas.quotasOf(playerId),
    overrides: await app.quotas.limits.overridesOf(playerId),
  })

  app.get(
    '/api/usage',
    {
      config: { auth: { scope: 'games:read', accepts: TOKENS_AND_SESSION }, rateLimit: USAGE_RATE_LIMIT },
      constraints,
      schema: {
        summary: 'Your limits, your usage, and your largest items',
        tags: ['usage'],
        response: { 200: Usage },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return app.quotas.usage(callerOf(request).playerId)
    },
  )

  app.get(
    '/api/admin/players/:playerId/quotas',
    {
      ...admin,
      schema: {
        summary: 'What a player may have, and has (administrators)',
        tags: ['usage'],
        params: PlayerParams,
        response: { 200: PlayerQuotas },
      },
    },
    async (request) => {
      const { id } = await app.identity.administration.find(request.params.playerId)
      return quotasOf(id)
    },
  )

  app.patch(
    '/api/admin/players/:playerId/quotas',
    {
      ...admin,
      schema: {
        summary: 'Set what a player may have (administrators)',
        tags: ['usage'],
        params: PlayerParams,
        body: LimitChanges,
        response: { 200: PlayerQuotas },
      },
    },
    async (request) => {
      const { id } = await app.identity.administration.find(request.params.playerId)
      await app.quotas.limits.change(id, request.body, actorOf(request))
      return quotasOf(id)
    },
  )
}
