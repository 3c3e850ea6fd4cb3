import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../../core/http/auth.ts'
import { type PageOptions, renderPage } from '../../core/pages/index.ts'

/** Renders a page that is never cached, because it shows the current state of the server. */
export function page(request: FastifyRequest, reply: FastifyReply, options: PageOptions): string {
  reply.header('cache-control', 'no-store')
  return renderPage(reply, { user: callerOf(request).viewer, ...options })
}
