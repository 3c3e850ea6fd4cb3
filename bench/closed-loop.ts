// A closed-loop load generator: each connection sends its next request when the response to the former one is complete.
import { once } from 'node:events'
import { connect } from 'node:net'

/** Returns whether an HTTP response is complete. @throws when it is no success */
function isHttpResponse(received: string): boolean {
  const head = received.indexOf('\r\n\r\n')
  if (head < 0) return false
  if (!/^HTTP\/1\.1 20[01] /.test(received)) throw new Error(received.slice(0, 500))
  return received.length >= head + 4 + Number(/content-length: (\d+)/i.exec(received)?.[1])
}

/**
 * Sends requests over a few connections. This process never sleeps meanwhile: waking it for each response would cost the
 * server CPU time, and more so the faster the server is. A load that shares its core with the server is not to stay
 * awake, since it would take the core from it.
 *
 * @param load the number of connections and requests, and the bytes of each request by its number
 * @param isComplete tells whether a response has arrived whole, and throws when it is no success; default: HTTP
 * @returns responses per second
 * @throws the first failure
 */
export async function measureRate(
  port: number,
  load: { connections: number; requests: number; request: (number: number) => string; stayAwake?: boolean },
  isComplete = isHttpResponse,
): Promise<number> {
  let next = 0
  let loading = true
  const stayAwake = () => void (loading && setImmediate(stayAwake))
  if (load.stayAwake ?? true) stayAwake()
  const began = performance.now()
  await Promise.all(
    Array.from({ length: load.connections }, async () => {
      const socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1')
      await once(socket, 'connect')
      await new Promise<void>((done, fail) => {
        let received = ''
        const send = () => {
          if (next < load.requests) socket.write(load.request(next++))
          else done(void socket.destroy())
        }
        socket.on('error', fail)
        socket.on('data', (chunk: string) => {
          received += chunk
          try {
            if (!isComplete(received)) return
          } catch (error) {
            return fail(error)
          }
          received = ''
          send()
        })
        send()
      })
    }),
  ).finally(() => {
    loading = false
  })
  return (load.requests * 1000) / (performance.now() - began)
}
