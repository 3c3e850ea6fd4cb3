import { GameCard, html, type View } from '../../../core/pages/index.ts'
import { pathOf } from '../record.ts'
import type { Game } from '../schemas.ts'

const compact = new Intl.NumberFormat('en', { notation: 'compact' })

/** Renders a game in a grid, with its tags, its plays, and the number of current players. */
export const gameCard = (game: Game, playing: ReadonlyMap<string, number>): View =>
  html`<${GameCard} game=${game} href=${pathOf(game)} meta=${aboutGame(game)} playing=${playing.get(game.id) ?? 0} />`

/** Returns the line under a title: `puzzle · co-op · 1.2K plays`; null when it is empty. */
export function aboutGame(game: Game): string | null {
  const { plays } = game.stats
  const words = [...game.tags.slice(0, plays > 0 ? 2 : 3)]
  if (plays > 0) words.push(`${compact.format(plays)} ${plays === 1 ? 'play' : 'plays'}`)
  return words.join(' · ') || null
}
