import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import { FormerAddresses } from './former-addresses.ts'

/** Where a route lives; `any` is for the few addresses that answer on every Host, such as /healthz. */
export type Origin = 'portal' | 'studio' | 'game' | 'any'

/** The site that a request is for, by its Host header alone. */
export type Site =
  | { kind: 'portal' | 'studio' }
  /** `preview` is the short deploy id of `<slug>--<id>.<domain>`; `domain` a name that the game's owner brought. */
  | { kind: 'game'; host: string; slug: string; preview: string | null; domain: string | null }
  /** Another name of a machine on a LAN: everything there leads to the same path of `target`, an origin. */
  | { kind: 'alias'; host: string; target: string }
  /** An address that the platform had before: look-ups are led to the same path of `target`. `slug` of a game. */
  | { kind: 'former'; host: string; target: string; slug: string | null }
  /** Reached by number rather than by name. */
  | { kind: 'address'; host: string }
  | { kind: 'unknown'; host: string }
  | { kind: 'malformed' }

const HOST =
  /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const KNOWN_HOSTS = 10_000

declare module 'node:http' {
  interface IncomingMessage {
    site?: Site
  }
}

/** A name that a game's owner brought, and under which the game is served too (plugins/domains). */
export interface CustomDomain {
  /** Lower case, without a port. */
  name: string
  slug: string
  /** The game's main address: its others lead there. */
  isPrimary: boolean
}

/**
 * The three origins: resolves a Host header to an origin, and builds public addresses.
 *
 * Public addresses come from the configuration only, never from Host or X-Forwarded-*, so that a forged header can't
 * put a foreign link into a page, a mail or a redirect.
 */
export class Origins {
  /** Public address of the portal, without a trailing slash. */
  readonly portal: string
  readonly studio: string
  readonly #scheme: string
  readonly #domain: string
  readonly #portalHost: string
  readonly #studioHost: string
  readonly #sites = new Map<string, Site>()
  /** Names beside the portal's own, without a port. */
  readonly #aliases: ReadonlySet<string>
  /** With a port a game: slug by port. */
  readonly #slugByPort = new Map<number, string>()
  readonly #portBySlug = new Map<string, number>()
  /** Slug by the host of a name that its owner brought. */
  #slugByDomain: ReadonlyMap<string, string> = new Map()
  /** The origin of the main address of games whose owners chose one, by slug. */
  #primaries: ReadonlyMap<string, string> = new Map()
  #domainsRead = 0
  readonly #former: FormerAddresses
  readonly byPort: boolean

  constructor(config: Pick<Config, 'portal' | 'studio' | 'games'> & Partial<Pick<Config, 'lan'>>) {
    this.portal = config.portal.url
    this.studio = config.studio.url
    this.#portalHost = new URL(config.portal.url).host
    this.#studioHost = new URL(config.studio.url).host
    this.#scheme = new URL(config.portal.url).protocol
    this.#domain = config.games.domain
    this.byPort = config.games.origins === 'port'
    this.#former = new FormerAddresses(config)
    this.#aliases = new Set(config.lan?.enabled ? [`${config.lan.name}.local`, 'localhost'] : [])
  }

  /** Whether the Studio is the portal's own origin. */
  get shared(): boolean {
    return this.#portalHost === this.#studioHost
  }

  /** Whether the platform is reached over https, so that cookies can be Secure. */
  get secure(): boolean {
    return this.#scheme === 'https:'
  }

  /**
   * The main origin of a game, without a trailing slash: the domain that its owner made the main one, else the origin
   * that every game has.
   */
  game(slug: string): string {
    return this.#primaries.get(slug) ?? this.slugOrigin(slug)
  }

  /** The origin that every game has: `https://<slug>.<domain>`; with a port a game, the portal's name and that port. */
  slugOrigin(slug: string): string {
    if (this.byPort) return `${this.#scheme}//${hostname(this.#portalHost)}:${this.#portBySlug.get(slug) ?? 0}`
    return `${this.#scheme}//${slug}.${this.#domain}`
  }

