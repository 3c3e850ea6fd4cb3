import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type CookieNames, cookieNamesAt } from '../../../core/origins/cookies.ts'

/** The inputs for a cookie's attributes: the game's address, and whether the request comes from a frame. */
export interface CookieSite {
  /** Whether the game is reached over HTTPS. */
  secure: boolean
  /** Whether the game is in a frame of another site, where browsers keep only partitioned cookies. */
  framed: boolean
  /** Whether the host is `localhost` or below it, where browsers accept `Secure` cookies over plain HTTP too. */
  loopback: boolean
}

/** @param host the Host header, already checked by core/origins/origins.ts */
export function cookieSite(request: IncomingMessage, host: string, secure: boolean): CookieSite {
  const sameSite = request.headers['sec-fetch-site'] === 'same-site'
  return { secure, framed: isFramed(request) && !sameSite, loopback: isLoopback(host) }
}

/** Whether the response goes into a frame. Browsers send this only to origins that they trust (`saysNothing`). */
export function isFramed({ headers }: IncomingMessage): boolean {
  const destination = headers['sec-fetch-dest']
  return destination === 'iframe' || destination === 'frame'
}

const INTO_FRAMES: ReadonlySet<unknown> = new Set(['iframe', 'frame', 'embed', 'object', 'empty'])

/**
 * Whether a document may be shown in a frame. Service workers request all documents alike, as scripts do (`empty`), and
 * may cache them.
 *
 * @param secure reached over https
 */
export const mayBeFramed = (request: IncomingMessage, secure: boolean): boolean =>
  INTO_FRAMES.has(request.headers['sec-fetch-dest']) || saysNothing(request, secure)

/** Whether a browser omits the destination: over plain HTTP it sends it only at `localhost`. */
export const saysNothing = ({ headers }: IncomingMessage, secure: boolean): boolean =>
  headers['sec-fetch-dest'] === undefined && !secure && !isLoopback(headers.host ?? '')

/** Whether a host is `localhost` or below it. */
export const isLoopback = (host: string): boolean => /(^|\.)localhost(:[0-9]+)?$/.test(host)

/** The purposes of the platform's cookies on a game's origin, with their names on http. */
const PURPOSES = { session: 'game', state: 'state', preview: 'preview', site: 'site' } as const

/**
 * Returns the names of a cookie: with `__Host-` if browsers accept it, so that a sibling game can't set such a cookie.
 *
 * @param origin of the game
 * @param suffix distinguishes cookies of one purpose
 */
export function gameCookie(origin: string, purpose: keyof typeof PURPOSES, suffix = ''): CookieNames {
  const { name, former } = cookieNamesAt(origin, { http: PURPOSES[purpose], https: `__Host-service_${purpose}` })
  return { name: name + suffix, former: former === null ? null : former + suffix }
}

const PARTITIONED = 'SameSite=None; Secure; Partitioned'
const PLAIN = 'SameSite=Lax'

/** The name of the session of players in the OpenAPI document. */
const GAME_SESSION = 'gameSession'
/** The `security` of routes for the player who is signed in to the game. */
export const OF_PLAYER = [{ [GAME_SESSION]: [] }]
/** The `security` of routes that say more to that player. */
export const MORE_TO_PLAYER = [{}, ...OF_PLAYER]

/** Describes the session of players for the OpenAPI document. @param origin of a game */
export const describeGameSession = (origin: string): FastifyInstance['securitySchemes'] => ({
  [GAME_SESSION]: {
    type: 'apiKey',
    in: 'cookie',
    name: gameCookie(origin, 'session').name,
    description: "The session of a player at a game's own address. `/auth/service/start` there begins it.",
  },
})

/** Returns the attributes that this request's browser accepts (measured in Chromium). */
const attributesFor = ({ secure, framed, loopback }: CookieSite): string =>
  secure || (framed && loopback) ? PARTITIONED : PLAIN

/** Creates a `Set-Cookie` header. */
export const setCookie = (site: CookieSite, name: string, value: string, maxAgeSeconds: number): string =>
  `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; ${attributesFor(site)}`

/**
 * Returns the `Set-Cookie` headers that remove a cookie in every form in which it may have been set.
 *
 * On loopback a plain and a partitioned cookie of one name can coexist, and two session cookies count as signed out.
 * Setting one form therefore removes the other (`except` is the form just set).
 */
export function clearCookie(site: CookieSite, name: string, except?: 'current'): string[] {
  const forms = site.secure ? [PARTITIONED] : site.loopback ? [PLAIN, PARTITIONED] : [PLAIN]
  return forms
    .filter((form) => except === undefined || form !== attributesFor(site))
    .map((form) => `${name}=; Path=/; Max-Age=0; HttpOnly; ${form}`)
}

/** The platform's own cookies of a game's origin. */
const OWN = /^(?:(?:__Host-)?service_|gameyard_)/
/** The maximum size of these headers, because proxies limit a response's headers (nginx: 4 KiB in total). */
const EXPIRING_BYTES = 2048

/**
 * Returns `Set-Cookie` headers that remove cookies which scripts of a game have set for its host, at the path `/`; as
 * many as fit. The platform's own cookies stay: a forged one fails verification.
 *
 * @param host with or without a port
 */
export function expireForeign(site: CookieSite, host: string, names: readonly string[]): string[] {
  const hostname = host.replace(/:[0-9]+$/, '')
  const expired: string[] = []
  let bytes = 0
  for (const name of names) {
    if (OWN.test(name)) continue
    const plain = `${name}=; Path=/; Max-Age=0${site.secure ? '; Secure' : ''}`
    const form = site.framed ? `${plain}; SameSite=None; Partitioned` : plain
    const forms = name.startsWith('__Host-') ? [form] : [form, `${form}; Domain=${hostname}`]
    bytes += forms.join('').length
    if (bytes > EXPIRING_BYTES) break
    expired.push(...forms)
  }
  return expired
}
