import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Answers with server-sent events, piece by piece. */
export const sendEvents = (
  reply: {
    header(name: string, value: string): unknown
    serializer(fn: (payload: string) => string): unknown
    send(payload: never): unknown
  },
  pieces: AsyncGenerator<string>,
): FastifyReply => {
  reply.header('cache-control', 'no-store')
  reply.header('x-accel-buffering', 'no')
  reply.header('content-type', 'text/event-stream')
  reply.serializer((payload) => payload)
  return reply.send(Readable.from(pieces) as never) as FastifyReply
}
