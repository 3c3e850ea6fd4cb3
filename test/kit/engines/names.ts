import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { forwardRecording, isLoopback, isOfThisMachine } from './recording.ts'

/** Resolves the names of a test for browsers, through a proxy that maps each name to a port of this machine. */
export class Names {
  readonly #routes = new Map<string, number>()
  readonly #ends: (() => void)[] = []

  /** Routes https for a domain and its subdomains to a port of 127.0.0.1. */
  route = (domain: string, port: number): void => void this.#routes.set(domain, port)

  /**
   * Starts a proxy. It refuses unknown names, so that no request leaves the machine.
   *
   * @param complaints when given, also receives the errors of plain http: see `forwardRecording`
   * @returns its port
   */
  async startProxy(complaints?: string[]): Promise<number> {
    const open = new Set<Socket>()
    const joinTo = (host: string, port: number, client: Socket, begin: (upstream: Socket) => void) => {
      const upstream = connect(port, isLoopback(host) ? '127.0.0.1' : host, () => {
        begin(upstream)
        upstream.pipe(client).pipe(upstream)
      })
      for (const socket of [upstream, client]) {
        open.add(socket)
        socket.on('error', () => {
          upstream.destroy()
          client.destroy()
        })
        socket.on('close', () => open.delete(socket))
      }
    }
    const server = createServer((request, response) => {
      if (complaints) forwardRecording(request, response, complaints)
      else response.writeHead(502).end()
    })
    server.on('connect', ({ url = '' }, client: Socket) => {
      const [, host = '', asked = ''] = /^(.*):(\d+)$/.exec(url) ?? []
      const port = this.#portOf(host, Number(asked))
      if (port === null) {
        complaints?.push(`external request: ${url}`)
        return client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
      }
      joinTo(isOfThisMachine(host) ? host : '127.0.0.1', port, client, () =>
        client.write('HTTP/1.1 200 Connection established\r\n\r\n'),
      )
    })
    // This handles a WebSocket over plain http, for which WebKit opens no tunnel.
    server.on('upgrade', ({ url = '', rawHeaders }, client: Socket, head: Buffer) => {
      const target = URL.parse(url)
      if (!complaints || !target || !isOfThisMachine(target.hostname)) return client.destroy()
      const lines = [`GET ${target.pathname}${target.search} HTTP/1.1`]
      for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`)
      joinTo(target.hostname, Number(target.port), client, (upstream) => {
        upstream.write(`${lines.join('\r\n')}\r\n\r\n`)
        upstream.write(head)
      })
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    this.#ends.push(() => {
      for (const socket of open) socket.destroy()
      server.closeAllConnections()
      server.close()
    })
    return (server.address() as AddressInfo).port
  }

  close(): void {
    for (const end of this.#ends) end()
  }

  #portOf(host: string, asked: number): number | null {
    if (isOfThisMachine(host)) return asked
    return [...this.#routes].find(([domain]) => host === domain || host.endsWith(`.${domain}`))?.[1] ?? null
  }
}
