/**
 * The sign-in widget: a button, or the player's chip, in a corner of the game. The platform puts it into the pages of
 * the games it hosts; it needs nothing of the page and changes nothing there.
 *
 * A game may restyle it with custom properties on `service-auth` or any ancestor:
 *   --auth-widget-inset (e.g. `auto auto 12px 12px`), --auth-widget-background, --auth-widget-color,
 *   --auth-widget-accent, --auth-widget-accent-color, --auth-widget-font, --auth-widget-radius, --auth-widget-z-index
 * and learns who plays from the event `service:session` on `window`, whose `detail` is the session.
 */

interface Session {
  signedIn: boolean
  user?: { id: string; name: string; imageUrl: string | null }
}

const STYLE = `
:host { all: initial !important; position: fixed !important; inset: var(--auth-widget-inset, 12px 12px auto auto) !important;
  z-index: var(--auth-widget-z-index, 2147483000) !important; color-scheme: light dark !important;
  font: 600 14px/1.2 var(--auth-widget-font, ui-sans-serif, system-ui, sans-serif) !important;
  display: block !important; max-width: calc(100vw - 24px) !important }
:host([hidden]) { display: none !important }
a, summary, button { font: inherit; display: inline-flex; align-items: center; gap: 8px; min-height: 40px;
  box-sizing: border-box; cursor: pointer; text-decoration: none; border: 0; list-style: none; max-width: 100%;
  border-radius: var(--auth-widget-radius, 999px); touch-action: manipulation }
summary::-webkit-details-marker { display: none }
.act { padding: 8px 16px; background: var(--auth-widget-accent, light-dark(#c2410c, #ff8a4c));
  color: var(--auth-widget-accent-color, light-dark(#fff, #1b0d04)) }
summary { padding: 4px 14px 4px 4px }
summary, .menu { background: var(--auth-widget-background, light-dark(#fff, #1c1f26));
  color: var(--auth-widget-color, light-dark(#1d1b16, #f1eee7));
  box-shadow: 0 0 0 1px light-dark(#1d1b1622, #ffffff2e), 0 6px 20px -8px #0006 }
summary span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 12em }
img, i { width: 32px; height: 32px; border-radius: 50%; object-fit: cover; flex: none; display: grid;
  place-items: center; font-style: normal; background: light-dark(#0f766e, #4fd1b5); color: light-dark(#fff, #06231d) }
.menu { position: absolute; right: 0; margin-top: 6px; padding: 6px; border-radius: 14px; min-width: 100% ; box-sizing: border-box }
.menu button { width: 100%; padding: 8px 12px; background: none; color: inherit; border-radius: 9px; white-space: nowrap }
.menu button:hover { background: light-dark(#f1ece2, #2c313b) }
:focus-visible { outline: 3px solid light-dark(#1d4ed8, #8ab4ff); outline-offset: 2px }
@media print { :host { display: none !important } }`

const START = '/auth/service/start'
/** Inside a frame of another page, such as the portal's play page. */
const framed = window.top !== window

class AuthWidget extends HTMLElement {
  readonly #root = this.attachShadow({ mode: 'open' })

  connectedCallback(): void {
    this.#style()
    this.role = 'region'
    this.ariaLabel = 'Player'
    // The page around shows who plays, and nothing should cover the game.
    this.hidden = true
    void this.#refresh()
    // Signed in or out in another tab meanwhile, or brought back by the back button.
    addEventListener('pageshow', (event) => event.persisted && void this.#refresh())
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && void this.#refresh())
  }

  /** A constructed style sheet is not bound by the page's own Content-Security-Policy, an element would be. */
  #style(): void {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(STYLE)
    this.#root.adoptedStyleSheets = [sheet]
  }

  #shown = ''

  async #refresh(): Promise<void> {
    const session = await readSession()
    if (!session) return
    const key = JSON.stringify(session.user ?? null)
    if (key === this.#shown) return
    this.#shown = key
    const { user } = session
    this.#root.replaceChildren(user ? this.#chip(user) : this.#button())
    this.hidden = framed && session.signedIn
    dispatchEvent(new CustomEvent('service:session', { detail: session }))
  }

  #button(): HTMLElement {
    const link = element('a', { className: 'act', textContent: 'Sign in' })
    link.href = startUrl()
    // The portal's sign-in page never shows inside a frame.
    if (framed) link.target = '_top'
    // The page may have moved on (history API) since the link was made.
    link.addEventListener('click', () => {
      link.href = startUrl()
    })
    return link
  }

  #chip(user: NonNullable<Session['user']>): HTMLElement {
    const summary = element('summary', {})
    summary.setAttribute('aria-label', `Signed in as ${user.name}`)
    const initial = element('i', { textContent: [...user.name.trim()][0]?.toUpperCase() ?? '?', ariaHidden: 'true' })
    const name = element('span', { textContent: user.name })
    if (user.imageUrl) {
      const image = element('img', { src: user.imageUrl, alt: '', referrerPolicy: 'no-referrer' })
      image.onerror = () => image.replaceWith(initial)
      summary.append(image, name)
    } else {
      summary.append(initial, name)
    }
    const signOut = element('button', { type: 'button', textContent: 'Sign out' })
    signOut.addEventListener('click', async () => {
      await fetch('/auth/service/logout', { method: 'POST' }).catch(() => null)
      location.reload()
    })
    const menu = element('div', { className: 'menu' })
    menu.append(signOut)
    const details = element('details', {})
    details.append(summary, menu)
    details.addEventListener('keydown', (event) => {
      // Keys meant for the menu are not meant for the game.
      event.stopPropagation()
      if (event.key !== 'Escape') return
      details.open = false
      summary.focus()
    })
    details.addEventListener('focusout', (event) => {
      if (event.relatedTarget && !details.contains(event.relatedTarget as Node)) details.open = false
    })
    return details
  }
}

async function readSession(): Promise<Session | null> {
  try {
    const response = await fetch('/auth/service/session', {
      headers: { accept: 'application/json' },
      cache: 'no-store',
    })
    return response.ok ? ((await response.json()) as Session) : null
  } catch {
    return null
  }
}

const startUrl = () => `${START}?returnTo=${encodeURIComponent(location.pathname + location.search + location.hash)}`

function element<Name extends keyof HTMLElementTagNameMap>(name: Name, fields: Partial<HTMLElementTagNameMap[Name]>) {
  return Object.assign(document.createElement(name), fields)
}

// Once a page, even when a game carries the tag itself besides.
if (!customElements.get('service-auth')) {
  customElements.define('service-auth', AuthWidget)
  const mount = () => {
    if (!document.querySelector('service-auth')) document.body.append(document.createElement('service-auth'))
  }
  if (document.body) mount()
  else addEventListener('DOMContentLoaded', mount)
}
