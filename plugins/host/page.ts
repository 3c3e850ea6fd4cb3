import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../../core/auth.ts'
import { type PageOptions, renderPage } from '../../core/pages.ts'

/** A page that is never kept anywhere: it says how the server is now. */
export function page(request: FastifyRequest, reply: FastifyReply, options: PageOptions): string {
  reply.header('cache-control', 'no-store')
  return renderPage(reply, { user: callerOf(request).viewer, ...options })
}

/** A size in bytes for people: `1.2 GB`. */
export function sizeOf(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, bytes < 1000 ? 0 : Math.floor(Math.log10(bytes) / 3))
  return `${power === 0 ? bytes : (bytes / 1000 ** power).toPrecision(3)} ${units[power]}`
}
