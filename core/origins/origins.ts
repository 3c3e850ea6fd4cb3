import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import { FormerAddresses } from './former-addresses.ts'

/** The origin of a route. `any` is for the few addresses that answer on every Host, such as /healthz. */
export type Origin = 'portal' | 'studio' | 'game' | 'any'

/** The site of a request, determined by its Host header alone. */
export type Site =
  | { kind: 'portal' | 'studio' }
  /** `preview` is the short deploy id of `<slug>--<id>.<domain>`; `domain` is a custom domain of the game. */
  | { kind: 'game'; host: string; slug: string; preview: string | null; domain: string | null }
  /**
   * Another name of the portal or of a game, which redirects to the same path of `target`, an origin: the domain of the
   * games itself, and on a LAN the other names of the machine.
   */
  | { kind: 'alias'; host: string; target: string }
  /**
   * A former address of the platform. GET and HEAD are redirected to the same path of `target`. `slug` belongs to a
   * game.
   */
  | { kind: 'former'; host: string; target: string; slug: string | null }
  /** An IP address instead of a name. */
  | { kind: 'address'; host: string }
  | { kind: 'unknown'; host: string }
  | { kind: 'malformed' }

const HOST =
  /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/
/** The dot after a whole name (RFC 1034, section 3.1). */
const ROOT_DOT = /(?<=[a-z0-9])\.(?=$|:)/
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const KNOWN_HOSTS = 10_000

declare module 'node:http' {
  interface IncomingMessage {
    site?: Site
  }
}

