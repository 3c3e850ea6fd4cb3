import Type, { type Static } from 'typebox'
import { TtlCache } from '../../core/data/ttl-cache.ts'
import { Unauthorized } from '../../core/errors.ts'
import { callerOf } from '../../core/http/auth.ts'
import { PageQuery } from '../../core/http/pagination.ts'
import type { Routes } from '../../core/http/routes.ts'
import { CreatedToken, CreateTokenBody, TokenList, Whoami } from './schemas.ts'

const constraints = { origin: 'portal' }
const tags = ['Tokens']

/** The response of whoami: the token's owner and label. */
type Bearer = Static<typeof Whoami>

export const routes: Routes = async (app) => {
  // Programs call this route first and often, so the response is cached.
  const bearers = new TtlCache<Bearer>(app.clock)
  app.events.on('token.revoked', ({ tokenId }) => bearers.drop(tokenId))
  app.events.on('player.changed', ({ playerId }) => bearers.dropWhere(({ user }) => user.id === playerId))

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
      schema: { tags, summary: 'Create an API token', body: CreateTokenBody, response: { 201: CreatedToken } },
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
      // Ownership is checked before the body is read. Another player's token counts as not found.
      onRequest: async (request) => {
        await app.tokens.mustOwn(callerOf(request).playerId, (request.params as { id: string }).id)
      },
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
      compress: false, // at most one kilobyte
      schema: { tags, summary: 'The owner of this token', response: { 200: Whoami } },
    },
    async (request, reply) => {
      const { playerId, credentialId } = callerOf(request)
      reply.header('cache-control', 'no-store')
      const known = await bearers.get(credentialId, async () => {
        const [player, { label: tokenLabel }] = await Promise.all([
          app.identity.players.find(playerId),
          app.tokens.mustOwn(playerId, credentialId),
        ])
        if (!player) return null
        const { id, name, email } = player
        return { user: { id, name, ...(email ? { email } : {}) }, tokenLabel }
      })
      if (!known) throw new Unauthorized('The account of this token is gone.')
      return known
    },
  )

  app.delete(
    '/api/cli/tokens',
    {
      config: { auth: 'any-token' },
      constraints,
      schema: { tags, summary: 'Revoke the token of this request', response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      const { playerId, credentialId } = callerOf(request)
      await app.tokens.revoke(playerId, credentialId)
      return reply.code(204).send(null)
    },
  )
}
