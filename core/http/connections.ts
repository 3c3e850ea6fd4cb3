import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { halfClose } from './drain-body.ts'
import { AddressLimit } from './limits/address-limit.ts'

/** Interval of checks for slow clients. */
const SWEEP_MS = 1000
/** Maximum time for the rest of a body after the response to its request. */
const LEFTOVER_MS = 5000
/** A client without progress for this long counts as stalled. */
const STALLED_MS = 5000
/** This rate is lower than that of any connection that people play over. */
const SLOWEST_BYTES_PER_SECOND = 1024

export interface ConnectionLimits {
  slowReaderSeconds: number
  stalledPerAddress: number
  connectionsPerAddress: number
}

/** Event streams may stall this many times longer than other responses, since a reader may sleep for a moment. */
const STREAM_PATIENCE = 4

/** A pending transfer of the client: the rest of a body after the response, or the reading of a response or stream. */
interface Debt {
  kind: 'body' | 'answer' | 'stream'
  /** Start of the measured window in ms, and the bytes transferred until then. */
  since: number
  takenBefore: number
  taken: number
  movedAt: number
}

/**
 * Calls `end` when a response is complete or its client has gone. The client may have gone already, while its credential
 * was checked, and no event would follow.
 */
export function onceClosed({ raw }: { raw: ServerResponse }, end: () => void): void {
  if (raw.closed) end()
  else raw.once('close', end)
}

/** Returns a signal that aborts when the client disconnects before its response is complete. */
export function abortOnDisconnect(reply: { raw: ServerResponse }): AbortSignal {
  const gone = new AbortController()
  onceClosed(reply, () => {
    if (!reply.raw.writableFinished) gone.abort(new DOMException('The caller has gone away.', 'AbortError'))
  })
  return gone.signal
}

/**
 * Closes connections that clients keep open without a pending request: a body that trickles in after its response, or a
 * response that is not read. Also answers input that is not HTTP. It excludes WebSockets, which are no longer HTTP. The
 * reader of an event stream may be slow, but is disconnected when it reads nothing for minutes. Bounds the connections of
 * each address, which include WebSockets.
 */
export class Connections {
  /** The latest pending response of each connection. */
  readonly #latest = new Map<Socket, ServerResponse>()
  readonly #debts = new Map<Socket, Debt>()
  readonly #patient = new WeakSet<ServerResponse>()
  /** Connections that close after their pending response; further parser errors on them get no response. */
  readonly #refused = new WeakSet<Duplex>()
  readonly #limits: ConnectionLimits
  readonly #isProxy: (address: string) => boolean
  readonly #perAddress: AddressLimit
  /** The TLS socket of each connection with https that has sent a request. */
  readonly #secured = new WeakMap<object, Socket>()
  readonly #upgraded = new WeakSet<object>()
  #timer: NodeJS.Timeout | undefined

  /** @param isProxy whether an address is that of a trusted proxy, which many clients share; it is not counted */
  constructor(limits: ConnectionLimits, { isProxy }: { isProxy: (address: string) => boolean }) {
    this.#limits = limits
    this.#isProxy = isProxy
    const isIdle = (socket: Socket) => this.#isIdle(socket)
    this.#perAddress = new AddressLimit({ most: limits.connectionsPerAddress, isProxy, isIdle })
  }

  /** Counts the connections of a server. */
  watch(server: Server): void {
    this.#perAddress.watch(server)
  }

