import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { renderPage } from '../../../core/pages/index.ts'
import { BOARD_ID, PERIODS } from '../schemas.ts'
import { boardPage } from './owner-board.ts'
import { boardsPage } from './owner-boards.ts'
import { BoardForm, inputOf } from './owner-form.ts'

const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const Params = Type.Object({ ...Slug.properties, board: Type.String({ maxLength: 100 }) })
const Query = Type.Object({
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
  period: Type.Union(
    PERIODS.map((period) => Type.Literal(period)),
    { default: 'current' },
  ),
  done: Type.Optional(Type.String({ maxLength: 20 })),
})
const Step = Type.Object({
  do: Type.Union(['remove', 'exclude', 'include', 'remove-board'].map((word) => Type.Literal(word))),
  player: Type.Optional(Type.String({ maxLength: 30 })),
  exclude: Type.Optional(Type.Literal('on')),
})

const PER_PAGE = 25
const CHART_DAYS = 30

const DONE: Record<string, string> = {
  saved: 'The board was saved.',
  remove: 'The score was removed.',
  exclude: 'The player is kept off the board.',
  include: 'The player may be on the board again.',
  'remove-board': 'The board was removed with its scores.',
}

/** The owner's boards, on the dashboard of a game. */
export const ownerPages: Routes = async (app) => {
  const own = {
    config: { auth: 'session', page: true },
    constraints: { origin: 'portal' },
    onRequest: async (request: FastifyRequest) => {
      await gameOf(request)
    },
  } as const
  const { boards, lists, moderation } = app.scores
  const gameOf = (request: FastifyRequest) =>
    app.games.mustMake(callerOf(request).playerId, (request.params as { slug: string }).slug)
  const pathOf = ({ slug }: { slug: string }) => `/games/${slug}/scores`

  const Done = Type.Object({ done: Query.properties.done })
  app.get('/games/:slug/scores', { ...own, schema: { params: Slug, querystring: Done } }, async (request, reply) => {
    const game = await gameOf(request)
    const found = await boards.list(game.id)
    const totals = await lists.totals(found)
    const { done } = request.query
    return renderPage(reply, {
      title: `Scores of ${game.title}`,
      user: callerOf(request).viewer,
      flash: done && DONE[done] ? { message: DONE[done] } : null,
      body: boardsPage(
        app,
        game,
        found.map((board) => ({ board, total: totals.get(board.key) ?? 0 })),
      ),
    })
  })

  app.post('/games/:slug/scores', { ...own, schema: { params: Slug, body: BoardForm } }, async (request, reply) => {
    const game = await gameOf(request)
    const id = request.body.id?.trim() || freeId(request.body.title, await boards.list(game.id))
    await boards.put(game.id, id, inputOf(request.body), { create: true })
    return reply.redirect(`${pathOf(game)}/${id}?done=saved`, 303)
  })

  app.get(
    '/games/:slug/scores/:board',
    { ...own, schema: { params: Params, querystring: Query } },
    async (request, reply) => {
      const game = await gameOf(request)
      const board = await boards.get(game.id, request.params.board)
      const { cursor, period, done } = request.query
      const [list, excluded, days, hasScores, warning] = await Promise.all([
        lists.page(board, { limit: PER_PAGE, cursor, period, playerId: null }),
        moderation.excluded(board),
        app.scores.submissionsByDay(board, CHART_DAYS),
        boards.hasScores(board),
        app.scores.warningOf(game, board),
      ])
      const isFirst = cursor === undefined
      return renderPage(reply, {
        title: `Scores of ${board.fields.title} · ${game.title}`,
        user: callerOf(request).viewer,
        flash: done && DONE[done] ? { message: DONE[done] } : null,
        scripts: ['analytics.js'],
        body: boardPage(app, game, { board, list, excluded, days, period, isFirst, hasScores, warning }),
      })
    },
  )

  app.post(
    '/games/:slug/scores/:board',
    { ...own, schema: { params: Params, body: BoardForm } },
    async (request, reply) => {
      const game = await gameOf(request)
      const board = await boards.get(game.id, request.params.board)
      await boards.put(game.id, board.id, inputOf(request.body))
      return reply.redirect(`${pathOf(game)}/${board.id}?done=saved`, 303)
    },
  )

  app.post(
    '/games/:slug/scores/:board/change',
    { ...own, schema: { params: Params, body: Step } },
    async (request, reply) => {
      const game = await gameOf(request)
      const board = await boards.get(game.id, request.params.board)
      const { player = '', exclude } = request.body
      const step: string = exclude ? 'exclude' : request.body.do
      if (step === 'remove-board') {
        await boards.remove(game.id, board.id)
        return reply.redirect(`${pathOf(game)}?done=${step}`, 303)
      }
      if (step === 'remove') await moderation.remove(board, player)
      else if (step === 'exclude') await moderation.exclude(board, player)
      else await moderation.include(board, player)
      return reply.redirect(`${pathOf(game)}/${board.id}?done=${step}`, 303)
    },
  )
}

/** Returns an id from the title, with a number when a board has it already. */
function freeId(title: string, boards: readonly { id: string }[]): string {
  const words = title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    // A number may follow; an id has at most 40 characters.
    .slice(0, 36)
  const base = new RegExp(BOARD_ID).test(words) ? words : 'board'
  const taken = new Set(boards.map(({ id }) => id))
  let id = base
  for (let number = 2; taken.has(id); number++) id = `${base}-${number}`
  return id
}
