import Type from 'typebox'
import { NotFound } from '../../core/errors.ts'
import { actorOf, callerOf, TOKENS_AND_SESSION } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { GameChoice, Jam, JamAnswer, JamChanges, NewJam, Results, Votes } from './schemas.ts'

const constraints = { origin: 'portal' } as const
const accepts = TOKENS_AND_SESSION
const submits = { auth: { scope: 'games:write', accepts } } as const
const player = { auth: 'session' } as const
const organiser = { auth: 'session', role: 'admin' } as const
const tags = ['jam']

const GameParams = Type.Object({ gameId: Type.String({ maxLength: 63, description: 'Id or slug of the game.' }) })
const CategoryParams = Type.Object({ categoryId: Type.String({ maxLength: 40 }) })

export const routes: Routes = async (app) => {
  app.get(
    '/api/jam',
    {
      config: { auth: 'optional' },
      constraints,
      schema: {
        summary: 'The jam: its games, and, with a browser session, your votes',
        tags,
        response: { 200: JamAnswer },
      },
    },
    async (request) => {
      const jam = await app.jams.current()
      if (!jam) throw new NotFound('jam')
      const voterId = request.principal?.kind === 'session' ? request.principal.playerId : null
      const [entries, voters, votes] = await Promise.all([
        app.jams.entries(jam.id),
        app.jams.voters(jam.id),
        voterId === null ? null : app.jams.votesOf(voterId, jam.id),
      ])
      const shown = entries.map(({ makerIds: _, people: __, ...entry }) => entry)
      return { ...jam, entries: shown, voters, ...(votes ? { votes } : {}) }
    },
  )

  app.post(
    '/api/jam',
    {
      config: organiser,
      constraints,
      schema: {
        summary: 'Begin a jam, in place of the last one (administrators)',
        tags,
        body: NewJam,
        response: { 201: Jam },
      },
    },
    async (request, reply) => {
      reply.code(201)
      return app.jams.create(request.body, actorOf(request))
    },
  )

  app.patch(
    '/api/jam',
    {
      config: organiser,
      constraints,
      schema: {
        summary: 'Open and close submissions and voting, reveal results (administrators)',
        tags,
        body: JamChanges,
        response: { 200: Jam },
      },
    },
    async (request) => app.jams.change(request.body, actorOf(request)),
  )

  app.post(
    '/api/jam/entries',
    {
      config: submits,
      constraints,
      schema: { summary: 'Submit a game of yours', tags, body: GameChoice, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      await app.jams.submit(callerOf(request).playerId, request.body.gameId)
      return reply.code(204).send(null)
    },
  )

  app.delete(
    '/api/jam/entries/:gameId',
    {
      config: submits,
      constraints,
      schema: {
        summary: 'Withdraw a game of yours; an administrator any game',
        tags,
        params: GameParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      await app.jams.withdraw(playerId, request.params.gameId, { organiser: viewer?.isAdmin === true })
      return reply.code(204).send(null)
    },
  )

  app.put(
    '/api/jam/votes/:categoryId',
    {
      config: player,
      constraints,
      schema: {
        summary: 'Vote for a game in a category, in place of your last vote there',
        tags,
        params: CategoryParams,
        body: GameChoice,
        response: { 200: Votes },
      },
    },
    async (request) => {
      const { playerId } = callerOf(request)
      return voted(playerId, { [request.params.categoryId]: request.body.gameId })
    },
  )

  app.delete(
    '/api/jam/votes/:categoryId',
    {
      config: player,
      constraints,
      schema: {
        summary: 'Take your vote in a category back',
        tags,
        params: CategoryParams,
        response: { 200: Votes },
      },
    },
    async (request) => voted(callerOf(request).playerId, { [request.params.categoryId]: null }),
  )

  app.get(
    '/api/jam/results',
    {
      config: { auth: 'none' },
      constraints,
      schema: { summary: 'The revealed part of the results', tags, response: { 200: Results } },
    },
    async (_request, reply) => {
      reply.header('cache-control', 'no-cache')
      return app.jams.results()
    },
  )

  async function voted(voterId: string, choices: Record<string, string | null>): Promise<Votes> {
    await app.jams.vote(voterId, choices)
    const jam = await app.jams.current()
    return jam ? app.jams.votesOf(voterId, jam.id) : {}
  }
}
