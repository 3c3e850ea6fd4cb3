import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import helmet, { type HelmetOptions } from 'helmet'
import type { Origins } from '../origins/origins.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The route sets its own security headers, like all routes of the game origin, which serve other people's pages.
     */
    ownSecurityHeaders?: boolean
  }
}

/**
 * Sets the security headers of portal and Studio, using helmet. The game origin serves other people's pages and sets
 * its own.
 *
 * Differences from helmet's defaults: no `form-action`, since sign-in forms are answered by a redirect to a game's
 * origin, which Chromium counts as a form target. No `upgrade-insecure-requests` and no HSTS on plain http, which would
 * make LANs unreachable. No HSTS with a LAN's own certificates, since the next game jam may run without them. Nothing
 * inline.
 */
export function installSecurityHeaders(app: FastifyInstance, origins: Origins, { lan }: { lan: boolean }): void {
  app.addHook('onRoute', (route) => {
    const origin = (route.constraints as { origin?: string } | undefined)?.origin
    if (origin === 'game') route.config = Object.assign(route.config ?? {}, { ownSecurityHeaders: true })
  })
  const headers = headersOf({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'self'"],
        'script-src': ["'self'"],
        'style-src': ["'self'"],
        'img-src': ["'self'", 'data:', origins.gamePattern],
        'font-src': ["'self'"],
        'connect-src': ["'self'"],
        // `'self'` is needed because the sign-in of a framed game is redirected through /oauth/authorize, and CSP
        // checks each hop.
        'frame-src': ["'self'", origins.gamePattern],
        'frame-ancestors': ["'none'"],
        'base-uri': ["'none'"],
        'object-src': ["'none'"],
      },
    },
    strictTransportSecurity: origins.secure && !lan ? { maxAge: 31_536_000, includeSubDomains: false } : false,
    xFrameOptions: { action: 'deny' },
    referrerPolicy: { policy: 'same-origin' },
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    crossOriginResourcePolicy: { policy: 'same-origin' },
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.routeOptions.config.ownSecurityHeaders) reply.headers(headers)
    done()
  })
}

/** Computes helmet's headers once, since they are the same for every response. */
function headersOf(options: HelmetOptions): Record<string, string> {
  const headers: Record<string, string> = {}
  const answer = {
    setHeader: (name: string, value: string) => {
      headers[name.toLowerCase()] = value
    },
    removeHeader: () => {},
  }
  helmet(options)({} as IncomingMessage, answer as unknown as ServerResponse, () => {})
  return headers
}

/**
 * Extends the Content-Security-Policy of one page, for example to frame a game on another origin.
 *
 * @param sources the sources to add, by directive
 */
export function extendPolicy(reply: FastifyReply, sources: Record<string, readonly string[]>): void {
  let policy = String(reply.getHeader('content-security-policy') ?? '')
  for (const [directive, more] of Object.entries(sources)) {
    const known = new RegExp(`(^|;)${directive} [^;]*`)
    policy = known.test(policy)
      ? policy.replace(known, (value) => `${value} ${more.join(' ')}`)
      : `${policy};${directive} ${more.join(' ')}`
  }
  reply.header('content-security-policy', policy)
}
