/**
 * The sign-in widget: a button, or the player's name, in a corner of the game. The platform adds it to the pages of the
 * games it hosts. It requires nothing from the page and changes nothing there.
 *
 * A game may restyle it with custom properties on `service-auth` or any ancestor:
 *   --auth-widget-inset (e.g. `auto auto 12px 12px`), --auth-widget-background, --auth-widget-color,
 *   --auth-widget-accent, --auth-widget-accent-color, --auth-widget-font, --auth-widget-radius, --auth-widget-z-index
 * Its texts are in the language of the page (`lang`). A game that places the element itself may give others as attributes:
 *   <service-auth sign-in="Log in" sign-out="Log out" signed-in-as="Playing as {name}"></service-auth>
 * The event `service:session` on `window` reports the player; its `detail` is the session.
 */

import { FRAME_SESSION_CHANGED } from './frame/hook.ts'
import { adoptStyle, framed, playerChip, STYLE, signInButton } from './player/chip.ts'
import { languageOf, onLanguageChange } from './player/language.ts'
import { readSession, type Session, startUrl } from './player/session.ts'
import { textsIn } from './player/texts.ts'

/**
 * Places the widget in a corner above the game, whatever styles the page has. In a small window, as on phones, it is
 * only as large as a finger needs: a picture without its text, which stays the name.
 */
const CORNER = `
:host { all: initial !important; position: fixed !important; inset: var(--auth-widget-inset,
  max(12px, env(safe-area-inset-top)) max(12px, env(safe-area-inset-right)) auto auto) !important;
  z-index: var(--auth-widget-z-index, 2147483000) !important; display: block !important;
  max-width: calc(100vw - 24px) !important }`
const SMALL = `
svg { display: none; width: 20px; height: 20px; fill: currentcolor }
@media (max-width: 480px), (max-height: 400px) {
  .act { padding: 10px; gap: 0; font-size: 0 }
  svg { display: block }
  summary { padding: 4px }
  summary span { display: none }
}`

const TEXTS = ['lang', 'sign-in', 'sign-out', 'signed-in-as']

class AuthWidget extends HTMLElement {
  static readonly observedAttributes = TEXTS
  readonly #root = this.attachShadow({ mode: 'open' })

  connectedCallback(): void {
    adoptStyle(this.#root, CORNER + STYLE + SMALL)
    this.role = 'region'
    this.ariaLabel ??= 'Player'
    // The surrounding page shows the player, and nothing should cover the game.
    this.hidden = true
    void this.#refresh()
    // The player may have signed in or out in another tab, or returned with the back button.
    addEventListener('pageshow', (event) => event.persisted && void this.#refresh())
    addEventListener(FRAME_SESSION_CHANGED, () => void this.#refresh())
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && void this.#refresh())
    onLanguageChange(() => this.#draw())
  }

  attributeChangedCallback(): void {
    this.#draw()
  }

  #shown = ''
  #session: Session | null = null

  async #refresh(): Promise<void> {
    const session = await readSession()
    if (!session) return
    const key = JSON.stringify(session.user ?? null)
    if (key === this.#shown) return
    this.#shown = key
    this.#session = session
    this.#draw()
    this.hidden = (framed && session.signedIn) || isInsideGame()
    dispatchEvent(new CustomEvent('service:session', { detail: session }))
  }

  #draw(): void {
    if (!this.#session) return
    const own = (name: string) => this.getAttribute(name) ?? undefined
    const given = { signIn: own('sign-in'), signOut: own('sign-out'), signedInAs: own('signed-in-as') }
    const texts = textsIn(languageOf(this), given)
    const { user } = this.#session
    this.#root.replaceChildren(user ? playerChip(user, signOut, texts) : withPicture(signInButton(startUrl, texts)))
  }
}

/** Adds the picture that stands for the text in a small window, where the text is the name and shown to a mouse. */
function withPicture(button: HTMLElement): HTMLElement {
  button.title = button.ariaLabel = button.textContent
  button.prepend(person())
  return button
}

/** Draws a person. */
function person(): SVGElement {
  const [svg, path] = ['svg', 'path'].map((name) => document.createElementNS('http://www.w3.org/2000/svg', name)) as [
    SVGElement,
    SVGElement,
  ]
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.ariaHidden = 'true'
  path.setAttribute('d', 'M12 12a5 5 0 1 0 0-10 5 5 0 0 0 0 10Zm0 2c-5 0-9 2-9 6v2h18v-2c0-4-4-6-9-6Z')
  svg.append(path)
  return svg
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
