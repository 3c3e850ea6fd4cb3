import { lookup } from 'node:dns'
import type { Agent, IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { CliError } from './errors.ts'
import { describeProxy, type HttpProxy, proxyFor } from './proxy.ts'

export interface HttpRequest {
  method: string
  url: string
  headers?: Record<string, string>
  /** Text or bytes, or a stream whose `size` in bytes is known. */
  body?: string | Buffer | { size: number; open: () => NodeJS.ReadableStream }
  /** The idle timeout in milliseconds. Default: 60 s */
  idleMs?: number
  signal?: AbortSignal | undefined
}

/** The longest silence in milliseconds, unless a request allows another. */
export const IDLE_MS = 60_000

/** A response with an unread body. */
export interface HttpAnswer {
  status: number
  headers: IncomingMessage['headers']
  body: IncomingMessage
}

/** Thrown when a connection failed or broke. */
export class ConnectionError extends Error {
  /** Node's error code: ECONNREFUSED, ECONNRESET, ENOTFOUND, ETIMEDOUT, DEPTH_ZERO_SELF_SIGNED_CERT … */
  readonly code: string
  /** The proxy of the connection; null for a direct one. */
  readonly proxy: HttpProxy | null

  constructor(error: NodeJS.ErrnoException, proxy: HttpProxy | null = null) {
    super(error.message, { cause: error })
    this.code = codeOf(error)
    this.proxy = proxy
  }
}

/** Returns the error code. The addresses of one name fail together, each with its own code. */
const codeOf = (error: NodeJS.ErrnoException): string =>
  error.code ?? (error instanceof AggregateError ? codeOf(error.errors[0]) : 'ECONNFAILED')

/** Resolves names under `.localhost` to this machine (RFC 6761), because the system's resolver may not know them. */
export const localLookup: LookupFunction = (hostname, options, callback) =>
  lookup(hostname.endsWith('.localhost') ? 'localhost' : hostname, options, callback as never)

/**
 * Returns the module of a protocol. An `import` of `node:http` would also load Node's fetch, because that is one of its
 * exports, and so take half the time of a command.
 */
const moduleOf = (protocol: string) => process.getBuiltinModule(protocol === 'https:' ? 'node:https' : 'node:http')

const agents = new Map<string, Agent>()

function agentFor(protocol: string, proxy: HttpProxy | null): Agent {
  const key = `${protocol} ${proxy?.url}`
  const known = agents.get(key)
  if (known) return known
  const { Agent } = moduleOf(protocol)
  const proxyEnv = proxy && { HTTP_PROXY: proxy.url.href, HTTPS_PROXY: proxy.url.href }
  const agent = new Agent({ keepAlive: true, maxSockets: 16, ...(proxyEnv && { proxyEnv }) })
  agents.set(key, agent)
  return agent
}

/**
 * Sends a request and resolves when the response headers have arrived. It follows no redirect, so that a token reaches
 * only the intended server.
 *
 * @throws ConnectionError
 */
export function send({ method, url, headers, body, idleMs = IDLE_MS, signal }: HttpRequest): Promise<HttpAnswer> {
  const address = new URL(url)
  const { protocol } = address
  const { request } = moduleOf(protocol)
  const size =
    body === undefined ? undefined : typeof body === 'object' && 'open' in body ? body.size : Buffer.byteLength(body)
  return new Promise((resolve, reject) => {
    const proxy = proxyFor(address, process.env)
    const outgoing = request(
      url,
      {
        method,
        agent: agentFor(protocol, proxy),
        lookup: localLookup,
        headers: { ...headers, ...(size === undefined ? {} : { 'content-length': String(size) }) },
        ...(signal ? { signal } : {}),
      },
      (incoming) => {
        answered = true
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming })
      },
    )
    let answered = false
    const fail = (error: NodeJS.ErrnoException) => {
      // A server may refuse a body before it has read all of it. Its response counts, not the broken pipe.
      if (!answered) reject(signal?.aborted ? error : new ConnectionError(error, proxy))
    }
    outgoing.on('error', fail)
    outgoing.setTimeout(idleMs, () => outgoing.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })))
    if (typeof body === 'object' && 'open' in body) {
      const stream = body.open()
      stream.on('error', (error) => {
        reject(error)
        outgoing.destroy()
      })
      outgoing.on('close', () => (stream as { destroy?: () => void }).destroy?.())
      stream.pipe(outgoing)
    } else outgoing.end(body)
  })
}

/** Reads a body completely. @throws ConnectionError when it is interrupted */
export async function textOf({ body }: HttpAnswer): Promise<string> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of body) chunks.push(chunk)
  } catch (error) {
    throw new ConnectionError(error as NodeJS.ErrnoException)
  }
  return Buffer.concat(chunks).toString()
}

const UNREACHABLE: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ETIMEDOUT: 'no answer in time',
  EHOSTUNREACH: 'no route to it',
  ENETUNREACH: 'the network is unreachable',
  EAI_AGAIN: 'names cannot be looked up; is this machine online?',
}

/** Explains a failed connection to the person at the terminal. */
export function unreachable(baseUrl: string, error: ConnectionError): CliError {
  const { code, proxy } = error
  if (
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code) ||
    /wrong version number|packet length too long/.test(error.message)
  ) {
    return new CliError(`${baseUrl} answers without encryption.`, {
      code: 'unreachable',
      hint: `Try http, if that is meant: --url ${baseUrl.replace(/^https/, 'http')}`,
      cause: error,
    })
  }
  const isProxys = proxy && (code in UNREACHABLE || code === 'ENOTFOUND' || code === 'ERR_PROXY_TUNNEL')
  if (isProxys) {
    const why = code === 'ENOTFOUND' ? 'there is no host of this name' : (UNREACHABLE[code] ?? error.message)
    return new CliError(`The proxy ${describeProxy(proxy)} does not lead to ${baseUrl} (${why}).`, {
      code: 'unreachable',
      hint: `${proxy.name} names it. To go without it: NO_PROXY=${new URL(baseUrl).hostname}`,
      cause: error,
    })
  }
  if (code === 'ENOTFOUND') {
    return new CliError(`There is no host named ${new URL(baseUrl).hostname}.`, {
      code: 'unreachable',
      hint: 'Check the address: --url, SERVICE_BASE_URL, or the one you signed in to (`gameyard whoami`).',
      cause: error,
    })
  }
  if (/CERT|SELF_SIGNED|TLS|SSL|EPROTO/.test(code)) {
    return new CliError(`${baseUrl} can't prove that it is who it says (${code}).`, {
      code: 'certificate',
      hint: 'If you trust its certificate authority, name the file: NODE_EXTRA_CA_CERTS=ca.pem gameyard …',
      cause: error,
    })
  }
  return new CliError(`Nothing answers at ${baseUrl} (${UNREACHABLE[code] ?? code}).`, {
    code: 'unreachable',
    hint: 'Is the platform running? Another address: --url https://… or SERVICE_BASE_URL.',
    cause: error,
  })
}
