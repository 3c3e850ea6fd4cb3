import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf, TOKENS_AND_SESSION } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { GameParams } from '../schemas.ts'
import { NewTransfer, Transfer } from './schemas.ts'

const constraints = { origin: 'portal' } as const
const tags = ['games']
const reads = { auth: { scope: 'games:read', accepts: TOKENS_AND_SESSION } } as const
const writes = { auth: { scope: 'games:write', accepts: TOKENS_AND_SESSION } } as const

/** The offer of a game to one of its makers. */
export const transferRoutes: Routes = async (app) => {
  const { transfers } = app.games
  const path = '/api/games/:id/transfer'
  /** The caller is checked before the body is read. Another player's game counts as not found. */
  const owned = async (request: FastifyRequest) => {
    await app.games.mustOwn(callerOf(request).playerId, (request.params as { id: string }).id)
  }
  const made = async (request: FastifyRequest) => {
    await app.games.mustMake(callerOf(request).playerId, (request.params as { id: string }).id)
  }

  app.get(
    path,
    {
      config: reads,
      constraints,
      schema: {
        summary: 'The offer of a game, for its owner and for the maker who can accept it',
        tags,
        params: GameParams,
        response: { 200: Transfer },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return transfers.find(callerOf(request).playerId, request.params.id)
    },
  )

  app.post(
    path,
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Offer a game to one of its makers, who can accept it within 7 days',
        description: 'A session must be of the last ten minutes.',
        tags,
        params: GameParams,
        body: NewTransfer,
        response: { 201: Transfer },
      },
    },
    async (request, reply) => {
      await app.identity.requireRecentSignIn(callerOf(request))
      reply.code(201)
      return transfers.offer(callerOf(request).playerId, request.params.id, request.body.playerId)
    },
  )

  app.delete(
    path,
    {
      config: writes,
      constraints,
      onRequest: made,
      schema: {
        summary: 'Take back the offer of a game, or decline it',
        tags,
        params: GameParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await transfers.end(callerOf(request).playerId, request.params.id)
      return reply.code(204).send(null)
    },
  )

  app.post(
    `${path}/accept`,
    {
      config: writes,
      constraints,
      onRequest: made,
      schema: {
        summary: 'Become the owner of a game that is offered to the caller',
        tags,
        params: GameParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await transfers.accept(callerOf(request).playerId, request.params.id)
      return reply.code(204).send(null)
    },
  )
}
