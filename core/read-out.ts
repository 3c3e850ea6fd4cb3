import type { IncomingMessage } from 'node:http'

/**
 * Reads what is left of a request's body and forgets it, before a refusal is sent. A connection that ends with bytes
 * unread is reset by the system, which takes the answer away from a client that is still sending.
 *
 * @param ms after that long the client has to do without the answer
 */
export async function readOut(body: IncomingMessage, ms = 5000): Promise<void> {
  if (body.complete || body.destroyed) return
  await new Promise<void>((done) => {
    const patience = setTimeout(done, ms)
    const end = () => {
      clearTimeout(patience)
      done()
    }
    body.once('end', end).once('close', end).once('error', end)
    body.unpipe()
    body.resume()
  })
}
