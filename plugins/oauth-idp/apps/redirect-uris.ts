import { isIP } from 'node:net'
import { fieldError } from '../players/profile.ts'
import { isNativeRedirect } from './native-redirects.ts'

const MOST = 20

interface CheckOptions {
  lan: boolean
  publicClient?: boolean
  field?: string | undefined
  served?: readonly string[]
}

/**
 * Checks the redirect URIs of an application (RFC 6749 section 3.1.2, RFC 9700 section 4.1). They are absolute HTTPS
 * addresses; HTTP is allowed only where no certificate is available. A public client may also have a scheme of its own
 * (RFC 8252 section 7.1).
 *
 * @param lan whether the platform itself is reached over plain HTTP, which other machines of the LAN may then use too
 * @param served the platform's own addresses of the game, which need no check
 * @param field the field of the caller's request from which the addresses follow; default: their own
 * @throws InvalidRequest with the refused address and the reason
 */
export function checkRedirectUris(
  uris: string[],
  { lan, publicClient = false, field, served = [] }: CheckOptions,
): void {
  if (uris.filter((uri) => !served.includes(uri)).length > MOST)
    throw fieldError('redirectUris', `An application has at most ${MOST} redirect URIs.`)
  uris.forEach((uri, index) => {
    if (served.includes(uri)) return
    const problem =
      uris.indexOf(uri) < index ? 'is there twice' : publicClient && isNativeRedirect(uri) ? null : problemOf(uri, lan)
    if (!problem) return
    if (field) throw fieldError(field, `This address ${problem}.`)
    throw fieldError(`redirectUris.${index}`, `This redirect URI ${problem}.`)
  })
}

function problemOf(uri: string, lan: boolean): string | null {
  if (uri.length > 2000) return 'is longer than 2000 characters'
  if (!/^[\x21-\x7e]+$/.test(uri) || /[\\"<>^`{|}]/.test(uri) || !URL.canParse(uri)) return 'is not a whole address'
  const url = new URL(uri)
  if (!/^https?:\/\//.test(uri)) return 'does not begin with https:// (or http:// on this machine)'
  if (uri.includes('*')) return 'has a wildcard; name each address'
  if (uri.includes('#')) return 'has a fragment'
  if (url.username || url.password || uri.slice(8).split('/', 1)[0]?.includes('@')) return 'has a user name in it'
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !(lan && isNeighbour(url.hostname)))
    return 'needs https; http is for this machine only'
  return null
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host)

/** Whether a host is a name or address of a local network. */
function isNeighbour(host: string): boolean {
  if (isIP(host) === 4) return /^(10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.)/.test(host)
  if (host.startsWith('[')) return /^\[(f[cd]|fe[89ab])/.test(host)
  return !host.includes('.') || /\.(local|lan|home|internal|home\.arpa)$/.test(host)
}

/**
 * Returns the callback address of a game on its own origin.
 *
 * @param url any address of that origin
 */
export const redirectUriOf = (url: string): string => `${new URL(url).origin}/auth/service/callback`

/**
 * Returns the callback addresses of a game with its own server: on its origin, and below its address if that has a path,
 * since several games may share an origin.
 *
 * @param url of the game: `https://example.org/pong/`
 */
export function callbacksBelow(url: string): string[] {
  // A last part with a dot is a file.
  const path = new URL(url).pathname.replace(/\/[^/]*\.[^/]*$/, '').replace(/\/+$/, '')
  const own = redirectUriOf(url)
  if (path === '' || path.startsWith('//')) return [own]
  return [own, `${new URL(url).origin}${path}/auth/service/callback`]
}

/**
 * Returns the redirect URIs that the owner registered, as stored: without the addresses that were the platform's own
 * when they were written, which follow from the current configuration.
 */
export function registeredUris({
  hosted,
  homepageUrl,
  redirectUris,
  servedUris,
}: {
  hosted: boolean
  homepageUrl?: string | null | undefined
  redirectUris: string[]
  servedUris?: string[] | null | undefined
}): string[] {
  if (!hosted) return redirectUris
  // A row of the previous version has no `servedUris`. Its first address belongs to the game's home page.
  const served = servedUris ?? (homepageUrl && URL.canParse(homepageUrl) ? [redirectUriOf(homepageUrl)] : [])
  return redirectUris.filter((uri) => !served.includes(uri))
}

/**
 * Whether a redirect URI of a request is registered. The comparison is exact (RFC 9700 section 4.1.3), except for the
 * port of a loopback address, which a native application learns only when it starts (RFC 8252 section 7.3). Coding
 * assistants use `localhost` as they use 127.0.0.1.
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true
  const portless = withoutLoopbackPort(uri)
  return portless !== null && registered.some((candidate) => withoutLoopbackPort(candidate) === portless)
}

const withoutLoopbackPort = (uri: string): string | null => {
  const [, host, rest] =
    /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?((?:[/?][\x21-\x7e]*)?)$/.exec(uri) ?? []
  return host === undefined ? null : `${host}${rest}`
}
