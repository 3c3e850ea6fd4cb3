import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { compile } from '@fastify/proxy-addr'
import type { Config } from '../core/config.ts'
import type { Findings } from './findings.ts'
import { isMapping } from './validate.ts'

/**
 * Derives the unset addresses from those that are set: they use the configured port, the Studio shares the portal's
 * origin, and on a loopback name the games are subdomains of it.
 */
export function deriveAddresses(values: Record<string, unknown>): void {
  const listened = value(values, 'listen', 'port')
  // Another value is reported by validation, and not once more as part of the address.
  const port = isPort(listened) ? listened : 8080
  fill(values, 'portal', 'url', `http://localhost:${port}`)
  const portal = value(values, 'portal', 'url')
  if (typeof portal !== 'string' || !URL.canParse(portal)) return
  const { hostname, host } = new URL(portal)
  if (/^https?:\/\/[^/]+$/.test(portal)) fill(values, 'studio', 'url', portal)
  if (isLoopback(hostname)) fill(values, 'games', 'domain', hostname === 'localhost' ? host : `localhost:${port}`)
}

const isPort = (port: unknown): port is number => Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535

/** Keys of files and folders on this machine. */
const PATHS = [
  ['dataDir'],
  ['listen', 'socket'],
  ['listen', 'tls', 'cert'],
  ['listen', 'tls', 'key'],
  ['listen', 'tls', 'challenges'],
  ['bus', 'path'],
  ['backup', 'to'],
  ['portal', 'legal', 'terms'],
  ['portal', 'legal', 'privacy'],
]

/** Only a shell knows `~`. Here it would make a folder of that name, which is risky to remove in a shell. */
function checkPaths(config: Config, error: Findings['error']): void {
  for (const path of PATHS) {
    const text = path.reduce<unknown>((at, key) => (isMapping(at) ? at[key] : undefined), config)
    if (typeof text === 'string' && /^~(\/|$)/.test(text))
      error(
        path,
        `${path.join('.')}: ${text} is not in your home folder; write the whole path: ${join(homedir(), text.slice(1))}`,
      )
  }
}

/** Checks rules that involve several values: contradictory combinations, and settings that weaken security. */
export function checkRules(config: Config, { error, warning }: Pick<Findings, 'error' | 'warning'>): void {
  if (config.trustProxy === true)
    warning(
      ['trustProxy'],
      'trustProxy: true lets anyone choose the address they seem to come from; name the addresses of your proxy instead',
    )
  checkProxies(config, error)
  checkPaths(config, error)
  const { host } = config.listen ?? {}
  if (host && !isIP(host) && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(host))
    error(['listen', 'host'], `listen.host: ${host} is no address; the port is listen.port`)
  checkSocket(config, { error, warning })
  checkTls(config, error)
  checkProcesses(config, error)
  if (config.games?.origins === 'port') {
    // Cookies ignore ports, so games on one host share them. Only trusted players should make games there; every start
    // warns.
    warning(
      ['games', 'origins'],
      'games.origins: port puts every game on the name of the portal, whose cookies they can then interfere with; use it where every game is trusted',
    )
    return
  }
  const domain = config.games?.domain
  const urls = [config.portal?.url, config.studio?.url]
  if (typeof domain !== 'string' || !urls.every((url) => URL.canParse(url ?? ''))) return // validation reports it
  const wrong = [domain, ...(config.games.formerDomains ?? [])].find((name) => !isDomain(name))
  if (wrong !== undefined) {
    error(
      ['games', wrong === domain ? 'domain' : 'formerDomains'],
      `games: ${wrong} is no domain; check its name and its port`,
    )
    return
  }
  const games = hostOf(`http://${domain}`)
  const hosts = urls.map((url) => hostOf(url as string)).filter((host) => !isLoopback(host))
  const neighbour = hosts.find((host) => registrable(host) === registrable(games))
  const path = ['games', 'domain']
  if (hosts[0] && isLoopback(games))
    error(
      path,
      `games.domain: ${games} is only this machine, yet players come to ${hosts[0]}; set the domain that games live below`,
    )
  else if (neighbour && config.games.allowSameSite)
    warning(path, `games below ${games} can interfere with the cookies of ${neighbour}, as games.allowSameSite permits`)
  else if (neighbour)
    error(
      path,
      `games.domain: ${games} shares its domain with ${neighbour}, so any game could set cookies for it; use another domain for games (example-games.net beside example.org) or, where every game is trusted, set games.allowSameSite: true`,
    )
}

