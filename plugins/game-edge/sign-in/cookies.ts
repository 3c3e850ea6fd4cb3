import type { IncomingMessage } from 'node:http'

/** The inputs for a cookie's attributes: the game's address, and whether the request comes from a frame. */
export interface CookieSite {
  /** Reached over https. */
  secure: boolean
  /** In a frame of another site: there browsers keep only partitioned cookies. */
  framed: boolean
  /** `localhost` or a name below it, where browsers take `Secure` cookies over plain http too. */
  loopback: boolean
}

/** @param host the Host header, already checked by core/origins/origins.ts */
export function cookieSite(request: IncomingMessage, host: string, secure: boolean): CookieSite {
  const sameSite = request.headers['sec-fetch-site'] === 'same-site'
  return { secure, framed: isFramed(request) && !sameSite, loopback: isLoopback(host) }
}

/** Whether what is asked for goes into a frame. Browsers say so to origins that they trust only (`saysNothing`). */
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

/** Whether a browser would not say what it asks for: over plain http it does at `localhost` alone. */
export const saysNothing = ({ headers }: IncomingMessage, secure: boolean): boolean =>
  headers['sec-fetch-dest'] === undefined && !secure && !isLoopback(headers.host ?? '')

/** Whether a host is `localhost` or a name below it. */
export const isLoopback = (host: string): boolean => /(^|\.)localhost(:[0-9]+)?$/.test(host)

/** `__Host-` wherever browsers take it: a sibling game can't set such a cookie for us. */
export const cookieName = (name: string, secure: boolean): string => (secure ? `__Host-${name}` : name)

const PARTITIONED = 'SameSite=None; Secure; Partitioned'
const PLAIN = 'SameSite=Lax'

/** The attributes that this request's browser keeps: contracts, section 7 (measured in Chromium). */
const attributesFor = ({ secure, framed, loopback }: CookieSite): string =>
  secure || (framed && loopback) ? PARTITIONED : PLAIN

/** A `Set-Cookie` header. */
export const setCookie = (site: CookieSite, name: string, value: string, maxAgeSeconds: number): string =>
  `${cookieName(name, site.secure)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; ${attributesFor(site)}`

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
    .map((form) => `${cookieName(name, site.secure)}=; Path=/; Max-Age=0; HttpOnly; ${form}`)
}

/** The platform's own cookies of a game's origin. */
const OWN = /^(?:__Host-)?service_/
/** Proxies take answers with so much in the headers and hardly more (nginx: 4 KiB in all). */
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
