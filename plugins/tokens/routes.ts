import Type from 'typebox'
import { callerOf } from '../../core/auth.ts'
import { Unauthorized } from '../../core/errors.ts'
import { PageQuery } from '../../core/pagination.ts'
import type { Routes } from '../../core/routes.ts'
import { CreatedToken, CreateTokenBody, TokenList, Whoami } from './schemas.ts'

const constraints = { origin: 'portal' }
const tags = ['Tokens']

export const routes: Routes = async (app) => {
  app.get(
    '/api/tokens',
    {
      config: { auth: 'session' },
      constraints,
      schema: { tags, summary: 'Your API and CLI tokens', querystring: PageQuery, response: { 200: TokenList } },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return app.tokens.list(callerOf(request).playerId, request.query)
    },
  )

  app.post(
    '/api/tokens',
    {
      config: { auth: 'session' },
      constraints,
      schema: { tags, summary: 'Make an API token', body: CreateTokenBody, response: { 201: CreatedToken } },
    },
    async (request, reply) => {
      reply.code(201).header('cache-control', 'no-store')
      return app.tokens.create({ ...request.body, playerId: callerOf(request).playerId })
    },
  )

  app.delete(
    '/api/tokens/:id',
    {
      config: { auth: 'session' },
      constraints,
      schema: {
        tags,
        summary: 'Revoke a token',
        params: Type.Object({ id: Type.String() }),
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await app.tokens.revoke(callerOf(request).playerId, request.params.id)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/api/cli/whoami',
    {
      config: { auth: 'any-token' },
      constraints,
      schema: { tags, summary: 'Whose token this is', response: { 200: Whoami } },
    },
    async (request, reply) => {
      const { playerId, credentialId } = callerOf(request)
      const [player, token] = await Promise.all([app.identity.players.find(playerId), app.tokens.find(credentialId)])
      if (!player) throw new Unauthorized('The account of this token is gone.')
      reply.header('cache-control', 'no-store')
      return { user: { id: player.id, name: player.name, email: player.email }, tokenLabel: token.label }
    },
  )

  app.delete(
    '/api/cli/tokens',
    {
      config: { auth: 'any-token' },
      constraints,
      schema: { tags, summary: 'Revoke the token of this very request', response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      const { playerId, credentialId } = callerOf(request)
      await app.tokens.revoke(playerId, credentialId)
      return reply.code(204).send(null)
    },
  )
}
