/**
 * The hosted sign-in widget, for games with their own callback and session code. It shows a button that leads to the
 * portal's authorization endpoint. New games use the server adapter.
 */
import { type Mounted, mountPlayer } from '../player/mount-player.ts'
import { readSession, type Session } from '../player/session.ts'
import type { OwnTexts } from '../player/texts.ts'

/** The cookie with the `state` of the current sign-in, which the game's callback compares. */
export const STATE_COOKIE = 'service_oauth_state'
const STATE_SECONDS = 600

export interface WidgetOptions {
  clientId: string
  /** The game's redirect URI, exactly as registered. */
  redirectUri: string
  gameName: string
  /** The scopes, separated by spaces. Default: `profile email` */
  scope?: string | undefined
  /**
   * The game's address for the session, as `{ signedIn, user?: { name, imageUrl } }`. Without it the widget always
   * shows the button.
   */
  sessionUrl?: string | undefined
  /** The game's address for the sign-out. */
  signOutUrl?: string | undefined
  onSession?: ((session: Session) => void) | undefined
  /** Texts of the game, instead of the built-in ones in the language of the element (`lang`). */
  texts?: OwnTexts | undefined
}

/** @param portal origin of the portal */
export function mountWidget(selector: string | HTMLElement, portal: string, options: WidgetOptions): Promise<Mounted> {
  for (const name of ['clientId', 'redirectUri', 'gameName'] as const) {
    if (!options[name]) throw new Error(`The widget needs a ${name}.`)
  }
  const { gameName, onSession, sessionUrl, signOutUrl, texts } = options
  return mountPlayer(selector, {
    gameName,
    onSession,
    texts,
    signInUrl: () => authorizeUrl(portal, options),
    session: async () => (sessionUrl ? readSession(sessionUrl) : { signedIn: false }),
    signOut: async () => {
      if (signOutUrl) await fetch(signOutUrl, { method: 'POST' }).catch(() => null)
    },
  })
}

/** Builds the authorization URL. It reuses the state for ten minutes, so that links opened in other tabs stay valid. */
function authorizeUrl(portal: string, { clientId, redirectUri, scope = 'profile email' }: WidgetOptions): string {
  const known = new RegExp(`(?:^|; )${STATE_COOKIE}=([\\w-]{32})(?:;|$)`).exec(document.cookie)?.[1]
  const state = known ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), hex).join('')
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: the game's server reads it, and the Cookie Store API is not everywhere
  document.cookie = `${STATE_COOKIE}=${state}; Path=/; Max-Age=${STATE_SECONDS}; SameSite=Lax${secure}`
  const url = new URL('/oauth/authorize', portal)
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    state,
  }).toString()
  return url.href
}

const hex = (byte: number): string => byte.toString(16).padStart(2, '0')
