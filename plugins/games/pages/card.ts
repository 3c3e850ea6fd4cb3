import type { FastifyInstance } from 'fastify'
import { type Content, GameCard, html, type View } from '../../../core/pages/index.ts'
import { languageOf } from '../features/languages.ts'
import type { Credit, Credits } from '../members/members.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'

const compact = new Intl.NumberFormat('en', { notation: 'compact' })

/** What cards show beside the games themselves. */
export interface CardFacts {
  /** The number of players in rooms, by game. */
  playing: ReadonlyMap<string, number>
  credits: Credits
}

/** Loads the facts for all cards of a page at once. */
export async function cardFacts({ games }: Pick<FastifyInstance, 'games'>, shown: readonly Game[]): Promise<CardFacts> {
  const [playing, credits] = await Promise.all([games.playing.now(), games.members.creditsOf(shown)])
  return { playing, credits }
}

/** Leaves out makers who made a game alone, for lists whose heading names the maker. */
export const onlyTeams = ({ playing, credits }: CardFacts): CardFacts => ({
  playing,
  credits: new Map([...credits].filter(([, makers]) => makers.length > 1)),
})

/** Renders a game in a grid: its makers, its tags, whether touch suffices, its plays, and the number of current players. */
export const gameCard = (game: Game, facts: CardFacts): View =>
  html`<${GameCard} ...${cardOf(game, facts)} meta=${aboutGame(game)} />`

/** Returns the properties of a game's card, without the line about the game. */
export const cardOf = (game: Game, { playing, credits }: CardFacts) => ({
  game: { ...game, lang: languageOf(game) },
  href: pathOf(game),
  by: byline(credits.get(game.id) ?? []),
  playing: playing.get(game.id) ?? 0,
})

/** The number of names on a card. */
const MOST_NAMES = 3

/** Names the makers without links: `by A, B and 2 others`; null for nobody. */
export function byline(makers: readonly Credit[]): Content {
  if (makers.length === 0) return null
  const named = makers.length > MOST_NAMES ? MOST_NAMES - 1 : makers.length
  const names = makers.slice(0, named).map(({ name }) => html`<bdi>${name}</bdi>`)
  const others = makers.length - named
  return html`by ${inWords(others > 0 ? [...names, `${others} others`] : names)}`
}

/** Joins names: `A`, `A and B`, `A, B and C`. */
export const inWords = (names: readonly Content[]): Content =>
  names.map((name, at) => html`${at === 0 ? '' : at === names.length - 1 ? ' and ' : ', '}${name}`)

/** The number of words in the line under a title. */
const MOST_WORDS = 3

/** Returns the line under a title: `puzzle · touch · 1.2K plays`; null when it is empty. */
export function aboutGame({ tags, features, stats: { plays } }: Game): string | null {
  const facts = [
    ...(features.inputs.includes('touch') ? ['touch'] : []),
    ...(plays > 0 ? [`${compact.format(plays)} ${plays === 1 ? 'play' : 'plays'}`] : []),
  ]
  const words = new Set([...tags.slice(0, MOST_WORDS - facts.length), ...facts])
  return [...words].join(' · ') || null
}
