import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../../core/auth.ts'
import { type PageOptions, renderPage } from '../../core/pages.ts'

/** A page that is never kept anywhere: it says how the server is now. */
export function page(request: FastifyRequest, reply: FastifyReply, options: PageOptions): string {
  reply.header('cache-control', 'no-store')
  return renderPage(reply, { user: callerOf(request).viewer, ...options })
}