/** Checks that proxies are addresses. Their names would be resolved once, and containers change their addresses. */
function checkProxies({ trustProxy }: Config, error: Findings['error']): void {
  const entries = [trustProxy].flat().flatMap((entry) => (typeof entry === 'string' ? entry.split(',') : []))
  for (const entry of entries.map((text) => text.trim())) {
    try {
      compile([entry])
    } catch {
      error(
        ['trustProxy'],
        `trustProxy: ${entry} is no address; write the address of the proxy or its network, such as 172.16.0.0/12, or one of loopback, linklocal and uniquelocal`,
      )
    }
  }
}

/** Checks that nothing needs a port where the server listens on a Unix socket. */
function checkSocket(config: Config, { error, warning }: Pick<Findings, 'error' | 'warning'>): void {
  const { socket, tls, processes } = config.listen ?? {}
  if (!socket) return
  const needsPort = [
    tls?.cert && 'listen.tls',
    processes !== 1 && 'listen.processes',
    config.lan?.enabled && 'lan.enabled',
    config.games?.origins === 'port' && 'games.origins: port',
  ].find(Boolean)
  if (needsPort) error(['listen', 'socket'], `listen.socket: ${needsPort} needs a port; remove one of the two`)
  if (config.trustProxy === false)
    warning(
      ['listen', 'socket'],
      'listen.socket: without the address of the proxy all visitors look like one; set trustProxy: [127.0.0.1]',
    )
}

/** Checks that several processes can share what they need. */
function checkProcesses({ listen, bus, database }: Config, error: Findings['error']): void {
  if ((listen?.processes ?? 1) === 1) return
  if ((bus as { driver?: string })?.driver === 'local')
    error(['bus', 'driver'], 'bus.driver: local connects no processes, and listen.processes asks for several; use ipc')
  if ((database as { file?: string })?.file === ':memory:')
    error(
      ['database', 'file'],
      'database.file: a database in memory belongs to one process, and listen.processes asks for several; name a file',
    )
}

/** Checks https from files: certificate and key must both be set, and the address must be an https one. */
function checkTls({ listen, lan, portal }: Config, error: Findings['error']): void {
  const { cert, key, redirectPort, challenges } = listen?.tls ?? {}
  if (redirectPort && !cert && !key)
    error(
      ['listen', 'tls', 'redirectPort'],
      'listen.tls.redirectPort: there is no https to lead to without cert and key',
    )
  if (redirectPort && redirectPort === listen.port)
    error(
      ['listen', 'tls', 'redirectPort'],
      'listen.tls.redirectPort: listen.port understands plain http itself; name another port, such as 80',
    )
  if (challenges && !redirectPort)
    error(
      ['listen', 'tls', 'challenges'],
      'listen.tls.challenges: authorities look on port 80; set listen.tls.redirectPort too',
    )
  if (!cert && !key) return
  if (!cert || !key)
    error(['listen', 'tls'], `listen.tls: ${cert ? 'key' : 'cert'} is missing; https needs a certificate and its key`)
  else if (lan?.https)
    error(['lan', 'https'], 'lan.https: listen.tls brings a certificate already; choose one of the two')
  else if (lan?.enabled)
    error(
      ['listen', 'tls'],
      'listen.tls: in the LAN mode the platform is at an address of the network, which your certificate is not for; leave listen.tls out, and for https use --https (lan.https)',
    )
  else if (!portal?.url?.startsWith('https:'))
    error(
      ['portal', 'url'],
      'portal.url: with listen.tls the platform speaks https, so its address begins with https://',
    )
}

/**
 * The registrable domain of a name, guessed without the public suffix list: its last two labels. For a suffix of two
 * labels (co.uk) this treats unrelated names as one domain. It never treats one domain as two, so it errs on the side
 * of refusing.
 */
const registrable = (host: string): string =>
  isIP(host.replace(/[[\]]/g, '')) ? host : host.split('.').slice(-2).join('.')

/** Whether a name or address is a loopback one, where no other party can serve a page. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host)

/** Whether a text is a name with an optional port, without empty parts. */
const isDomain = (name: string): boolean => URL.canParse(`http://${name}`) && !/^\.|\.\./.test(name)

const hostOf = (url: string): string => new URL(url).hostname.replace(/\.$/, '')

function value(values: Record<string, unknown>, section: string, key: string): unknown {
  const mapping = values[section]
  return isMapping(mapping) ? (mapping[key] ?? undefined) : undefined
}

/** Sets a key that the configuration leaves unset. */
export function fill(values: Record<string, unknown>, section: string, key: string, derived: unknown): void {
  values[section] ??= {}
  const mapping = values[section]
  if (isMapping(mapping) && !Object.hasOwn(mapping, key)) mapping[key] = derived
}
