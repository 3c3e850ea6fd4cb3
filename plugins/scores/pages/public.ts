import type { FastifyInstance } from 'fastify'
import Type from 'typebox'
import type { Routes } from '../../../core/http/routes.ts'
import {
  Card,
  type Content,
  EmptyState,
  html,
  PageHeader,
  Pagination,
  renderPage,
  Stack,
} from '../../../core/pages/index.ts'
import type { Game } from '../../games/index.ts'
import { visibleGame } from '../game-access.ts'
import { PERIODS } from '../schemas.ts'
import { boardCard, periodChoice, periodName, ranking, summary } from './ranking.ts'

const Params = Type.Object({ slug: Type.String({ maxLength: 63 }), board: Type.String({ maxLength: 100 }) })
const Query = Type.Object({
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
  period: Type.Union(
    PERIODS.map((period) => Type.Literal(period)),
    { default: 'current' },
  ),
})

const PER_PAGE = 50
const ON_GAME_PAGE = 8
const BOARDS_ON_GAME_PAGE = 3

export const boardPath = (game: Pick<Game, 'slug'>, id: string): string => `/games/${game.slug}/boards/${id}`

/** The page of one board, for everybody who sees the game. */
export const publicPages: Routes = async (app) => {
  app.get(
    '/games/:slug/boards/:board',
    {
      config: { auth: 'optional', page: true },
      constraints: { origin: 'portal' },
      schema: { params: Params, querystring: Query },
    },
    async (request, reply) => {
      const viewer = request.principal?.viewer
      const playerId = viewer?.id ?? null
      const game = await visibleGame(app, playerId, request.params.slug)
      const board = await app.scores.boards.get(game.id, request.params.board)
      const { cursor } = request.query
      const period = request.query.period as (typeof PERIODS)[number]
      const list = await app.scores.lists.page(board, { limit: PER_PAGE, cursor, period, playerId })
      const path = boardPath(game, board.id)
      const named = periodName(list.board, period)
      const query = period === 'current' ? '?' : `?period=${period}&`
      return renderPage(reply, {
        title: `${board.fields.title} · ${game.title}`,
        current: '/catalog',
        user: viewer,
        body: html`
          <${PageHeader} title=${board.fields.title} crumbs=${[{ label: game.title, href: `/games/${game.slug}` }]}
            lede=${summary(list, period)} chips=${named && html`<span class="chip info">${named}</span>`} />
          <${Stack}>
            ${periodChoice(list.board, path, period)}
            <${Card}>${
              list.entries.length > 0
                ? html`<div class="board">${ranking(list, { podium: cursor === undefined })}</div>`
                : html`<${EmptyState} title="Nobody is on this board"><p>${period === 'current' ? 'Play the game: the first place is free.' : 'There were no scores in this period.'}</p><//>`
            }<//>
            <${Pagination} label=${board.fields.title} next=${list.nextCursor && `${path}${query}cursor=${list.nextCursor}`} first=${cursor ? `${path}${query}`.slice(0, -1) : null} />
          <//>`,
      })
    },
  )
}

/**
 * Renders the first board of each game that has one, with the title of the game; nothing when none has.
 *
 * @param most of so many games, the first ones
 */
export async function boardsOfGames(
  { scores }: Pick<FastifyInstance, 'scores'>,
  games: readonly { gameId: string; slug: string; title: string }[],
  { playerId, most }: { playerId: string | null; most: number },
): Promise<Content> {
  const cards: Content[] = []
  const boards = await scores.boards.firstOf(games.map(({ gameId }) => gameId))
  for (const { gameId, slug, title } of games) {
    const board = boards.get(gameId)
    if (!board) continue
    const list = await scores.lists.page(board, { limit: ON_GAME_PAGE, period: 'current', playerId })
    const named = { ...list, board: { ...list.board, title: `${title}: ${list.board.title}` } }
    if (cards.push(boardCard(named, boardPath({ slug }, board.id))) === most) break
  }
  return cards.length > 0 && html`<div class="boards">${cards}</div>`
}

/** Renders the first boards of a game for its page; nothing for a game without boards. */
export async function boardsOnGamePage(
  { scores }: Pick<FastifyInstance, 'scores'>,
  game: Game,
  playerId: string | null,
): Promise<Content> {
  const boards = (await scores.boards.list(game.id)).slice(0, BOARDS_ON_GAME_PAGE)
  if (boards.length === 0) return null
  const lists = await Promise.all(
    boards.map((board) => scores.lists.page(board, { limit: ON_GAME_PAGE, period: 'current', playerId })),
  )
  return html`<div class="boards">${lists.map((list) => boardCard(list, boardPath(game, list.board.id)))}</div>`
}
