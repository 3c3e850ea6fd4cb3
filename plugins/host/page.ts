import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../../core/http/auth.ts'
import { type PageOptions, renderPage } from '../../core/pages/index.ts'

/** A page that is never kept anywhere: it says how the server is now. */
export function page(request: FastifyRequest, reply: FastifyReply, options: PageOptions): string {
  reply.header('cache-control', 'no-store')
  return renderPage(reply, { user: callerOf(request).viewer, ...options })
}
