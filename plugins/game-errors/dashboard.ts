import type { FastifyInstance } from 'fastify'

/** The tag by which a page reports its errors. */
export const ERRORS_TAG = '<script src="/__service/errors.js"></script>'

/** Adds the errors to the dashboard of a game. */
export function contributeToGames(app: FastifyInstance): void {
  const { dashboard, deletion } = app.games
  deletion.cleanups.push((em, gameId) => app.gameErrors.ofGame(em, gameId))
  dashboard.tabs.push({ label: 'Errors', order: 48, href: (game) => `/games/${game.slug}/errors` })
  dashboard.integrations.push({
    title: 'Errors',
    order: 60,
    guide: 'errors',
    description: 'Exceptions in the browsers of players, under Errors. The script comes before those of the game.',
    code: ERRORS_TAG,
    prompt: `${ERRORS_TAG}, first in the head of each page, reports exceptions and unhandled rejections of players to the makers of the game. reportError(error) reports one that the game has caught.`,
  })
}
