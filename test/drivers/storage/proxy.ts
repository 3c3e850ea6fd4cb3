import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A request on its way through the proxy. */
export interface Passing {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** What happens on the way: something before a request goes on, and headers added to its answer. */
export interface Hooks {
  before(request: Passing): Promise<void>
  headers?(request: Passing): Record<string, string>
}

/** Puts an HTTP proxy before a server, to see and to disturb what a driver says to it. */
export async function startProxy(target: string, { before, headers }: Hooks) {
  const server = createServer(async (incoming, response) => {
    const passing: Passing = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: await buffer(incoming),
    }
    // What the hook itself sends passes too; a hook that looks for one kind of request does not meet its own.
    await before(passing)
    const { method, path, body } = passing
    const outgoing = request(target + path, { method, headers: { ...passing.headers } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...headers?.(passing) })
      answer.pipe(response)
    })
    // After an answer an error is of no matter: Swift adds a body to what it answers HEAD.
    outgoing.on('error', () => response.headersSent || response.destroy())
    outgoing.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
