import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A request that passes through the proxy. */
export interface Passing {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Hooks of the proxy: one runs before it forwards a request, and one adds headers to the response. */
export interface Hooks {
  before(request: Passing): Promise<void>
  headers?(request: Passing): Record<string, string>
}

/** Starts an HTTP proxy in front of a server, to observe and disturb a driver's requests. */
export async function startProxy(target: string, { before, headers }: Hooks) {
  const server = createServer(async (incoming, response) => {
    const passing: Passing = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: await buffer(incoming),
    }
    // The hook's own requests also pass through the proxy, so it must not match them.
    await before(passing)
    const { method, path, body } = passing
    const outgoing = request(target + path, { method, headers: { ...passing.headers } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...headers?.(passing) })
      answer.pipe(response)
    })
    // An error after the response does not matter: Swift adds a body to its response to HEAD.
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
