import type { Role, StaffRole } from '../http/auth.ts'
import { Avatar } from './collections.ts'
import { type Content, html, type View } from './html.ts'
import { Icon, Mark } from './icons.ts'

/** A link to a plugin's page, contributed by the plugin. */
export interface NavigationEntry {
  label: string
  /** Path on the portal, or an absolute URL. */
  href: string
  /**
   * `main` is the top bar for everyone. `make` and `host` are areas for game makers and for administrators; the bar
   * links to the first entry of an area, and a second line shows all entries on the area's pages. `account` is the
   * signed-in viewer's menu. `guest` is at the end of the bar while nobody is signed in.
   */
  place: 'main' | 'make' | 'host' | 'account' | 'guest'
  /** Entries with a smaller value come first. */
  order: number
  /** The entry changes something (sign out), so it is a form with one button instead of a link. */
  method?: 'post'
  /** The minimum role of the page, for the place `host`; default `admin`. */
  role?: StaffRole
  /** The key that opens the page after `g`; must be unique. */
  key?: string
  /** The entry, and the menu that it is in, show how many messages the viewer has not seen yet. */
  unread?: boolean
  /** The page takes `?returnTo=PATH`, so that a visitor comes back to the public page that they left. */
  returns?: boolean
}

/** Parts of the site with a second line of navigation: their label and position in the bar. */
const AREAS = [
  { place: 'make', label: 'Make', order: 20 },
  { place: 'host', label: 'Server', order: 90 },
] as const

/** Returns the `href` of a page's entry: the longest one that is a prefix of its path, by segments. */
export function entryFor(entries: readonly NavigationEntry[], url: string): string | undefined {
  const path = `${url.split('?', 1)[0]}/`
  return entries
    .map(({ href }) => href)
    .filter((href) => href.startsWith('/') && path.startsWith(`${href.replace(/\/$/, '')}/`))
    .sort((a, b) => b.length - a.length)[0]
}

interface NavigationProps {
  siteName: string
  entries: readonly NavigationEntry[]
  /** `href` of the page's entry. */
  current: string | undefined
  user: { name: string; imageUrl: string | null; role: Role; unread?: number } | null | undefined
  /** Converts a path to an address that also works from another origin. */
  address: (href: string) => string
  /** The path that pages with `returns` go on to; default the start page. */
  returnTo?: string | undefined
}

/** The header of every page: the bar, and on the pages of an area its entries. It is the same on desktop and phone. */
export function Navigation({ siteName, entries, current, user, address, returnTo = '/' }: NavigationProps): View {
  const at = (place: NavigationEntry['place']) =>
    entries.filter((entry) => entry.place === place).sort((a, b) => a.order - b.order)
  const moderates = user?.role === 'moderator'
  const areas = AREAS.filter(({ place }) => place !== 'host' || user?.role === 'admin' || moderates)
    .map((area) => ({
      ...area,
      label: area.place === 'host' && moderates ? 'Moderate' : area.label,
      entries: at(area.place).filter(({ role }) => area.place !== 'host' || !moderates || role === 'moderator'),
    }))
    .filter((area) => area.entries.length > 0)
  const area = areas.find((candidate) => candidate.entries.some(({ href }) => href === current))
  const bar = [
    ...at('main').map((entry) => ({ ...entry, here: entry.href === current ? 'page' : undefined })),
    ...areas.map(({ label, order, entries: [first], place }) => ({
      ...(first as NavigationEntry),
      label,
      order,
      here: place === area?.place ? 'true' : undefined,
    })),
  ].sort((a, b) => a.order - b.order)
  const unread = (user?.unread ?? 0) > 0 && at('account').some((entry) => entry.unread) ? user?.unread : undefined
  const link = (entry: NavigationEntry, className?: string): Content =>
    entry.method === 'post'
      ? html`<form action=${address(entry.href)} method="post"><button class=${className}>${entry.label}</button></form>`
      : html`<a class=${className} href=${address(entry.href)} data-go=${entry.key} aria-current=${entry.href === current ? 'page' : undefined}>${entry.label}${entry.unread && unread && html` <span class="menu-unread">${unread}<span class="visually-hidden"> new</span></span>`}</a>`
  const query = returnTo === '/' ? '' : `?returnTo=${encodeURIComponent(returnTo)}`
  const guests = at('guest').map((entry) => (entry.returns ? { ...entry, href: entry.href + query } : entry))
  return html`
    <header class="bar">
      <div class="bar-inner">
        <a class="mark" href=${address('/')} data-go="h"><${Mark} /><span>${siteName}</span></a>
        ${
          bar.length > 0 &&
          html`<nav class="bar-nav" aria-label="Main"><ul>${bar.map(
            (entry) =>
              html`<li><a href=${address(entry.href)} data-go=${entry.key} aria-current=${entry.here}>${entry.label}</a></li>`,
          )}</ul></nav>`
        }
        <div class="bar-end">
          ${
            user
              ? html`<details class="menu">
                  <summary><span class="visually-hidden">Account menu of </span><${Avatar} ...${user} />${unread && html`<span class="menu-unread" aria-hidden="true">${unread}</span>`}<span class="menu-name"><bdi>${user.name}</bdi></span>${unread && html`<span class="visually-hidden">, new messages: ${unread}</span>`}<${Icon} name="chevron" /></summary>
                  <div class="menu-body">
                    <p class="menu-who">Signed in as <strong><bdi>${user.name}</bdi></strong></p>
                    <ul>${at('account').map((entry) => html`<li>${link(entry)}</li>`)}</ul>
                  </div>
                </details>`
              : guests.map((entry, index) =>
                  link(entry, index === guests.length - 1 ? 'button small' : 'button quiet small'),
                )
          }
        </div>
      </div>
      ${
        area &&
        area.entries.length > 1 &&
        html`<nav class="area" aria-label=${area.label}><ul>${area.entries.map((entry) => html`<li>${link(entry)}</li>`)}</ul></nav>`
      }
    </header>`
}
