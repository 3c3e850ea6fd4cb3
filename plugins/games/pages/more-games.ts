import type { FastifyInstance } from 'fastify'
import { type Content, Grid, html, Section } from '../../../core/pages/index.ts'
import type { Game } from '../schemas.ts'
import { type CardFacts, cardFacts, gameCard, onlyTeams } from './card.ts'

/** The number of games of each kind. */
const MOST = 4

/** The number of tags of a game of which other games are looked for. */
const MOST_TAGS = 3

/**
 * Renders other games below a game, for players who look for the next one: of the same maker, and with the first of its
 * tags that others have. A game stands there once.
 *
 * @param maker the name of the maker
 */
export async function moreGames(app: Pick<FastifyInstance, 'games'>, game: Game, maker: string): Promise<Content> {
  const own = await app.games.catalog.ofMaker(game.ownerId, { limit: MOST + 1 })
  const byMaker = own.shown.filter(({ id }) => id !== game.id).slice(0, MOST)
  const alike = await withSameTag(app, game, new Set([game.id, ...byMaker.map(({ id }) => id)]))
  const facts = await cardFacts(app, [...byMaker, ...(alike?.games ?? [])])
  return html`${section(`More by ${maker}`, byMaker, onlyTeams(facts))}${alike && section(`More with ${alike.tag}`, alike.games, facts)}`
}

const section = (title: string, games: Game[], facts: CardFacts): Content =>
  games.length > 0 && html`<${Section} title=${title}><${Grid}>${games.map((game) => gameCard(game, facts))}<//><//>`

/** Returns the most played games with a tag of the game, without those that are shown already. */
async function withSameTag(
  { games: { catalog } }: Pick<FastifyInstance, 'games'>,
  { tags }: Game,
  shown: ReadonlySet<string>,
): Promise<{ tag: string; games: Game[] } | null> {
  for (const tag of tags.slice(0, MOST_TAGS)) {
    const { games } = await catalog.page({ tag, sort: 'popular', limit: MOST + shown.size }, { ready: true })
    const others = games.filter(({ id }) => !shown.has(id)).slice(0, MOST)
    if (others.length > 0) return { tag, games: others }
  }
  return null
}
