import { execFileSync } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** Before a server of this machine, as a proxy that speaks https stands before the platform. */
export interface TlsProxy {
  port: number
  /** Flags with which Chromium takes its certificate, and finds every name of `.test` at it. */
  chromiumFlags: string[]
}

/** Starts a proxy with a certificate made for it, which passes requests on as they came. Null without `openssl`. */
export async function startTlsProxy(t: Test, target: { port: number }): Promise<TlsProxy | null> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  try {
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    const names = ['-subj', '/CN=test', '-addext', 'subjectAltName=DNS:*.portal.test,DNS:*.games.test']
    const made = ['req', '-x509', ...curve, ...names, '-days', '2', '-keyout', keyFile, '-out', certFile]
    execFileSync('openssl', made, { stdio: 'ignore' })
  } catch (error) {
    if (process.env.CI === 'true') throw error
    t.pass('skipped: no openssl on this machine', { skip: 'no openssl' })
    return null
  }
  const cert = readFileSync(certFile)
  const server = createServer({ key: readFileSync(keyFile), cert }, (incoming, response) => {
    const { method, url: path } = incoming
    const headers = { ...incoming.headers, 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.7' }
    const outgoing = request({ host: '127.0.0.1', port: target.port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    incoming.pipe(outgoing)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const key = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' })
  const digest = createHash('sha256').update(key).digest('base64')
  return {
    port,
    chromiumFlags: [
      `--ignore-certificate-errors-spki-list=${digest}`,
      `--host-resolver-rules=MAP *.test 127.0.0.1:${port}`,
    ],
  }
}
