import type { IncomingHttpHeaders } from 'node:http'
import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Role } from '../http/auth.ts'
import type { BrowserFiles } from './browser-files.ts'
import { type Content, classes, html, type Tone, type View } from './html.ts'
import { Icon } from './icons.ts'
import type { Legal } from './legal.ts'
import { Notice } from './messages.ts'
import { entryFor, Navigation, type NavigationEntry } from './navigation.ts'
import { chosenTheme, themeCookie } from './theme.ts'

/** The viewer of a page. */
export interface Viewer {
  name: string
  imageUrl: string | null
  isAdmin: boolean
  role: Role
  /** The number of messages that the viewer has not seen yet; see `NavigationEntry.unread`. */
  unread?: number
}

/** The common data of all pages of the site. The kernel decorates the app with it, as `app.site`. */
export interface Site {
  /** The configured `portal.name`. */
  name: string
  /** Origin of the portal, without a trailing slash. */
  portalUrl: string
  /** Plugins contribute entries; shown in their `order`. */
  navigation: NavigationEntry[]
  /** Links in the head of every page, contributed by plugins: a feed, a search description. */
  links: HeadLink[]
  /** Links of the pages about a game, an asset or a player, contributed by plugins that these pages do not know. */
  thingLinks: ThingLink[]
  /** The legal information of the operator. */
  legal: Legal
  /** Address of the default preview image of shared links. */
  card: string | null
}

/** A kind of thing that has a public page. */
export type ThingKind = 'game' | 'asset' | 'player'

/** A link on the page of a thing, such as the one that reports it. */
export interface ThingLink {
  label: string
  /** Returns the address for a thing; `id` is the last part of the address of its page. */
  href(kind: ThingKind, id: string): string
}

/** A `<link>` of every page. */
export interface HeadLink {
  rel: string
  /** Path on the portal. */
  href: string
  type?: string
  title?: string
}

/** The preview of a page where its link is shared. */
export interface Share {
  /** The canonical path of the page, without parameters of this visit. */
  path: string
  /** Address of an image of 1200 by 630 pixels; default the site's own. */
  image?: string | undefined
  /** The description of that image. */
  imageAlt?: string | undefined
}

export interface PageOptions {
  /** Title of the document, without the site's name. */
  title: string
  /** A sentence for search engines and link previews. */
  description?: string | undefined
  /** `href` of the page's navigation entry; default the one that is a prefix of its path. */
  current?: string | undefined
  /** The viewer; null or absent when nobody is signed in. */
  user?: Viewer | null | undefined
  /** Everything between header and footer. It begins with a `PageHeader`, or contains its own `<h1>`. */
  body: View | View[]
  /** The preview of a public page where its link is shared. */
  share?: Share | undefined
  /** Additional elements for the `<head>`. */
  head?: Content
  /** Names of built scripts in addition to the shell's own: `['play.js']`. */
  scripts?: string[]
  /**
   * Whether the first paint waits for the fonts, as it does by default. A page whose first use must not wait uses the
   * system's fonts on the first visit, and these ones once they are in the browser's cache.
   */
  preloadFonts?: boolean
  /** Default 200. */
  status?: number
  /** Removes the width limit, for a game that fills the page. */
  wide?: boolean
  /** Uses one centred column: sign-in, consent, a single question. */
  narrow?: boolean
  /** The result of the last action, shown once at the top; default tone `success`. */
  flash?: { tone?: Tone; message: Content } | null | undefined
}

interface ShellParts {
  start: string
  middle: string
  end: string
}

/**
 * The document around a page. The parts common to every page of a site are built once and cached; the title, the
 * description, the scripts, and the header with its menu depend on the page.
 */
