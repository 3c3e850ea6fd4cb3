import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'

const PATIENCE_MS = 5000
/** Node reads a smaller rest by itself after the response, and the connection stays open. */
const SMALL_BYTES = 64 * 1024

/**
 * Reads and discards the rest of a request's body before a refusal is sent. The system resets a connection that is
 * closed with unread bytes, and a client that is still sending then loses the response.
 *
 * @param most after this many bytes, or 5 seconds, the response is sent while the client still sends
 */
export async function drainBody(body: IncomingMessage, most = 32 * 1024 * 1024): Promise<void> {
  if (body.complete || body.readableEnded || body.destroyed) return
  await new Promise<void>((done) => {
    const end = () => {
      clearTimeout(patience)
      body.off('data', count).pause()
      done()
    }
    const patience = setTimeout(end, PATIENCE_MS)
    let read = 0
    const count = (chunk: Buffer) => {
      read += chunk.length
      if (read > most) end()
    }
    body.once('end', end).once('close', end).once('error', end)
    body.unpipe()
    body.on('data', count).resume()
  })
}

/**
 * Announces the end of the connection before a response to a request whose body is still arriving, and closes it so
 * that the response arrives. Only the server's side is closed; bytes that the client sends in the next five seconds are
 * discarded.
 */
export function closeAfterResponse({ raw, routeOptions }: FastifyRequest, reply: FastifyReply): void {
  const { complete, headers } = raw
  const length = headers['content-length']
  if (complete || (length === undefined && headers['transfer-encoding'] === undefined)) return
  if (Number(length) <= SMALL_BYTES && !routeOptions.config.upload) return
  reply.header('connection', 'close')
  halfClose(raw)
}

/**
 * Closes the connection after the response to this request so that the response arrives. Only the server's side is
 * closed; bytes that the client sends in the next five seconds are discarded.
 */
export function halfClose(request: IncomingMessage): void {
  const { socket } = request
  // Node calls it after it has written the response.
  socket.destroySoon = () => {
    request.unpipe()
    request.resume()
    socket.end()
    const patience = setTimeout(() => socket.destroy(), PATIENCE_MS)
    socket.once('close', () => clearTimeout(patience))
  }
}
