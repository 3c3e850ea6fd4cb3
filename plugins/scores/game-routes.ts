import Type from 'typebox'
import type { Routes } from '../../core/http/routes.ts'
import { MORE_TO_PLAYER, OF_PLAYER, refuseServiceWorker, serveScript } from '../game-edge/index.ts'
import { gameHere, writerHere } from './game-access.ts'
import { GameScoresQuery, NewScore, ScoreList, SubmittedScore } from './schemas.ts'

const constraints = { origin: 'game' } as const
const Params = Type.Object({ board: Type.String({ maxLength: 100, description: "The board's id." }) })

/** The largest body of a submission, in bytes: the detail, and space for escapes in it. */
const BODY_BYTES = 8192

/** Scores on each game's own origin, `/__service/scores/…`, and the script for them. */
export const gameRoutes: Routes = async (app) => {
  app.addHook('onRequest', refuseServiceWorker)

  app.post(
    '/__service/scores/:board',
    {
      config: { auth: 'none' },
      constraints,
      bodyLimit: BODY_BYTES,
      schema: {
        summary: 'Submit a score of the player who is signed in to the game',
        security: OF_PLAYER,
        description: 'Only for pages of the game itself. 10 a minute for each player and board.',
        tags: ['scores'],
        params: Params,
        body: NewScore,
        response: { 200: SubmittedScore },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { game, playerId } = await writerHere(app, request)
      const { board: boardId } = request.params
      return app.scores.submit({ gameId: game.id, boardId, playerId, ...request.body, writer: 'players' })
    },
  )

  app.get(
    '/__service/scores/:board',
    {
      config: { auth: 'none' },
      constraints,
      schema: {
        summary: 'The scores of a board, the best first',
        security: MORE_TO_PLAYER,
        tags: ['scores'],
        params: Params,
        querystring: GameScoresQuery,
        response: { 200: ScoreList },
      },
    },
    async (request, reply) => {
      reply.headers({ 'cache-control': 'no-store', vary: 'Cookie, Authorization' })
      const { game, playerId } = await gameHere(app, request)
      const { around, ...query } = request.query
      const board = await app.scores.boards.get(game.id, request.params.board)
      return app.scores.lists.page(board, { ...query, playerId, around: around === 'me' })
    },
  )

  serveScript(app, 'scores.js')
}
