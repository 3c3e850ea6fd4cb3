import type { Origins } from '../../core/origins/origins.ts'

/** The game that a reader's snippets use. */
export interface ReaderGame {
  slug: string
  title: string
  clientId: string
  /** Its address: its own origin here, or an external one. */
  url: string
}

/**
 * Placeholders in the guides. They are readable as they are, since somebody may read the files themselves.
 *
 * - `http://localhost:8080`: the platform's own address
 * - `my-game`: the game; `http://my-game.localhost:8080` is its origin
 * - `YOUR_CLIENT_ID`: its client id
 */
const PLACEHOLDERS =
  /http:\/\/my-game\.localhost:8080|http:\/\/localhost:8080|YOUR_CLIENT_ID|(?<![\w-])my-game(?![\w-])/g

export type GuideOrigins = Pick<Origins, 'portal' | 'game' | 'byPort'>

/**
 * Fills in a guide as HTML.
 *
 * @param game the reader's game; without one only the addresses are replaced
 */
export const fillIn = (html: string, origins: GuideOrigins, game: ReaderGame | null): string =>
  html.replace(PLACEHOLDERS, (placeholder) => escapeHtml(replacementFor(placeholder, origins, game)))

/** Fills the platform's addresses into a text that is not HTML, such as Markdown. */
export const fillInText = (text: string, origins: GuideOrigins): string =>
  text.replace(PLACEHOLDERS, (placeholder) => replacementFor(placeholder, origins, null))

function replacementFor(placeholder: string, origins: GuideOrigins, game: ReaderGame | null): string {
  if (placeholder === 'http://localhost:8080') return origins.portal
  if (placeholder === 'YOUR_CLIENT_ID') return game?.clientId ?? placeholder
  if (placeholder === 'my-game') return game?.slug ?? placeholder
  if (game) return new URL(game.url).origin
  // If games have ports, a game that does not exist yet has none.
  return origins.byPort ? placeholder : origins.game('my-game')
}

const escapeHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
