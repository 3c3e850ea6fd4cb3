import { html, type View } from '../../../core/pages/index.ts'
import { languageOf } from '../features/languages.ts'
import type { Game } from '../schemas.ts'

/** Renders the title of a game in the language of the game, for screen readers. */
export const gameTitle = (game: Pick<Game, 'title' | 'features'>): View =>
  html`<bdi lang=${languageOf(game)}>${game.title}</bdi>`
