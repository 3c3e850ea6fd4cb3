import type { FastifyInstance } from 'fastify'
import { type Content, Grid, html, Section } from '../../../core/pages/index.ts'
import type { Game } from '../schemas.ts'
import { gameCard } from './card.ts'

/** The number of games of each kind. */
const MOST = 4

/**
 * Renders other games below a game, for players who look for the next one: of the same maker, and with the same first
 * tag. A game stands there once.
 *
 * @param maker the name of the maker
 */
export async function moreGames(app: Pick<FastifyInstance, 'games'>, game: Game, maker: string): Promise<Content> {
  const { catalog, playing } = app.games
  const [tag] = game.tags
  const [own, tagged, now] = await Promise.all([
    catalog.ofOwner(game.ownerId, { limit: MOST + 1 }),
    tag ? catalog.page({ tag, sort: 'popular', limit: 2 * MOST + 1 }, { ready: true }) : { games: [] },
    playing.now(),
  ])
  const byMaker = own.shown.filter(({ id }) => id !== game.id).slice(0, MOST)
  const shown = new Set([game.id, ...byMaker.map(({ id }) => id)])
  const alike = tagged.games.filter(({ id }) => !shown.has(id)).slice(0, MOST)
  const section = (title: string, games: Game[]) =>
    games.length > 0 && html`<${Section} title=${title}><${Grid}>${games.map((other) => gameCard(other, now))}<//><//>`
  return html`${section(`More by ${maker}`, byMaker)}${section(`More with ${tag}`, alike)}`
}
