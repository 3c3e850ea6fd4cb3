import { GameCard, html, type View } from '../../../core/pages/index.ts'
import { languageOf } from '../features/languages.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'

const compact = new Intl.NumberFormat('en', { notation: 'compact' })

/** Renders a game in a grid: its tags, whether touch suffices, its plays, and the number of current players. */
export const gameCard = (game: Game, playing: ReadonlyMap<string, number>): View =>
  html`<${GameCard} game=${{ ...game, lang: languageOf(game) }} href=${pathOf(game)} meta=${aboutGame(game)} playing=${playing.get(game.id) ?? 0} />`

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
