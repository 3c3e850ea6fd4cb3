import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf, TOKENS_AND_SESSION } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { Domain, DomainChanges, DomainList, NewDomain } from './schemas.ts'

const constraints = { origin: 'portal' } as const
const accepts = TOKENS_AND_SESSION
const reads = { auth: { scope: 'games:read', accepts } } as const
const writes = { auth: { scope: 'games:write', accepts } } as const

const GameParams = Type.Object({ id: Type.String({ maxLength: 63, description: "The game's id or slug." }) })
const DomainParams = Type.Object({
  ...GameParams.properties,
  name: Type.String({ maxLength: 300, description: 'The domain, such as play.example.com.' }),
})

/** The API of domains of a player's own games. */
export const routes: Routes = async (app) => {
  const owned = async (request: FastifyRequest) => {
    await app.games.mustMake(callerOf(request).playerId, (request.params as { id: string }).id)
  }
  const tags = ['games']

  app.get(
    '/api/games/:id/domains',
    {
      config: reads,
      constraints,
      schema: { summary: 'The domains of a game', tags, params: GameParams, response: { 200: DomainList } },
    },
    async (request) => ({
      domains: await app.domains.list(callerOf(request).playerId, request.params.id),
      nextCursor: null, // a game has only a few
    }),
  )

  app.post(
    '/api/games/:id/domains',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Ask for a domain; the answer has the DNS records that it needs',
        tags,
        params: GameParams,
        body: NewDomain,
        response: { 201: Domain },
      },
    },
    async (request, reply) => {
      reply.code(201)
      return app.domains.add(callerOf(request).playerId, request.params.id, request.body.name)
    },
  )

  app.post(
    '/api/games/:id/domains/:name/verify',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Check the DNS now; if the record is there, the domain works at once',
        tags,
        params: DomainParams,
        response: { 200: Domain },
      },
    },
    async (request) => app.domains.verify(callerOf(request).playerId, request.params.id, request.params.name),
  )

  app.patch(
    '/api/games/:id/domains/:name',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Choose a domain as the main address, to which all others redirect, or undo that',
        tags,
        params: DomainParams,
        body: DomainChanges,
        response: { 200: Domain },
      },
    },
    async (request) => {
      const { id, name } = request.params
      return app.domains.setPrimary(callerOf(request).playerId, id, name, request.body.primary)
    },
  )

  app.delete(
    '/api/games/:id/domains/:name',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: { summary: 'Give a domain up', tags, params: DomainParams, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      await app.domains.remove(callerOf(request).playerId, request.params.id, request.params.name)
      return reply.code(204).send(null)
    },
  )
}