/** A custom domain, at which a game is also served (plugins/domains). */
export interface CustomDomain {
  /** Lower case, without a port. */
  name: string
  slug: string
  /** Whether this is the game's main address, to which its other addresses redirect. */
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
  readonly #defaultPort: RegExp
  readonly #domain: string
  readonly #portalHost: string
  readonly #studioHost: string
  readonly #sites = new Map<string, Site>()
  /** Further names of the portal, without a port. */
  readonly #aliases: ReadonlySet<string>
  /** Slug by port, with `games.origins: port`. */
  readonly #slugByPort = new Map<number, string>()
  readonly #portBySlug = new Map<string, number>()
  /** Slug by the host of a custom domain. */
  #slugByDomain: ReadonlyMap<string, string> = new Map()
  /** The origin of the main address by slug, for games whose owners chose one. */
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
    this.#defaultPort = this.#scheme === 'https:' ? /:443$/ : /:80$/
    this.#domain = config.games.domain
    this.byPort = config.games.origins === 'port'
    this.#former = new FormerAddresses(config)
    this.#aliases = new Set(config.lan?.enabled ? [`${config.lan.name}.local`, 'localhost'] : [])
  }

  /** Whether the Studio shares the portal's origin. */
  get shared(): boolean {
    return this.#portalHost === this.#studioHost
  }

  /** Whether the platform is served over https, so that cookies can be Secure. */
  get secure(): boolean {
    return this.#scheme === 'https:'
  }

  /**
   * Returns the main origin of a game, without a trailing slash: its main custom domain, otherwise its default origin.
   */
  game(slug: string): string {
    return this.#primaries.get(slug) ?? this.slugOrigin(slug)
  }

  /**
   * Returns the default origin of a game: `https://<slug>.<domain>`, or with `games.origins: port` the portal's name
   * with the game's port.
   */
  slugOrigin(slug: string): string {
    if (this.byPort) return `${this.#scheme}//${hostname(this.#portalHost)}:${this.#portBySlug.get(slug) ?? 0}`
    return `${this.#scheme}//${slug}.${this.#domain}`
  }

  /** Lists every origin of a game except its previews: the default origin first, then its custom domains. */
  allOf(slug: string): string[] {
    const domains = [...this.#slugByDomain].filter(([, owner]) => owner === slug)
    return [this.slugOrigin(slug), ...domains.map(([host]) => this.atHost(host))]
  }

  /** Returns a Content-Security-Policy source that matches the origin of every game. */
  get gamePattern(): string {
    return this.byPort ? `${this.#scheme}//${hostname(this.#portalHost)}:*` : `${this.#scheme}//*.${this.#domain}`
  }

  /** Number of `setDomains` calls. Cached knowledge of domains is valid while the number is unchanged. */
  get domainsRead(): number {
    return this.#domainsRead
  }

  /** Returns the origin of a custom domain, with the port of the games' domain. */
  domainOrigin(name: string): string {
    return this.atHost(name + portSuffix(this.#domain))
  }

  /** Returns the origin of a host. @param host host of a site, with its port */
  atHost(host: string): string {
    return `${this.#scheme}//${host}`
  }

  /** Returns the main address of a game if it is another one; null for the main address itself and for previews. */
  movesTo({ host, slug, preview }: Extract<Site, { kind: 'game' }>): string | null {
    const primary = this.#primaries.get(slug)
    return primary === undefined || preview !== null || primary === this.atHost(host) ? null : primary
  }

  /** Replaces all custom domains of games. */
  setDomains(domains: readonly CustomDomain[]): void {
    const suffix = portSuffix(this.#domain)
    this.#slugByDomain = new Map(domains.map(({ name, slug }) => [name + suffix, slug]))
    const primaries = domains.filter(({ isPrimary }) => isPrimary)
    this.#primaries = new Map(primaries.map(({ name, slug }) => [slug, this.domainOrigin(name)]))
    this.#domainsRead++
    this.#sites.clear()
  }

  /** Moves the custom domains of a game to another slug, until the next `setDomains` call. */
  moveDomains(from: string, to: string): void {
    const moved = (slug: string) => (slug === from ? to : slug)
    this.#slugByDomain = new Map([...this.#slugByDomain].map(([host, slug]) => [host, moved(slug)]))
    this.#primaries = new Map([...this.#primaries].map(([slug, origin]) => [moved(slug), origin]))
    this.#sites.clear()
  }

  /**
   * Whether a name belongs to the platform or is below the domain of the games, so that no game can use it as a custom
   * domain.
   */
  owns(name: string): boolean {
    const own = [this.#portalHost, this.#studioHost, this.#domain].map(hostname)
    if (own.includes(name) || this.#aliases.has(name) || name.endsWith(`.${hostname(this.#domain)}`)) return true
    return this.#former.hostOf(name) !== null
  }

  /** Assigns a port to a game; a game that changes its slug keeps it. Only with `byPort`. */
  assignPort(slug: string, port: number): void {
    const before = this.#slugByPort.get(port)
    if (before) this.#portBySlug.delete(before)
    this.#slugByPort.set(port, slug)
    this.#portBySlug.set(slug, port)
    this.#sites.clear()
  }

  /** Lists the ports of games, with the slugs. */
  gamePorts(): [port: number, slug: string][] {
    return [...this.#slugByPort]
  }

  /** Returns the site of a request. Caches it on the request and, for well-formed hosts, between requests. */
  of(request: IncomingMessage): Site {
    if (request.site) return request.site
    const site = hostHeaders(request) > 1 ? MALFORMED : this.parse(request.headers.host ?? '')
    request.site = site
    return site
  }

  /** Returns the site of a Host header. The default port, and the dot of the DNS root, make no other site. */
  parse(header: string): Site {
    const known = this.#sites.get(header)
    if (known) return known
    if (header.length > 255) return MALFORMED
    const named = header.toLowerCase().replace(ROOT_DOT, '')
    if (!HOST.test(named)) return MALFORMED
    const host = named.replace(this.#defaultPort, '')
    const site = this.#classify(host)
    // Unknown names are not cached, because clients can invent any number of them.
    if (site.kind !== 'unknown') {
      if (this.#sites.size >= KNOWN_HOSTS) this.#sites.clear()
      this.#sites.set(header, site)
    }
    return site
  }

  /** Returns the site of a bare name at whatever port. @param name lower case, as in a certificate */
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
    if (host === this.#domain && !this.byPort) return { kind: 'alias', host, target: this.portal }
    if (this.byPort) {
      const slug = hostname(host) === hostname(this.#portalHost) && this.#slugByPort.get(portOf(host))
      if (slug) return { kind: 'game', host, slug, preview: null, domain: null }
    } else if (host.endsWith(`.${this.#domain}`)) {
      const label = host.slice(0, -this.#domain.length - 1)
      if (!LABEL.test(label)) return { kind: 'unknown', host }
      // A slug never contains `--` (plugins/games), so the last `--` is the separator.
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

  /** Returns the current target of a former address; null when the host is not one, or has no target any more. */
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
    // With `games.origins: port` there are no previews, and only existing games have a port.
    if (this.byPort && (isPreview || !this.#portBySlug.has(slug))) return null
    return { kind: 'former', host, target: isPreview ? this.slugOrigin(former.label) : this.game(slug), slug }
  }

  /** Returns the address behind an alias with this port. */
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
/** Returns a port suffix such as `:8443`, or an empty string. */
const portSuffix = (host: string): string => /:[0-9]+$/.exec(host)?.[0] ?? ''
const portOf = (host: string): number => Number(/:([0-9]+)$/.exec(host)?.[1] ?? 0)
const MALFORMED: Site = { kind: 'malformed' }

/** Counts the Host headers. Node keeps only the first of several; `rawHeaders` has them all. */
function hostHeaders(request: IncomingMessage): number {
  let count = 0
  const raw = request.rawHeaders
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}
