import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf, TOKENS_AND_SESSION } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { GameParams } from '../schemas.ts'
import {
  FoundPlayers,
  Invitation,
  InvitationList,
  InvitationParams,
  InvitationsQuery,
  MemberChanges,
  MemberList,
  MemberParams,
  NewInvitation,
  PlayersQuery,
} from './schemas.ts'

const constraints = { origin: 'portal' } as const
const tags = ['games']
const reads = { auth: { scope: 'games:read', accepts: TOKENS_AND_SESSION } } as const
const writes = { auth: { scope: 'games:write', accepts: TOKENS_AND_SESSION } } as const

/** The members of a game, and invitations to become one. */
export const memberRoutes: Routes = async (app) => {
  const { members, memberInvitations: invitations } = app.games
  /** The caller is checked before the body is read. Another player's game counts as not found. */
  const owned = async (request: FastifyRequest) => {
    await app.games.mustOwn(callerOf(request).playerId, (request.params as { id: string }).id)
  }

  app.get(
    '/api/games/:id/members',
    {
      config: reads,
      constraints,
      schema: { summary: 'Who makes and tests a game', tags, params: GameParams, response: { 200: MemberList } },
    },
    async (request) => ({ members: await members.list(callerOf(request).playerId, request.params.id) }),
  )

  app.patch(
    '/api/games/:id/members/:playerId',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Change the role of a member',
        tags,
        params: MemberParams,
        body: MemberChanges,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id, playerId } = request.params
      await members.change(callerOf(request).playerId, id, playerId, request.body.role)
      return reply.code(204).send(null)
    },
  )

  app.delete(
    '/api/games/:id/members/:playerId',
    {
      config: writes,
      constraints,
      // Everybody in the team may leave it.
      onRequest: async (request) => {
        await app.games.mustTest(callerOf(request).playerId, (request.params as { id: string }).id)
      },
      schema: {
        summary: 'Remove a member, or leave a game',
        tags,
        params: MemberParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await members.remove(callerOf(request).playerId, request.params.id, request.params.playerId)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/api/games/:id/invitations',
    {
      config: reads,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'The invitations to a game that can still be accepted, newest first',
        tags,
        params: GameParams,
        querystring: InvitationsQuery,
        response: { 200: InvitationList },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return invitations.list(callerOf(request).playerId, request.params.id, request.query)
    },
  )

  app.get(
    '/api/games/:id/invitations/players',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Players to invite, by the beginning of their name; at most 10',
        tags,
        params: GameParams,
        querystring: PlayersQuery,
        response: { 200: FoundPlayers },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { playerId } = callerOf(request)
      return { players: await invitations.findPlayers(playerId, request.params.id, request.query.name) }
    },
  )

  app.post(
    '/api/games/:id/invitations',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Invite to a game: one player, or everybody who has the link; for 14 days',
        tags,
        params: GameParams,
        body: NewInvitation,
        response: { 201: Invitation },
      },
    },
    async (request, reply) => {
      reply.code(201).header('cache-control', 'no-store')
      return invitations.create(callerOf(request).playerId, request.params.id, request.body)
    },
  )

  app.delete(
    '/api/games/:id/invitations/:invitationId',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Take back an invitation; players who accepted it stay',
        tags,
        params: InvitationParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await invitations.revoke(callerOf(request).playerId, request.params.id, request.params.invitationId)
      return reply.code(204).send(null)
    },
  )
}