export function shell(
  site: Site,
  browserFiles: BrowserFiles,
  { headers, url }: { headers: IncomingHttpHeaders; url: string },
  options: PageOptions,
): ShellParts {
  const prepared = preparedFor(site, browserFiles)
  const theme = chosenTheme(site.portalUrl, headers.cookie)
  const scripts = (options.scripts ?? []).map(
    (name) => `<script type="module" src="${browserFiles.url(name)}"></script>`,
  )
  const description = options.description
    ? `<meta name="description" content="${escapeHtml(options.description)}"><meta property="og:description" content="${escapeHtml(options.description)}">`
    : ''
  const base = new URL(site.portalUrl).host === headers.host ? '' : site.portalUrl
  const around = aroundFor(site, prepared, {
    base,
    user: options.user,
    current: options.current ?? entryFor(site.navigation, url),
    returnTo: options.user ? undefined : options.share?.path,
  })
  return {
    start: `<!doctype html><html lang="en"${theme ? ` data-theme="${theme}"` : ''}><head>${options.preloadFonts === false ? prepared.headWithoutFonts : prepared.head}<title>${escapeHtml(options.title)} · ${prepared.name}</title><meta property="og:title" content="${escapeHtml(options.title)}">${description}${options.share ? shareTags(site, options.share) : ''}${scripts.join('')}`,
    middle: `</head><body>${around.header}`,
    end: `${around.footer}<i id="page-end" hidden></i></body></html>`,
  }
}

/** The common parts of the pages of a site, with the headers and footers of recent viewers. */
interface Prepared {
  browserFiles: BrowserFiles
  name: string
  head: string
  headWithoutFonts: string
  around: Map<string, Around>
}

interface Around {
  header: string
  footer: string
}

const kept = new WeakMap<Site, Prepared>()
/**
 * Maximum number of cached headers, of a few kilobytes each: one for each viewer and area, and one for each public page
 * that is seen by a visitor who is not signed in.
 */
const MOST_AROUND = 500

/** What a header depends on. */
interface Visit {
  /** The portal's origin for a page on another one, or nothing. */
  base: string
  user: Viewer | null | undefined
  /** `href` of the page's navigation entry. */
  current: string | undefined
  /** Path of the public page that a visitor comes back to after signing in. */
  returnTo: string | undefined
}

function aroundFor(site: Site, { around }: Prepared, visit: Visit): Around {
  const { base, user, current, returnTo } = visit
  const who = user && [user.name, user.imageUrl, user.role, user.unread]
  const key = JSON.stringify([base, current, site.navigation.length, who, returnTo])
  const known = around.get(key)
  if (known) return known
  const address = (href: string) => (href.startsWith('/') ? base + href : href)
  const made = {
    header: renderToString(header(site, address, visit) as VNode),
    footer: renderToString(footer(site, address) as VNode),
  }
  if (around.size >= MOST_AROUND) around.clear()
  around.set(key, made)
  return made
}

function preparedFor(site: Site, browserFiles: BrowserFiles): Prepared {
  const known = kept.get(site)
  if (known?.browserFiles === browserFiles) return known
  const name = escapeHtml(site.name)
  const fonts = ['bricolage-grotesque-latin-wght-normal.woff2', 'instrument-sans-latin-wght-normal.woff2']
    .map((font) => `<link rel="preload" href="${browserFiles.url(font)}" as="font" type="font/woff2" crossorigin>`)
    .join('')
  const headWith = (preloads: string) =>
    [
      '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">',
      preloads,
      `<link rel="stylesheet" href="${browserFiles.url('styles.css')}">`,
      // The page is rendered only when it is complete, since half a table would move when its widest row arrives. The
      // expected element comes last, because browsers wait for its beginning, not for its end.
      '<link rel="expect" href="#page-end" blocking="render">',
      `<script type="module" src="${browserFiles.url('page.js')}"></script>`,
      '<meta name="color-scheme" content="light dark">',
      '<meta name="theme-color" content="#faf7f1" media="(prefers-color-scheme: light)">',
      '<meta name="theme-color" content="#14161b" media="(prefers-color-scheme: dark)">',
      `<link rel="icon" sizes="32x32" href="/favicon.ico"><link rel="icon" type="image/svg+xml" href="${browserFiles.url('favicon.svg')}">`,
      `<link rel="apple-touch-icon" href="${browserFiles.url('icon-180.png')}"><link rel="manifest" href="/manifest.webmanifest">`,
      ...site.links.map(linkTag(site)),
      `<meta property="og:site_name" content="${name}">`,
    ].join('')
  const prepared = { browserFiles, name, head: headWith(fonts), headWithoutFonts: headWith(''), around: new Map() }
  kept.set(site, prepared)
  return prepared
}

