import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { type AuthRule, callerOf, TOKENS_AND_SESSION } from '../../../core/http/auth.ts'
import { PageQuery } from '../../../core/http/pagination.ts'
import type { Routes } from '../../../core/http/routes.ts'
import {
  App,
  AppList,
  AppParams,
  AppWithSecret,
  CreateAppBody,
  SignInAnalytics,
  SignInQuery,
  UpdateAppBody,
} from './schemas.ts'
import { daysAsked } from './sign-ins.ts'

const reads: AuthRule = { scope: 'oauth:read', accepts: TOKENS_AND_SESSION }
const writes: AuthRule = { scope: 'oauth:write', accepts: TOKENS_AND_SESSION }
const constraints = { origin: 'portal' }
const tags = ['OAuth applications']

export const appRoutes: Routes = async (app) => {
  const { apps } = app.identity
  /**
   * Ownership is checked before the body is read, so that the body can't change the response for another's application.
   */
  const owned = async (request: FastifyRequest) => {
    await apps.mustOwn(callerOf(request).playerId, (request.params as { id: string }).id)
  }

  app.post(
    '/api/oauth/apps',
    {
      config: { auth: writes },
      constraints,
      schema: { tags, summary: 'Register an OAuth application', body: CreateAppBody, response: { 201: AppWithSecret } },
    },
    async (request, reply) => {
      const { public: publicClient = false, homepageUrl = null, gameId = null, ...fields } = request.body
      reply.code(201).header('cache-control', 'no-store')
      const ownerId = callerOf(request).playerId
      return apps.register({ ...fields, homepageUrl, gameId, publicClient, ownerId })
    },
  )

  app.get(
    '/api/oauth/apps',
    {
      config: { auth: reads },
      constraints,
      schema: { tags, summary: 'Your OAuth applications', querystring: PageQuery, response: { 200: AppList } },
    },
    async (request) => apps.list(callerOf(request).playerId, request.query),
  )

  app.get(
    '/api/oauth/apps/:id',
    {
      config: { auth: reads },
      constraints,
      schema: { tags, summary: 'One of your OAuth applications', params: AppParams, response: { 200: App } },
    },
    async (request) => apps.mustOwn(callerOf(request).playerId, request.params.id),
  )

  app.get(
    '/api/oauth/apps/:id/analytics',
    {
      config: { auth: reads },
      constraints,
      onRequest: owned,
      schema: {
        tags,
        summary: 'Sign-ins of an OAuth application, by day',
        params: AppParams,
        querystring: SignInQuery,
        response: { 200: SignInAnalytics },
      },
    },
    async (request) => {
      const { clientId } = await apps.mustOwn(callerOf(request).playerId, request.params.id)
      const { from, to } = daysAsked(request.query, app.clock.now())
      return app.identity.signIns.between(clientId, from, to)
    },
  )

  app.patch(
    '/api/oauth/apps/:id',
    {
      config: { auth: writes },
      constraints,
      onRequest: owned,
      schema: {
        tags,
        summary: 'Change an OAuth application',
        params: AppParams,
        body: UpdateAppBody,
        response: { 200: App },
      },
    },
    async (request) => apps.update(callerOf(request).playerId, request.params.id, request.body),
  )

  app.delete(
    '/api/oauth/apps/:id',
    {
      config: { auth: writes },
      constraints,
      onRequest: owned,
      schema: { tags, summary: 'Delete an OAuth application', params: AppParams, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      await apps.delete(callerOf(request).playerId, request.params.id)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/api/oauth/apps/:id/secret',
    {
      config: { auth: writes },
      constraints,
      onRequest: owned,
      schema: {
        tags,
        summary: 'Give an OAuth application a new secret',
        params: AppParams,
        querystring: Type.Object({
          graceSeconds: Type.Integer({
            minimum: 0,
            maximum: 604_800,
            default: 0,
            description: 'How long the old secret still counts.',
          }),
        }),
        response: { 200: AppWithSecret },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return apps.rotateSecret(callerOf(request).playerId, request.params.id, request.query.graceSeconds)
    },
  )
}
