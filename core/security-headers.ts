import helmet from '@fastify/helmet'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Origins } from './origins.ts'

/**
 * Security headers of portal and Studio, by helmet. The game origin serves other people's pages and sets its own.
 *
 * Away from helmet's defaults: no `form-action`, since sign-in forms are answered by a redirect to a game's origin,
 * which Chromium counts as a form target; no `upgrade-insecure-requests` and no HSTS on plain http, which would cut
 * LANs off; nothing inline at all.
 */
export async function registerSecurityHeaders(app: FastifyInstance, origins: Origins): Promise<void> {
  app.addHook('onRoute', (route) => {
    const origin = (route.constraints as { origin?: string } | undefined)?.origin
    if (origin === 'game') route.helmet = false
  })
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'self'"],
        'script-src': ["'self'"],
        'style-src': ["'self'"],
        'img-src': ["'self'", 'data:', origins.gamePattern],
        'font-src': ["'self'"],
        'connect-src': ["'self'"],
        // Itself too: the sign-in of a framed game is redirected through /oauth/authorize, and each hop is checked.
        'frame-src': ["'self'", origins.gamePattern],
        'frame-ancestors': ["'none'"],
        'base-uri': ["'none'"],
        'object-src': ["'none'"],
      },
    },
    strictTransportSecurity: origins.secure ? { maxAge: 31_536_000, includeSubDomains: false } : false,
    xFrameOptions: { action: 'deny' },
    referrerPolicy: { policy: 'same-origin' },
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    crossOriginResourcePolicy: { policy: 'same-origin' },
  })
}

/** Lets the page that is being answered frame one origin more, such as a game that lives elsewhere. */
export function allowFrame(reply: FastifyReply, origin: string): void {
  const policy = String(reply.getHeader('content-security-policy') ?? '')
  reply.header('content-security-policy', policy.replace(/frame-src [^;]*/, `$& ${origin}`))
}