type Address = (href: string) => string

const header = (site: Site, address: Address, { user, current, returnTo }: Visit): View =>
  html`<a class="skip" href="#main">Skip to the content</a>
    <${Navigation} siteName=${site.name} entries=${site.navigation} current=${current} user=${user} address=${address} returnTo=${returnTo} />` as unknown as View

/** The main part of a page, with the result of the last action. */
export const main = ({ flash, body, wide, narrow }: PageOptions): View => html`
  <main id="main" class=${classes('main', wide && 'wide', narrow && 'narrow')} tabindex="-1">
    ${flash && html`<div class="flash"><${Notice} tone=${flash.tone ?? 'success'} dismissible>${flash.message}<//></div>`}
    ${body}
  </main>`

const footer = (site: Site, address: Address): View => html`
  <footer class="foot">
    <div class="foot-inner">
      <p>${site.name}<span class="foot-note"> · ${site.legal.operator ? `run by ${site.legal.operator}, with Gameyard` : 'a self-hosted game platform'}</span></p>
      <nav aria-label="About this site"><ul>${legalLinks(site, address)}<li><a href=${address('/docs/api')}>API reference</a></li><li><a href=${address('/openapi.json')}>OpenAPI</a></li></ul></nav>
      <button class="keys" type="button" hidden data-keys>Keyboard <kbd>?</kbd></button>
      <div class="theme" hidden data-theme-switch=${themeCookie(site.portalUrl).name} role="group" aria-label="Colour scheme">
        <button type="button" value="light" aria-pressed="false" aria-label="Light"><${Icon} name="sun" /></button>
        <button type="button" value="auto" aria-pressed="true">Auto</button>
        <button type="button" value="dark" aria-pressed="false" aria-label="Dark"><${Icon} name="moon" /></button>
      </div>
    </div>
  </footer>`

/** The operator's contact, terms and privacy notice. */
const legalLinks = ({ legal: { contact, terms, privacy } }: Site, address: Address): Content => html`
  ${contact && html`<li>${contact.href ? html`<a href=${contact.href}>Contact</a>` : contact.text}</li>`}
  ${terms && html`<li><a href=${address(terms)}>Terms</a></li>`}
  ${privacy && html`<li><a href=${address(privacy)}>Privacy</a></li>`}`

const linkTag =
  ({ portalUrl }: Site) =>
  ({ href, ...rest }: HeadLink): string =>
    `<link${Object.entries({ ...rest, href: portalUrl + href })
      .map(([name, value]) => ` ${name}="${escapeHtml(value)}"`)
      .join('')}>`

/** Renders the Open Graph tags, which programs use to show links, and the canonical address of the page. */
function shareTags(site: Site, { path, image = site.card ?? undefined, imageAlt = site.name }: Share): string {
  const address = escapeHtml(site.portalUrl + path)
  const picture = image
    ? `<meta property="og:image" content="${escapeHtml(image)}"><meta property="og:image:type" content="image/png"><meta property="og:image:width" content="1200"><meta property="og:image:height" content="630"><meta property="og:image:alt" content="${escapeHtml(imageAlt)}"><meta name="twitter:card" content="summary_large_image">`
    : ''
  return `<link rel="canonical" href="${address}"><meta property="og:type" content="website"><meta property="og:url" content="${address}">${picture}`
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (character) => entities[character] ?? character)
