import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf, TOKENS_AND_SESSION } from '../../core/http/auth.ts'
import type { Routes } from '../../core/http/routes.ts'
import { visibleGame } from './game-access.ts'
import { toBoard } from './record.ts'
import {
  Board,
  BoardInput,
  BoardList,
  BoardParams,
  EntryParams,
  Excluded,
  GameParams,
  NewBoardParams,
  PutBoard,
  ScoreList,
  ScoresQuery,
} from './schemas.ts'

const constraints = { origin: 'portal' } as const
const accepts = TOKENS_AND_SESSION
const reads = { auth: { scope: 'games:read', accepts } } as const
const writes = { auth: { scope: 'games:write', accepts } } as const
const tags = ['scores']

/** The API of boards on the portal: for the owner of a game, and the public list. */
export const routes: Routes = async (app) => {
  const { boards, lists, moderation } = app.scores

  /** Ownership is checked before the body is read. Another player's game counts as not found. */
  const owned = async (request: FastifyRequest) => {
    await app.games.mustMake(callerOf(request).playerId, (request.params as { id: string }).id)
  }
  const ownBoard = async (request: FastifyRequest, { id, boardId }: { id: string; boardId: string }) => {
    const game = await app.games.mustMake(callerOf(request).playerId, id)
    return boards.get(game.id, boardId)
  }

  app.get(
    '/api/games/:id/boards',
    {
      config: reads,
      constraints,
      schema: { summary: 'The boards of a game', tags, params: GameParams, response: { 200: BoardList } },
    },
    async (request) => {
      const { id } = await app.games.mustMake(callerOf(request).playerId, request.params.id)
      return { boards: (await boards.list(id)).map(toBoard) }
    },
  )

  app.get(
    '/api/games/:id/boards/:boardId',
    {
      config: reads,
      constraints,
      schema: { summary: 'A board of a game', tags, params: BoardParams, response: { 200: Board } },
    },
    async (request) => toBoard(await ownBoard(request, request.params)),
  )

  app.put(
    '/api/games/:id/boards/:boardId',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Create a board, or change it',
        description:
          'Fields that are not given keep their value; a new board has the defaults: the highest score of each player counts, for ever. Once a board has scores, `order`, `decimals`, `keep` and `reset` are fixed.',
        tags,
        params: NewBoardParams,
        body: BoardInput,
        response: { 200: PutBoard, 201: PutBoard },
      },
    },
    async (request, reply) => {
      const game = await app.games.mustMake(callerOf(request).playerId, request.params.id)
      const { board, created } = await boards.put(game.id, request.params.boardId, request.body)
      const warning = await app.scores.warningOf(game, board)
      return reply.code(created ? 201 : 200).send(Object.assign(toBoard(board), { warning }))
    },
  )

  app.delete(
    '/api/games/:id/boards/:boardId',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Remove a board with all of its scores',
        tags,
        params: BoardParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id } = await app.games.mustMake(callerOf(request).playerId, request.params.id)
      await boards.remove(id, request.params.boardId)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/api/games/:id/boards/:boardId/scores',
    {
      config: { auth: 'optional' },
      constraints,
      schema: {
        summary: 'The scores of a board, the best first',
        description: 'Public, like the game. With a session or a token `me` is your own entry.',
        tags,
        params: BoardParams,
        querystring: ScoresQuery,
        response: { 200: ScoreList },
      },
    },
    async (request, reply) => {
      const playerId = request.principal?.playerId ?? null
      const game = await visibleGame(app, playerId, request.params.id)
      reply.headers({ 'cache-control': 'no-store', vary: 'Cookie, Authorization' })
      return lists.page(await boards.get(game.id, request.params.boardId), { ...request.query, playerId })
    },
  )

  app.delete(
    '/api/games/:id/boards/:boardId/scores/:playerId',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: "Remove a player's scores from a board, in every period",
        tags,
        params: EntryParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await moderation.remove(await ownBoard(request, request.params), request.params.playerId)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/api/games/:id/boards/:boardId/excluded',
    {
      config: reads,
      constraints,
      schema: {
        summary: 'The players whom you keep off a board',
        tags,
        params: BoardParams,
        response: { 200: Excluded },
      },
    },
    async (request) => ({ players: await moderation.excluded(await ownBoard(request, request.params)) }),
  )

  app.put(
    '/api/games/:id/boards/:boardId/excluded/:playerId',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Keep a player off a board, and remove their scores from it',
        tags,
        params: EntryParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await moderation.exclude(await ownBoard(request, request.params), request.params.playerId)
      return reply.code(204).send(null)
    },
  )

  app.delete(
    '/api/games/:id/boards/:boardId/excluded/:playerId',
    {
      config: writes,
      constraints,
      onRequest: owned,
      schema: {
        summary: 'Let a player onto a board again',
        tags,
        params: EntryParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await moderation.include(await ownBoard(request, request.params), request.params.playerId)
      return reply.code(204).send(null)
    },
  )
}
