import type { Session } from './session.ts'
import type { Text, Texts } from './texts.ts'

/** The styles of button and chip, without a position. Custom properties restyle them. */
export const STYLE = `
:host { color-scheme: light dark !important;
  font: 600 14px/1.2 var(--auth-widget-font, ui-sans-serif, system-ui, sans-serif) !important }
:host([hidden]) { display: none !important }
a, summary, button { font: inherit; display: inline-flex; align-items: center; gap: 8px; min-height: 40px;
  box-sizing: border-box; cursor: pointer; text-decoration: none; border: 0; list-style: none; max-width: 100%;
  border-radius: var(--auth-widget-radius, 999px); touch-action: manipulation }
summary::-webkit-details-marker { display: none }
.act { padding: 8px 16px; background: var(--auth-widget-accent, light-dark(#c2410c, #ff8a4c));
  color: var(--auth-widget-accent-color, light-dark(#fff, #1b0d04)) }
.act, summary, .menu { outline: 1px solid transparent }
summary { padding: 4px 14px 4px 4px }
summary, .menu { background: var(--auth-widget-background, light-dark(#fff, #1c1f26));
  color: var(--auth-widget-color, light-dark(#1d1b16, #f1eee7));
  box-shadow: 0 0 0 1px light-dark(#1d1b1622, #ffffff2e), 0 6px 20px -8px #0006 }
summary span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 12em }
img, i { width: 32px; height: 32px; border-radius: 50%; object-fit: cover; flex: none; display: grid;
  place-items: center; font-style: normal; background: light-dark(#0f766e, #4fd1b5); color: light-dark(#fff, #06231d) }
i::before { content: attr(data-letter) }
.menu { position: absolute; right: 0; margin-top: 6px; padding: 6px; border-radius: 14px; min-width: 100% ; box-sizing: border-box }
.menu.left { right: auto; left: 0 }
.menu button { width: 100%; padding: 8px 12px; background: none; color: inherit; border-radius: 9px; white-space: nowrap }
.menu button:hover { background: light-dark(#f1ece2, #2c313b) }
:focus-visible { outline: 3px solid light-dark(#1d4ed8, #8ab4ff); outline-offset: 2px }
@media print { :host { display: none !important } }`

/** Whether this page is inside a frame of another page, such as the portal's play page. */
export const framed = window.top !== window

/**
 * Adopts a constructed style sheet. The page's Content-Security-Policy does not apply to it, but would to a style
 * element.
 */
export function adoptStyle(root: ShadowRoot, style: string): void {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(style)
  root.adoptedStyleSheets = [sheet]
}

/**
 * The sign-in button, a link.
 *
 * @param href called when the link is followed, because the page's address may have changed since (history API)
 */
export function signInButton(
  href: () => string,
  { signIn, signInTo }: Record<keyof Texts, Text>,
  gameName?: string,
): HTMLElement {
  const link = element('a', { className: 'act', textContent: signIn.text, lang: signIn.lang })
  if (gameName) link.ariaLabel = signInTo.text.replace('{game}', () => gameName)
  link.href = href()
  // The portal's sign-in page never shows inside a frame.
  if (framed) link.target = '_top'
  link.addEventListener('click', () => {
    link.href = href()
  })
  return link
}

/** The player's name with a menu below it. */
export function playerChip(
  user: NonNullable<Session['user']>,
  signOut: () => Promise<void>,
  texts: Record<keyof Texts, Text>,
): HTMLElement {
  const summary = element('summary', { lang: texts.signedInAs.lang })
  summary.setAttribute(
    'aria-label',
    texts.signedInAs.text.replace('{name}', () => user.name),
  )
  const initial = element('i', { ariaHidden: 'true' })
  // CSS draws the initial, because it is not part of the name.
  initial.dataset.letter = [...user.name.trim()][0]?.toUpperCase() ?? '?'
  const name = element('span', { textContent: user.name })
  if (user.imageUrl) {
    const image = element('img', { src: user.imageUrl, alt: '', referrerPolicy: 'no-referrer' })
    image.onerror = () => image.replaceWith(initial)
    summary.append(image, name)
  } else {
    summary.append(initial, name)
  }
  const out = element('button', { type: 'button', textContent: texts.signOut.text, lang: texts.signOut.lang })
  out.addEventListener('click', () => void signOut())
  const menu = element('div', { className: 'menu' })
  menu.append(out)
  const details = element('details', {})
  details.append(summary, menu)
  // The menu opens towards the middle of the page, where there is room.
  details.addEventListener('toggle', () => {
    const { left, right } = summary.getBoundingClientRect()
    menu.classList.toggle('left', (left + right) / 2 < innerWidth / 2)
  })
  details.addEventListener('keydown', (event) => {
    // The game must not handle keys of the menu.
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

function element<Name extends keyof HTMLElementTagNameMap>(name: Name, fields: Partial<HTMLElementTagNameMap[Name]>) {
  return Object.assign(document.createElement(name), fields)
}
