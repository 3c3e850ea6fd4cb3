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

/** @param game the reader's game; without one only the addresses are replaced */
export function fillIn(
  html: string,
  origins: Pick<Origins, 'portal' | 'game' | 'byPort'>,
  game: ReaderGame | null,
): string {
  return html.replace(PLACEHOLDERS, (placeholder) => {
    if (placeholder === 'http://localhost:8080') return escapeHtml(origins.portal)
    if (placeholder === 'YOUR_CLIENT_ID') return escapeHtml(game?.clientId ?? placeholder)
    if (placeholder === 'my-game') return escapeHtml(game?.slug ?? placeholder)
    if (game) return escapeHtml(new URL(game.url).origin)
    // If games have ports, a game that does not exist yet has none.
    return origins.byPort ? placeholder : escapeHtml(origins.game('my-game'))
  })
}

const escapeHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
