import { createHash } from 'node:crypto'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { networkInterfaces } from 'node:os'

const REPORTS = '/__complaints'

/** Reports to the proxy what the browser's console would show, except aborts caused by leaving the page. */
const COLLECTOR = `(() => {
  let left = false
  addEventListener('beforeunload', () => { left = true; setTimeout(() => { left = false }, 5000) })
  const report = (...what) => left || navigator.sendBeacon('${REPORTS}', what.map(String).join(' '))
  addEventListener('error', (event) => report(event.error ?? event.message ?? 'not loaded: ' + (event.target.src ?? event.target.href)), true)
  addEventListener('unhandledrejection', (event) => report('Unhandled rejection:', event.reason))
  addEventListener('securitypolicyviolation', (event) => report('Refused by the policy:', event.violatedDirective, event.blockedURI))
  for (const kind of ['error', 'warn']) {
    const write = console[kind]
    console[kind] = (...what) => { report(...what); write.apply(console, what) }
  }
})()`
const HASH = `'sha256-${createHash('sha256').update(COLLECTOR).digest('base64')}'`

/**
 * Forwards a request to a server of this machine, and records the page's errors, for a browser that reports none. A
 * script at the head of each page reports errors, and the page's policy is changed to allow it. A response of 400 and
 * above counts as an error, and so does a request to another host, which is refused.
 */
export function forwardRecording(incoming: IncomingMessage, response: ServerResponse, complaints: string[]): void {
  const { method = 'GET', url = '', headers } = incoming
  const target = URL.parse(url)
  if (!target || !isOfThisMachine(target.hostname)) {
    complaints.push(`external request: ${url}`)
    response.writeHead(502).end()
    return
  }
  if (target.pathname === REPORTS) {
    collect(incoming, (body) => {
      complaints.push(String(body))
      response.writeHead(204).end()
    })
    return
  }
  const { hostname, port, pathname, search } = target
  const asked = { host: isLoopback(hostname) ? '127.0.0.1' : hostname, port, method, path: pathname + search }
  const outgoing = request({ ...asked, headers: { ...headers, 'accept-encoding': 'identity' } }, (answer) => {
    const status = answer.statusCode ?? 502
    if (status >= 400) complaints.push(`status of ${status}: ${url}`)
    if (!answer.headers['content-type']?.startsWith('text/html') || method === 'HEAD') {
      response.writeHead(status, answer.rawHeaders)
      return void answer.pipe(response)
    }
    collect(answer, (body) => {
      const page = body.length === 0 ? body : Buffer.from(withCollector(String(body)))
      const { 'transfer-encoding': _, ...others } = answer.headers
      for (const name of ['content-security-policy', 'content-security-policy-report-only']) {
        const policy = others[name]
        if (typeof policy === 'string') others[name] = withPermission(policy)
      }
      response.writeHead(status, { ...others, 'content-length': page.length }).end(page)
    })
  })
  outgoing.on('error', () => response.destroy())
  response.on('close', () => outgoing.destroy())
  incoming.pipe(outgoing)
}

function collect(stream: IncomingMessage, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = []
  stream.on('data', (chunk) => chunks.push(chunk))
  stream.on('end', () => done(Buffer.concat(chunks)))
}

/** Inserts the script at the start of the head, or of the document if it has no head tag. */
function withCollector(page: string): string {
  const script = `<script>${COLLECTOR}</script>`
  const [start] = /^\s*(<!doctype[^>]*>)?\s*(<html[^>]*>)?\s*(<head[^>]*>)?/i.exec(page) ?? ['']
  return start + script + page.slice(start.length)
}

const withPermission = (policy: string): string =>
  /script-src /.test(policy)
    ? policy.replace(/script-src ('none')?/, `script-src ${HASH} `)
    : policy.replace(
        /default-src ([^;]*)/,
        (all, sources) => `${all}; script-src ${sources.replace("'none'", '')} ${HASH}`,
      )

/** This machine's addresses in its network. */
export const NETWORK_ADDRESSES: readonly string[] = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .flatMap(({ family, internal, address }) => (family === 'IPv4' && !internal ? [address] : []))

/** The hosts that browsers request without a proxy. */
export const DIRECT = ['localhost', '.localhost', '127.0.0.1', ...NETWORK_ADDRESSES].join(', ')

export const isOfThisMachine = (host: string): boolean => isLoopback(host) || NETWORK_ADDRESSES.includes(host)

/** Returns whether a name resolves to this machine without a proxy. */
export const isLoopback = (host: string): boolean => /^(.+\.)?localhost$|^127\.0\.0\.1$/.test(host)
