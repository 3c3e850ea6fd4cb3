import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf, TOKENS_AND_SESSION } from '../../core/http/auth.ts'
import { bodyWithText } from '../../core/http/limits/body-limits.ts'
import type { Routes } from '../../core/http/routes.ts'
import {
  Analytics,
  AnalyticsQuery,
  Appeal,
  CatalogList,
  CatalogQuery,
  CreatedGame,
  DESCRIPTION_LENGTH,
  DeletionQuery,
  type Game,
  GameChanges,
  GameList,
  GameOauth,
  GameParams,
  MemberGame,
  MyGamesQuery,
  NewGame,
} from './schemas.ts'

const constraints = { origin: 'portal' } as const
const accepts = TOKENS_AND_SESSION
const reads = { auth: { scope: 'games:read', accepts } } as const
const writes = { auth: { scope: 'games:write', accepts } } as const

export const routes: Routes = async (app) => {
  const { members } = app.games
  const describe = (request: FastifyRequest, game: Game) => members.describeOne(callerOf(request).playerId, game)
  const idOf = (request: FastifyRequest) => (request.params as { id: string }).id
  /** The caller is checked before the body is read. Another player's game counts as not found. */
  const made = async (request: FastifyRequest) => {
    await app.games.mustMake(callerOf(request).playerId, idOf(request))
  }
  const owned = async (request: FastifyRequest) => {
    await app.games.mustOwn(callerOf(request).playerId, idOf(request))
  }

  app.post(
    '/api/games',
    {
      config: { ...writes, idempotent: true },
      constraints,
      bodyLimit: bodyWithText(DESCRIPTION_LENGTH),
      schema: {
        summary: 'Create a game, with its address and its OAuth application',
        tags: ['games'],
        body: NewGame,
        response: { 201: CreatedGame },
      },
    },
    async (request, reply) => {
      reply.code(201).header('cache-control', 'no-store')
      const { playerId } = callerOf(request)
      return members.describeOne(playerId, await app.games.create(playerId, request.body))
    },
  )

  app.get(
    '/api/games',
    {
      config: reads,
      constraints,
      schema: {
        summary: 'Your games, newest first',
        tags: ['games'],
        querystring: MyGamesQuery,
        response: { 200: GameList },
      },
    },
    async (request) => {
      const { deleted, ...query } = request.query
      const { playerId } = callerOf(request)
      const { games, nextCursor } = await app.games.list(playerId, query, { deleted })
      return { games: await members.describe(playerId, games), nextCursor }
    },
  )

  app.get(
    '/api/games/:id',
    {
      config: reads,
      constraints,
      schema: { summary: 'One of your games', tags: ['games'], params: GameParams, response: { 200: MemberGame } },
    },
    async (request) => describe(request, await app.games.mustMake(callerOf(request).playerId, request.params.id)),
  )

  app.patch(
    '/api/games/:id',
    {
      config: writes,
      constraints,
      onRequest: made,
      bodyLimit: bodyWithText(DESCRIPTION_LENGTH),
      schema: {
        summary: 'Change a game; a new url moves the redirect URI of its sign-in',
        tags: ['games'],
        params: GameParams,
        body: GameChanges,
        response: { 200: MemberGame },
      },
    },
    async (request) =>
      describe(request, await app.games.update(callerOf(request).playerId, request.params.id, request.body)),
  )

  app.delete(
    '/api/games/:id',
    {
      config: writes,
      constraints,
      onRequest: async (request) => {
        await app.games.mustOwnEvenDeleted(callerOf(request).playerId, (request.params as { id: string }).id)
      },
      schema: {
        summary: 'Delete a game; it can be restored for 30 days, unless it is deleted for good',
        tags: ['games'],
        params: GameParams,
        querystring: DeletionQuery,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await app.games.remove(callerOf(request).playerId, request.params.id, request.query)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/api/games/:id/restore',
    {
      config: writes,
      constraints,
      onRequest: async (request) => {
        const { id } = request.params as { id: string }
        await app.games.deletion.mustBeRestorable(callerOf(request).playerId, id)
      },
      schema: {
        summary: 'Restore a deleted game, within 30 days',
        tags: ['games'],
        params: GameParams,
        response: { 200: MemberGame },
      },
    },
    async (request) =>
      describe(request, await app.games.deletion.restore(callerOf(request).playerId, request.params.id)),
  )

  app.post(
    '/api/games/:id/secret',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Give the OAuth application of a game a new secret',
        tags: ['games'],
        params: GameParams,
        querystring: Type.Object({
          graceSeconds: Type.Integer({
            minimum: 0,
            maximum: 604_800,
            default: 0,
            description: 'How long the old secret still counts, up to a week.',
          }),
        }),
        response: { 200: GameOauth },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return app.games.rotateSecret(callerOf(request).playerId, request.params.id, request.query.graceSeconds)
    },
  )

  app.post(
    '/api/games/:id/appeal',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Answer the suspension of a game, once',
        tags: ['games'],
        params: GameParams,
        body: Appeal,
        response: { 200: MemberGame },
      },
    },
    async (request) => {
      const { id } = request.params
      return describe(request, await app.games.suspensions.appeal(callerOf(request).playerId, id, request.body.text))
    },
  )

  app.get(
    '/api/games/:id/analytics',
    {
      config: reads,
      constraints,
      onRequest: made,
      schema: {
        summary: 'The statistics of a game by day; the last 30 days by default',
        tags: ['games'],
        params: GameParams,
        querystring: AnalyticsQuery,
        response: { 200: Analytics },
      },
    },
    async (request) => app.games.analytics(callerOf(request).playerId, request.params.id, request.query),
  )

  app.get(
    '/api/catalog/games',
    {
      config: { auth: 'none' },
      constraints,
      schema: {
        summary: 'Public games',
        tags: ['games'],
        querystring: CatalogQuery,
        response: { 200: CatalogList },
      },
    },
    async (request) => {
      const { games, nextCursor } = await app.games.catalog.page(request.query)
      return { games: await members.describe(null, games), nextCursor }
    },
  )
}
