import { execFileSync } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttpServer, request } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { hasPrograms } from './components.ts'

/** An https proxy in front of a server of this machine, as in front of the platform. */
export interface TlsProxy {
  port: number
  /** Flags that make Chromium accept its certificate and resolve every name of `.test` to it. */
  chromiumFlags: string[]
  /** Environment variables that make Node trust the certificate and resolve every name of `.test` to the proxy. */
  nodeEnvironment: Record<string, string>
}

/** The settings of a platform behind the proxy, with names of its certificate. */
export const BEHIND_PROXY = {
  portal: { url: 'https://www.portal.test' },
  studio: { url: 'https://www.portal.test' },
  games: { domain: 'games.test' },
  trustProxy: ['127.0.0.1'],
}

/**
 * Starts a proxy with its own certificate, which forwards requests unchanged. Returns null without `openssl`.
 *
 * @param others ports of further names, such as `{ 'relay.arcade.test': 3000 }`
 * @param added names and values of headers that it adds to every response, in turn
 */
export async function startTlsProxy(
  t: Test,
  target: { port: number },
  others: Record<string, number> = {},
  added: string[] = [],
): Promise<TlsProxy | null> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  if (!hasPrograms(t, 'openssl')) return null
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const names = ['-subj', '/CN=test', '-addext', 'subjectAltName=DNS:*.portal.test,DNS:*.games.test,DNS:*.arcade.test']
  const made = ['req', '-x509', ...curve, ...names, '-days', '2', '-keyout', keyFile, '-out', certFile]
  execFileSync('openssl', made, { stdio: 'ignore' })
  const cert = readFileSync(certFile)
  const server = createServer({ key: readFileSync(keyFile), cert }, (incoming, response) => {
    const { method, url: path } = incoming
    const headers = { ...incoming.headers, 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.7' }
    const outgoing = request(
      { host: '127.0.0.1', port: others[incoming.headers.host ?? ''] ?? target.port, method, path, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, [...answer.rawHeaders, ...added])
        answer.pipe(response)
      },
    )
    outgoing.on('error', () => response.destroy())
    incoming.pipe(outgoing)
  })
  server.on('upgrade', ({ method, url, headers, rawHeaders }, client: Socket, first: Buffer) => {
    const upstream = connect(others[headers.host ?? ''] ?? target.port, '127.0.0.1', () => {
      const lines = rawHeaders.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
      upstream.write(`${method} ${url} HTTP/1.1\r\n${lines}x-forwarded-proto: https\r\n\r\n`)
      upstream.write(first)
      upstream.pipe(client).pipe(upstream)
    })
    for (const socket of [upstream, client]) {
      socket.on('error', () => {
        upstream.destroy()
        client.destroy()
      })
    }
    t.teardown(() => upstream.destroy())
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const key = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' })
  const digest = createHash('sha256').update(key).digest('base64')
  const tunnel = await startTunnel(t, port)
  return {
    port,
    chromiumFlags: [
      `--ignore-certificate-errors-spki-list=${digest}`,
      `--host-resolver-rules=MAP *.test 127.0.0.1:${port}`,
    ],
    nodeEnvironment: {
      NODE_EXTRA_CA_CERTS: certFile,
      NODE_USE_ENV_PROXY: '1',
      HTTPS_PROXY: `http://127.0.0.1:${tunnel}`,
      NO_PROXY: 'localhost,127.0.0.1',
    },
  }
}

/** Starts a proxy that connects every name to one port of this machine. @returns its port */
async function startTunnel(t: Test, port: number): Promise<number> {
  const tunnel = createHttpServer().on('connect', (_request, client) => {
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    for (const socket of [upstream, client]) {
      socket.on('error', () => {
        upstream.destroy()
        client.destroy()
      })
    }
    t.teardown(() => upstream.destroy())
  })
  await new Promise<void>((done) => tunnel.listen(0, '127.0.0.1', done))
  t.teardown(() => tunnel.close())
  return (tunnel.address() as AddressInfo).port
}
