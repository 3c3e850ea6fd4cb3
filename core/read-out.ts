import type { IncomingMessage } from 'node:http'

const PATIENCE_MS = 5000

/**
 * Reads what is left of a request's body and forgets it, before a refusal is sent. A connection that ends with bytes
 * unread is reset by the system, which takes the answer away from a client that is still sending.
 *
 * @param most after so many bytes, or 5 seconds, the client has to do without the answer
 */
export async function readOut(body: IncomingMessage, most = 32 * 1024 * 1024): Promise<void> {
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
