import { parseAddress } from './address.ts'

/** The settings of a game's server. Each absent setting comes from the named environment variable. */
export interface AuthSettings {
  /** The public id of the game's OAuth application. `SERVICE_CLIENT_ID` */
  clientId?: string | undefined
  /** The application's secret, which only the server may know. `SERVICE_CLIENT_SECRET` */
  clientSecret?: string | undefined
  /** A secret of at least 32 random bytes that encrypts this game's cookies. `SERVICE_SESSION_SECRET` */
  sessionSecret?: string | undefined
  /**
   * The registered redirect URI, exactly; it ends in `/auth/service/callback`. `SERVICE_REDIRECT_URI`
   *
   * What precedes these words is where the game is: `https://example.org/pong/auth/service/callback` for a game below
   * `/pong/`.
   */
  redirectUri?: string | undefined
  /** The portal's origin. `SERVICE_BASE_URL`; the default for a game on this machine is `http://localhost:8080`. */
  baseUrl?: string | undefined
  /** The requested scopes, space-separated: `profile`, `email`. Default: `profile` */
  scope?: string | undefined
  /** The lifetime of a session in seconds. Default: seven days */
  sessionSeconds?: number | undefined
  /** Called once per sign-in, before the player returns to the game. It can create a profile or store tokens. */
  onSignIn?: ((player: Player, tokens: Tokens) => void | Promise<void>) | undefined
  /** Replaces the global `fetch`, for example to use a proxy. */
  fetch?: typeof fetch | undefined
  /** Replaces the system clock. */
  now?: (() => Date) | undefined
}

/** A signed-in player. */
export interface Player {
  /** A stable id; use it as the key of saved games. */
  id: string
  name: string
  imageUrl: string | null
  /** Present when the scope includes `email`. */
  email?: string
}

/** The portal's tokens for this player. The adapter does not store them; `onSignIn` may store them on the server. */
export interface Tokens {
  accessToken: string
  /** The remaining lifetime in seconds. */
  expiresIn: number
  scope: string
  refreshToken?: string
}

/** Lists all missing or invalid settings, each with its fix. */
export class AuthSettingsError extends Error {
  override name = 'AuthSettingsError'
}

export interface ResolvedSettings {
  clientId: string
  clientSecret: string
  sessionSecret: string
  redirectUri: string
  /** The portal's origin. */
  baseUrl: string
  /** The game's origin. */
  origin: string
  /** The path below which the game is at its origin, such as `/pong`; empty for a game that has the origin to itself. */
  path: string
  scope: string
  sessionSeconds: number
  onSignIn: NonNullable<AuthSettings['onSignIn']>
  fetch: typeof fetch
  now: () => Date
}

const SECRET_BYTES = 32
const WEEK = 7 * 24 * 3600
const LOOPBACK = /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/
type Environment = Record<string, string | undefined>

/** Combines the settings with the environment. @throws AuthSettingsError */
export function resolveSettings(settings: AuthSettings, environment: Environment = environmentOf()): ResolvedSettings {
  const problems: string[] = []
  if (!(globalThis as { crypto?: Partial<Crypto> }).crypto?.subtle) {
    problems.push('This runtime has no Web Cryptography: use Node 20 or later, Deno, Bun or a worker.')
  }
  const read = (name: 'clientId' | 'clientSecret' | 'sessionSecret' | 'redirectUri', variable: string) => {
    // A secret from a file or a paste often ends in a line break.
    const value = (settings[name] ?? environment[variable] ?? '').trim()
    if (value === '') problems.push(`${name} is missing: pass it, or set ${variable}.`)
    return value
  }
  const clientId = read('clientId', 'SERVICE_CLIENT_ID')
  const clientSecret = read('clientSecret', 'SERVICE_CLIENT_SECRET')
  const sessionSecret = read('sessionSecret', 'SERVICE_SESSION_SECRET')
  const redirectUri = read('redirectUri', 'SERVICE_REDIRECT_URI')

  const bytes = new TextEncoder().encode(sessionSecret).length
  if (bytes > 0 && bytes < SECRET_BYTES) {
    problems.push(
      `sessionSecret has ${bytes} bytes and needs ${SECRET_BYTES} or more: make one with \`openssl rand -base64 48\`.`,
    )
  }
  const callback = parseAddress(redirectUri)
  const path = pathOf(callback)
  if (redirectUri !== '' && (path === null || !/^https?:\/\/[^?#]+$/.test(redirectUri))) {
    problems.push(`redirectUri is ${redirectUri}: it must be a whole address that ends in /auth/service/callback.`)
  }
  const local = callback !== null && LOOPBACK.test(callback.hostname)
  const base = (settings.baseUrl ?? environment.SERVICE_BASE_URL ?? (local ? 'http://localhost:8080' : '')).trim()
  const portal = parseAddress(base)
  if (base === '') problems.push('baseUrl is missing: pass the address of the portal, or set SERVICE_BASE_URL.')
  else if (!portal || !/^https?:$/.test(portal.protocol)) problems.push(`baseUrl is ${base}: it must be an address.`)
  const sessionSeconds = settings.sessionSeconds ?? WEEK
  if (!Number.isInteger(sessionSeconds) || sessionSeconds < 1) {
    problems.push('sessionSeconds must be a whole number of seconds.')
  }
  if (problems.length > 0) throw new AuthSettingsError(`Sign-in can't be set up.\n  ${problems.join('\n  ')}`)
  return {
    clientId,
    clientSecret,
    sessionSecret,
    redirectUri,
    baseUrl: (portal as URL).origin,
    origin: (callback as URL).origin,
    path: path as string,
    scope: settings.scope ?? 'profile',
    sessionSeconds,
    onSignIn: settings.onSignIn ?? (() => {}),
    fetch: settings.fetch ?? ((...request) => fetch(...request)),
    now: settings.now ?? (() => new Date()),
  }
}

/** Returns the part of a redirect URI's path that precedes the sign-in routes, or null when it isn't their callback. */
function pathOf(callback: URL | null): string | null {
  const [, path] = /^(.*)\/auth\/service\/callback\/?$/.exec(callback?.pathname ?? '') ?? []
  // The way back to the game begins with this path, and a Location with two leading slashes names a host.
  return path === undefined || path.startsWith('//') || path.endsWith('/') ? null : path
}

/**
 * Requires that the path of `redirectUri` ends with the one below which a framework serves the routes. A proxy in front
 * may remove the part before it.
 *
 * @throws AuthSettingsError
 */
export function mustServe(path: string, prefix: string): void {
  if (path.endsWith(prefix)) return
  throw new AuthSettingsError(
    `The sign-in routes are below ${prefix}/, so redirectUri must end in ${prefix}/auth/service/callback.`,
  )
}

/** Returns the environment variables; workers have no process, so theirs are empty. */
const environmentOf = (): Environment => (globalThis as { process?: { env?: Environment } }).process?.env ?? {}