  /** Every origin at which a game is served, but for its previews: the one that every game has, then its domains. */
  allOf(slug: string): string[] {
    const domains = [...this.#slugByDomain].filter(([, owner]) => owner === slug)
    return [this.slugOrigin(slug), ...domains.map(([host]) => this.atHost(host))]
  }

  /** A Content-Security-Policy source that matches the origin of every game. */
  get gamePattern(): string {
    return this.byPort ? `${this.#scheme}//${hostname(this.#portalHost)}:*` : `${this.#scheme}//*.${this.#domain}`
  }

  /** How often it was said which domain is which game: what is known of a domain holds until this is another number. */
  get domainsRead(): number {
    return this.#domainsRead
  }

  /** The origin of a name that a game's owner brought; with the port of the games' domain. */
  domainOrigin(name: string): string {
    return this.atHost(name + portSuffix(this.#domain))
  }

  /** The origin that a host stands for. @param host of a site, with its port */
  atHost(host: string): string {
    return `${this.#scheme}//${host}`
  }

  /** Where else a game has its main address; null when this is it, or a preview, which has no other. */
  movesTo({ host, slug, preview }: Extract<Site, { kind: 'game' }>): string | null {
    const primary = this.#primaries.get(slug)
    return primary === undefined || preview !== null || primary === this.atHost(host) ? null : primary
  }

  /** Says which names games are served under beside their own, in the place of what was said before. */
  setDomains(domains: readonly CustomDomain[]): void {
    const suffix = portSuffix(this.#domain)
    this.#slugByDomain = new Map(domains.map(({ name, slug }) => [name + suffix, slug]))
    const primaries = domains.filter(({ isPrimary }) => isPrimary)
    this.#primaries = new Map(primaries.map(({ name, slug }) => [slug, this.domainOrigin(name)]))
    this.#domainsRead++
    this.#sites.clear()
  }

  /** Lets the domains of a game follow it to another slug, until `setDomains` says it all anew. */
  moveDomains(from: string, to: string): void {
    const moved = (slug: string) => (slug === from ? to : slug)
    this.#slugByDomain = new Map([...this.#slugByDomain].map(([host, slug]) => [host, moved(slug)]))
    this.#primaries = new Map([...this.#primaries].map(([slug, origin]) => [moved(slug), origin]))
    this.#sites.clear()
  }

  /** Whether a name is the platform's own, or below the domain of the games: nobody can bring it. */
  owns(name: string): boolean {
    const own = [this.#portalHost, this.#studioHost, this.#domain].map(hostname)
    if (own.includes(name) || this.#aliases.has(name) || name.endsWith(`.${hostname(this.#domain)}`)) return true
    return this.#former.hostOf(name) !== null
  }

  /** Gives a game its port; a game that moves to another slug keeps it. Only where `byPort` holds. */
  assignPort(slug: string, port: number): void {
    const before = this.#slugByPort.get(port)
    if (before) this.#portBySlug.delete(before)
    this.#slugByPort.set(port, slug)
    this.#portBySlug.set(slug, port)
    this.#sites.clear()
  }

  /** The ports that games have. */
  gamePorts(): number[] {
    return [...this.#slugByPort.keys()]
  }

  /** Which site a request is for. Remembered on the request and, for well-formed hosts, between requests. */
  of(request: IncomingMessage): Site {
    if (request.site) return request.site
    const site = hostHeaders(request) > 1 ? MALFORMED : this.parse(request.headers.host ?? '')
    request.site = site
    return site
  }

  /** Which site a Host header names. */
  parse(header: string): Site {
    const known = this.#sites.get(header)
    if (known) return known
    const host = header.toLowerCase()
    if (header.length > 255 || !HOST.test(host)) return MALFORMED
    const site = this.#classify(host)
    // Unknown names are not kept: only they can be made up without end.
    if (site.kind !== 'unknown') {
      if (this.#sites.size >= KNOWN_HOSTS) this.#sites.clear()
      this.#sites.set(header, site)
    }
    return site
  }

  /** Which site a bare name leads to, at whatever port it is served. @param name lower case, as in a certificate */
  named(name: string): Site {
    if (name.includes(':')) return MALFORMED
    const own = [this.#portalHost, this.#studioHost].find((host) => hostname(host) === name)
    const site = this.parse(own ?? name + portSuffix(this.#domain))
    const former = site.kind === 'unknown' ? this.#former.hostOf(name) : null
    return former === null ? site : this.parse(former)
  }

  #classify(host: string): Site {
    if (host === this.#portalHost) return { kind: 'portal' }
    if (host === this.#studioHost) return { kind: 'studio' }
    if (this.#aliases.has(hostname(host))) {
      const target = this.#targetOf(portOf(host))
      return target ? { kind: 'alias', host, target } : { kind: 'unknown', host }
    }
    if (this.byPort) {
      const slug = hostname(host) === hostname(this.#portalHost) && this.#slugByPort.get(portOf(host))
      if (slug) return { kind: 'game', host, slug, preview: null, domain: null }
    } else if (host.endsWith(`.${this.#domain}`)) {
      const label = host.slice(0, -this.#domain.length - 1)
      if (!LABEL.test(label)) return { kind: 'unknown', host }
      // A slug never contains `--` (plugins/games), so the last one divides.
      const cut = label.lastIndexOf('--')
      return cut > 0
        ? { kind: 'game', host, slug: label.slice(0, cut), preview: label.slice(cut + 2), domain: null }
        : { kind: 'game', host, slug: label, preview: null, domain: null }
    }
    const slug = this.#slugByDomain.get(host)
    if (slug !== undefined) return { kind: 'game', host, slug, preview: null, domain: hostname(host) }
    const former = this.#formerSite(host)
    if (former) return former
    return isIP(hostname(host).replace(/^\[(.*)\]$/, '$1')) ? { kind: 'address', host } : { kind: 'unknown', host }
  }

  /** Where a former address leads now; null when the host was none, or has no place any more. */
  #formerSite(host: string): Site | null {
    const former = this.#former.find(host)
    if (former === null) return null
    if (former.kind === 'portal') return { kind: 'former', host, target: this.portal, slug: null }
    if (former.kind === 'port') {
      const slug = this.#slugByPort.get(former.port)
      return slug === undefined ? null : { kind: 'former', host, target: this.game(slug), slug }
    }
    const [slug] = former.label.split('--') as [string]
    const isPreview = slug !== former.label
    // With a port a game there are no previews, and only games that are there have one.
    if (this.byPort && (isPreview || !this.#portBySlug.has(slug))) return null
    return { kind: 'former', host, target: isPreview ? this.slugOrigin(former.label) : this.game(slug), slug }
  }

  /** The address behind an alias with this port. */
  #targetOf(port: number): string | null {
    if (port === portOf(this.#portalHost)) return this.portal
    const slug = this.#slugByPort.get(port)
    return slug === undefined ? null : this.game(slug)
  }

  /**
   * The route constraint `origin` (Fastify `routerOptions.constraints`): a route answers only at the origin that it
   * declares, and every route declares one.
   */
  constraint() {
    const { shared } = this
    return {
      name: 'origin',
      mustMatchWhenDerived: true,
      storage() {
        const routes: Record<string, unknown> = Object.create(null)
        return {
          get: (kind: string) => routes[kind] ?? routes.any,
          set: (origin: Origin, route: unknown) => {
            routes[shared && origin === 'studio' ? 'portal' : origin] = route
          },
        }
      },
      deriveConstraint: (request: IncomingMessage) => this.of(request).kind,
      validate(origin: unknown) {
        if (!ORIGINS.has(origin as Origin)) throw new Error(`There is no origin ${String(origin)}.`)
      },
    }
  }
}

const ORIGINS = new Set<Origin>(['portal', 'studio', 'game', 'any'])
const hostname = (host: string): string => host.replace(/:[0-9]+$/, '')
/** `:8443`, or nothing. */
const portSuffix = (host: string): string => /:[0-9]+$/.exec(host)?.[0] ?? ''
const portOf = (host: string): number => Number(/:([0-9]+)$/.exec(host)?.[1] ?? 0)
const MALFORMED: Site = { kind: 'malformed' }

/** Node keeps the first of several Host headers and hides the others; only `rawHeaders` shows them all. */
function hostHeaders(request: IncomingMessage): number {
  let count = 0
  const raw = request.rawHeaders
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}
