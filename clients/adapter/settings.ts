import { parseAddress } from './address.ts'

/** The settings of a game's server. Absent ones come from the environment variable beside them. */
export interface AuthSettings {
  /** Public id of the game's OAuth application. `SERVICE_CLIENT_ID` */
  clientId?: string | undefined
  /** Its secret: for the server alone. `SERVICE_CLIENT_SECRET` */
  clientSecret?: string | undefined
  /** At least 32 bytes of randomness, which this game's cookies are encrypted with. `SERVICE_SESSION_SECRET` */
  sessionSecret?: string | undefined
  /** Where the portal sends players back to, exactly as registered: ends in `/auth/service/callback`. `SERVICE_REDIRECT_URI` */
  redirectUri?: string | undefined
  /** Origin of the portal. `SERVICE_BASE_URL`; by default `http://localhost:8080` for a game on this machine. */
  baseUrl?: string | undefined
  /** The requested scopes, space-separated: `profile`, `email`. Default: `profile` */
  scope?: string | undefined
  /** How long a player stays signed in, in seconds. Default: seven days */
  sessionSeconds?: number | undefined
  /** Called once a sign-in, before the player is back in the game: the place to make a profile or keep tokens. */
  onSignIn?: ((player: Player, tokens: Tokens) => void | Promise<void>) | undefined
  /** Instead of the global one, such as for a proxy. */
  fetch?: typeof fetch | undefined
  /** Instead of the system's time. */
  now?: (() => Date) | undefined
}

/** The player. */
export interface Player {
  /** Stable: saved games are keyed on it. */
  id: string
  name: string
  imageUrl: string | null
  /** When the scope has `email`. */
  email?: string
}

/** The portal's tokens for this player. They are not kept; `onSignIn` may keep them on the server. */
export interface Tokens {
  accessToken: string
  /** Seconds from now. */
  expiresIn: number
  scope: string
  refreshToken?: string
}

/** The settings that cannot be worked with, all of them, each with what to do. */
export class AuthSettingsError extends Error {
  override name = 'AuthSettingsError'
}

export interface ResolvedSettings {
  clientId: string
  clientSecret: string
  sessionSecret: string
  redirectUri: string
  /** Of the portal. */
  baseUrl: string
  /** Of the game. */
  origin: string
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

/** Settings and environment together. @throws AuthSettingsError */
export function resolveSettings(settings: AuthSettings, environment: Environment = environmentOf()): ResolvedSettings {
  const problems: string[] = []
  const read = (name: 'clientId' | 'clientSecret' | 'sessionSecret' | 'redirectUri', variable: string) => {
    const value = settings[name] ?? environment[variable] ?? ''
    if (value.trim() === '') problems.push(`${name} is missing: pass it, or set ${variable}.`)
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
  if (redirectUri !== '' && !/^https?:\/\/[^?#]+\/auth\/service\/callback$/.test(redirectUri)) {
    problems.push(`redirectUri is ${redirectUri}: it must be a whole address that ends in /auth/service/callback.`)
  }
  const local = callback !== null && LOOPBACK.test(callback.hostname)
  const base = settings.baseUrl ?? environment.SERVICE_BASE_URL ?? (local ? 'http://localhost:8080' : '')
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
    scope: settings.scope ?? 'profile',
    sessionSeconds,
    onSignIn: settings.onSignIn ?? (() => {}),
    fetch: settings.fetch ?? ((...request) => fetch(...request)),
    now: settings.now ?? (() => new Date()),
  }
}

/** Empty in workers, which have no process. */
const environmentOf = (): Environment => (globalThis as { process?: { env?: Environment } }).process?.env ?? {}