  /**
   * Checks every request before any other code sees it.
   *
   * A transfer coding other than `chunked` leaves the end of the body unknown (RFC 9112 section 6.3). Node emits such a
   * request first and the error afterwards, when a response may already have been sent.
   *
   * @returns false when the request was refused and answered
   */
  admit(request: IncomingMessage, response: ServerResponse): boolean {
    const coding = request.headers['transfer-encoding']
    if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || request.httpVersion === '1.0')) {
      this.#refuse(request, response)
      return false
    }
    this.#latest.set(request.socket, response)
    const { _parent: raw } = request.socket as Counting
    if (raw) this.#secured.set(raw, request.socket)
    this.#timer ??= setTimeout(() => this.#sweep(), SWEEP_MS).unref()
    return true
  }

  /** Marks a connection that is a WebSocket from now on, and no longer idle after its response. */
  markUpgraded(socket: Socket): void {
    this.#upgraded.add((socket as Counting)._parent ?? socket)
  }

  /** Gives the reader of a response more time, for an event stream. */
  leaveAlone(response: ServerResponse): void {
    this.#patient.add(response)
  }

  /** Sends an error in the common form for input that is malformed or cut off. The client may already be gone. */
  answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (this.#refused.has(socket)) return
    const latest = this.#latest.get(socket as Socket)
    const idle = !latest || (latest.writableFinished && latest.req.complete)
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
    } else if (idle || (!latest.req.complete && !latest.headersSent && latest.socket)) {
      sendRefusal(socket, CLIENT_ERRORS[error.code ?? ''])
    } else if (latest.req.complete && !latest.writableFinished) {
      // The bad input follows a request with a pending response; the client would take a second response for that one.
      this.#refused.add(socket)
      latest.once('close', () => socket.destroy())
    } else {
      socket.destroy()
    }
  }

  #refuse(request: IncomingMessage, response: ServerResponse): void {
    this.#refused.add(request.socket)
    const { body, headers } = refusalOf({
      message: 'This transfer coding is not known; send the body chunked, or with its length.',
    })
    halfClose(request)
    response.writeHead(400, headers).end(body)
  }

  #sweep(): void {
    const now = performance.now()
    const stalled = new Map<string, [Socket, Debt][]>()
    for (const [socket, response] of this.#latest) {
      const kind = socket.destroyed ? null : this.#owes(socket, response)
      if (kind === null) {
        this.#debts.delete(socket)
        if (socket.destroyed || (response.writableFinished && response.req.complete)) this.#latest.delete(socket)
        continue
      }
      const debt = this.#measure(socket, kind, now)
      if (now - debt.since >= this.#longestMs(kind)) {
        socket.destroy()
      } else if (kind !== 'stream' && (kind === 'body' || now - debt.movedAt >= STALLED_MS)) {
        const address = socket.remoteAddress ?? ''
        if (this.#isProxy(address)) continue
        const others = stalled.get(address)
        if (others) others.push([socket, debt])
        else stalled.set(address, [[socket, debt]])
      }
    }
    for (const sockets of stalled.values()) {
      const tooMany = sockets.length - this.#limits.stalledPerAddress
      if (tooMany <= 0) continue
      sockets.sort(([, a], [, b]) => a.movedAt - b.movedAt)
      for (const [socket] of sockets.slice(0, tooMany)) socket.destroy()
    }
    this.#timer = this.#latest.size > 0 ? setTimeout(() => this.#sweep(), SWEEP_MS).unref() : undefined
  }

  /** Whether a connection, below TLS, has no pending request. */
  #isIdle(socket: Socket): boolean {
    if (this.#upgraded.has(socket)) return false
    const latest = this.#latest.get(this.#secured.get(socket) ?? socket)
    return !latest || (latest.writableFinished && latest.req.complete)
  }

  #owes(socket: Socket, response: ServerResponse): Debt['kind'] | null {
    if (response.writableFinished) return response.req.complete ? null : 'body'
    if (socket.writableLength === 0) return null
    return this.#patient.has(response) ? 'stream' : 'answer'
  }

  #longestMs(kind: Debt['kind']): number {
    if (kind === 'body') return LEFTOVER_MS
    const answerMs = this.#limits.slowReaderSeconds * 1000
    return kind === 'stream' ? answerMs * STREAM_PATIENCE : answerMs
  }

  #measure(socket: Socket, kind: Debt['kind'], now: number): Debt {
    const taken = kind === 'body' ? 0 : takenFrom(socket as Counting)
    let debt = this.#debts.get(socket)
    if (debt?.kind !== kind) {
      debt = { kind, since: now, takenBefore: taken, taken, movedAt: now }
      this.#debts.set(socket, debt)
    }
    if (taken !== debt.taken) Object.assign(debt, { taken, movedAt: now })
    const enough = kind === 'answer' ? this.#limits.slowReaderSeconds * SLOWEST_BYTES_PER_SECOND : 1
    if (kind !== 'body' && taken - debt.takenBefore >= enough) {
      Object.assign(debt, { since: now, takenBefore: taken })
    }
    return debt
  }
}

/** Internal counters of Node's sockets. No public API tells how much of a long write remains. */
interface Counting {
  _handle?: { bytesWritten: number; writeQueueSize: number } | null
  /** The underlying socket of a TLS socket. */
  _parent?: Counting | null
}

/** Returns a number that grows as the system accepts the bytes of a connection. */
function takenFrom(socket: Counting): number {
  const written = socket._handle?.bytesWritten ?? 0
  return written - ((socket._parent ?? socket)._handle?.writeQueueSize ?? 0)
}

/** A response that is sent without a handler. */
export interface Refusal {
  /** The status code and its reason phrase. */
  status: string
  message: string
  /** Code of the error catalogue; default `invalid_request`. */
  code?: string
  headers?: Record<string, string>
}

const CLIENT_ERRORS: Record<string, Refusal> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', message: 'The request came too slowly.' },
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    message: 'The headers of the request are too large.',
  },
}
const MALFORMED: Refusal = { status: '400 Bad Request', message: 'This is not a whole HTTP request.' }

/** Writes an error in the common form to a connection whose request no handler answers, and ends the server's side. */
export function sendRefusal(socket: Duplex, refusal: Refusal = MALFORMED, then?: () => void): void {
  const { body, headers } = refusalOf(refusal)
  const lines = Object.entries({ ...headers, ...refusal.headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${refusal.status}\r\n${lines.join('')}\r\n${body}`, then)
}

function refusalOf({ message, code = 'invalid_request' }: Pick<Refusal, 'message' | 'code'>) {
  const body = JSON.stringify({ error: { message, code } })
  const headers = {
    connection: 'close',
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  }
  return { body, headers }
}
