import type { FastifyInstance } from 'fastify'
import { boardsOnGamePage } from './pages/public.ts'

const SCORES_EXAMPLE = `import { board } from '/__service/scores.js'

const place = await board('points').submit(1200).catch(() => null) // nobody is signed in
const { entries } = await board('points').top(10)
console.log(place?.rank, entries.map(({ rank, player, score }) => [rank, player.name, score]))`

/** Adds the boards to the page of a game, and to its dashboard with integrations and figures. */
export function contributeToGames(app: FastifyInstance): void {
  app.games.pageSections.push((game, playerId) => boardsOnGamePage(app, game, playerId))
  app.games.dashboard.tabs.push({ label: 'Scores', order: 45, href: (game) => `/games/${game.slug}/scores` })
  app.games.dashboard.integrations.push({
    title: 'Scores',
    order: 20,
    guide: 'scores',
    description: 'Leaderboards. Make the board first, under Scores. A player who is not signed in cannot submit.',
    code: SCORES_EXAMPLE,
    prompt:
      "import { board } from '/__service/scores.js'; await board('points').submit(1200) rejects with the code unauthorized for players who are not signed in; (await board('points').top(10)).entries have rank, player.name and score. The owner makes the board: gameyard games boards set points --title \"Points\".",
  })
  app.games.dashboard.gameStats.push({
    label: 'scores submitted',
    order: 20,
    value: (game, from) => app.scores.submissionsSince(game.id, from),
  })
}
