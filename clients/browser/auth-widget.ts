/**
 * The sign-in widget: a button, or the player's name, in a corner of the game. The platform adds it to the pages of the
 * games it hosts. It requires nothing from the page and changes nothing there.
 *
 * A game may restyle it with custom properties on `service-auth` or any ancestor:
 *   --auth-widget-inset (e.g. `auto auto 12px 12px`), --auth-widget-background, --auth-widget-color,
 *   --auth-widget-accent, --auth-widget-accent-color, --auth-widget-font, --auth-widget-radius, --auth-widget-z-index
 * The event `service:session` on `window` reports the player; its `detail` is the session.
 */

import { FRAME_SESSION_CHANGED } from './frame/hook.ts'
import { adoptStyle, framed, playerChip, STYLE, signInButton } from './player/chip.ts'
import { readSession, startUrl } from './player/session.ts'

/** Places the widget in a corner above the game, whatever styles the page has. */
const CORNER = `
:host { all: initial !important; position: fixed !important; inset: var(--auth-widget-inset, 12px 12px auto auto) !important;
  z-index: var(--auth-widget-z-index, 2147483000) !important; display: block !important;
  max-width: calc(100vw - 24px) !important }`

class AuthWidget extends HTMLElement {
  readonly #root = this.attachShadow({ mode: 'open' })

  connectedCallback(): void {
    adoptStyle(this.#root, CORNER + STYLE)
    this.role = 'region'
    this.ariaLabel = 'Player'
    // The surrounding page shows the player, and nothing should cover the game.
    this.hidden = true
    void this.#refresh()
    // The player may have signed in or out in another tab, or returned with the back button.
    addEventListener('pageshow', (event) => event.persisted && void this.#refresh())
    addEventListener(FRAME_SESSION_CHANGED, () => void this.#refresh())
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && void this.#refresh())
  }

  #shown = ''

  async #refresh(): Promise<void> {
    const session = await readSession()
    if (!session) return
    const key = JSON.stringify(session.user ?? null)
    if (key === this.#shown) return
    this.#shown = key
    const { user } = session
    this.#root.replaceChildren(user ? playerChip(user, signOut) : signInButton(startUrl))
    this.hidden = (framed && session.signedIn) || isInsideGame()
    dispatchEvent(new CustomEvent('service:session', { detail: session }))
  }
}

/** Whether this page is in a frame of another page of the game, which has the widget. */
function isInsideGame(): boolean {
  try {
    return window.parent !== window && window.parent.location.origin === location.origin
  } catch {
    return false
  }
}

async function signOut(): Promise<void> {
  await fetch('/auth/service/logout', { method: 'POST' }).catch(() => null)
  location.reload()
}

// The element is defined once per page, even when the game includes the script tag too.
if (!customElements.get('service-auth')) {
  customElements.define('service-auth', AuthWidget)
  const mount = () => {
    if (!document.querySelector('service-auth')) document.body.append(document.createElement('service-auth'))
  }
  if (document.body) mount()
  else addEventListener('DOMContentLoaded', mount)
}
