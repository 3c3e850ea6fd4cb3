import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'

const PATIENCE_MS = 5000
/** Less than that Node reads by itself once the answer is out, and the connection lives on. */
const SMALL_BYTES = 64 * 1024

/**
 * Reads what is left of a request's body and forgets it, before a refusal is sent. A connection that ends with bytes
 * unread is reset by the system, which takes the answer away from a client that is still sending.
 *
 * @param most after so many bytes, or 5 seconds, the answer is sent while the client still sends
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
 * Before an answer to a request whose body is still on its way: says that the connection ends with it, and ends it so
 * that the answer arrives. Only our side is closed; what the client still sends in the next five seconds is forgotten.
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
 * Has a connection end with the answer to this request so that the answer arrives: only our side is closed, and what the
 * client still sends in the next five seconds is forgotten.
 */
export function halfClose(request: IncomingMessage): void {
  const { socket } = request
  // Called by Node once the answer is written.
  socket.destroySoon = () => {
    request.unpipe()
    request.resume()
    socket.end()
    const patience = setTimeout(() => socket.destroy(), PATIENCE_MS)
    socket.once('close', () => clearTimeout(patience))
  }
}
