import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import type { LogTail } from './log-tail.ts'

/** Returns additional fields for each line, such as the current span. */
export type LogMixin = (fields: object, level: number, logger: Logger) => object

/**
 * Creates the program's log. Logging a whole object does not leak secrets: secret fields are masked at the top levels
 * of every object, a request is logged by method and path (a query may hold an authorization code), and the URL of an
 * error is cut at its query.
 *
 * Without a destination the log goes to standard output, several lines a write: a system call for each line would cost
 * more than everything else that a small request needs. Waiting lines are written after `FLUSH_MS` at the latest, and
 * at exit. Writes are synchronous: one that a thread has under way at exit would come after the last lines, or never.
 *
 * @param tail keeps the last lines
 * @param base fields of every line
 */
export function createLog(
  level: string,
  destination?: DestinationStream,
  tail?: LogTail,
  mixin?: LogMixin | undefined,
  base?: object | undefined,
): Logger {
  const options: LoggerOptions = {
    level,
    base: base ?? null,
    ...(mixin ? { mixin: mixin as NonNullable<LoggerOptions['mixin']> } : {}),
    timestamp: isoTime(),
    formatters: {
      level: (label) => ({ level: label }),
      log: (fields) => masked(fields, DEPTH) as Record<string, unknown>,
    },
    serializers: {
      err: pino.stdSerializers.err,
      req: (request: { method?: string; url?: string }) => ({ method: request.method, path: pathOf(request.url) }),
      res: (reply: { statusCode?: number }) => ({ status: reply.statusCode }),
    },
  }
  const sink = destination ?? gathering(pino.destination({ sync: true }))
  return pino(options, tail?.through(sink) ?? sink)
}

const FLUSH_MS = 100
/** Number of buffered characters that triggers a write. */
const GATHERED = 32 * 1024

/**
 * Buffers lines and passes many to the sink at once, a moment later at the latest, and at exit. The sink has a buffer
 * too, but recounts the waiting bytes at each line, which takes longer than formatting the line.
 */
function gathering(sink: ReturnType<typeof pino.destination>): DestinationStream & { flushSync(): void } {
  let waiting = ''
  let ticking = false
  let ends = false
  const unlessClosed = (work: () => void) => {
    try {
      work()
    } catch {
      // The sink is already closed, as when a process ends by itself.
    }
  }
  const hand = () => {
    const lines = waiting
    waiting = ''
    if (lines !== '') unlessClosed(() => sink.write(lines))
  }
  const tick = () => {
    ticking = false
    hand()
  }
  const flushSync = () => {
    hand()
    unlessClosed(() => sink.flushSync())
  }
  return {
    write: (line) => {
      waiting += line
      if (waiting.length >= GATHERED) hand()
      if (!ticking) setTimeout(tick, FLUSH_MS).unref()
      ticking = true
      if (ends) return
      ends = true
      // This listener must precede the sink's own, which closes it.
      process.prependListener('beforeExit', hand)
      process.prependListener('exit', flushSync)
    },
    flushSync,
  }
}

/** Like pino's own, but formats the time only once a millisecond, and under load many lines share it. */
function isoTime(): () => string {
  let madeAt = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== madeAt) {
      madeAt = now
      text = `,"time":"${new Date(now).toISOString()}"`
    }
    return text
  }
}

/**
 * The fields of the log line of each request. An instance of a class is not searched for secrets, and this one has
 * none.
 */
export class RequestLine {
  /** The request id, unless the log already adds it. */
  reqId?: string
  method: string
  path: string
  status: number
  ms: number
  player?: string

  /** @param about `path`: without its query; `took`: in ms */
  constructor(
    { method, principal }: { method: string; principal: { playerId: string } | null },
    { path, status, took }: { path: string; status: number; took: number },
  ) {
    this.method = method
    this.path = path
    this.status = status
    this.ms = Math.round(took * 10) / 10
    if (principal) this.player = principal.playerId
  }
}

/** Maximum depth of the search for secret fields. */
const DEPTH = 3
const SECRET_FIELDS = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'password',
  'token',
  'secret',
  'client_secret',
  'clientSecret',
  'code',
  'code_verifier',
  'refresh_token',
  'access_token',
  'id_token',
  'secretAccessKey',
  'apiKey',
])

/**
 * Returns the value with secret fields masked, and copies only objects that have one. (Pino's `redact` takes a tenth of
 * a millisecond a line for as many fields, and as much again for the child logger of every request.)
 */
function masked(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== 'object' || value === null) return value
  const prototype = Object.getPrototypeOf(value)
  // Requests, errors and similar objects have their own serializers.
  if (prototype !== Object.prototype && prototype !== null) return value
  let copy: Record<string, unknown> | null = null
  for (const [key, field] of Object.entries(value)) {
    const shown = SECRET_FIELDS.has(key) && typeof field !== 'number' ? '[masked]' : masked(field, depth - 1)
    if (shown === field) continue
    copy ??= { ...value }
    copy[key] = shown
  }
  return copy ?? value
}

/** Returns a URL without its query. */
export function pathOf(url: string | undefined): string {
  if (url === undefined) return ''
  const query = url.indexOf('?')
  return query < 0 ? url : url.slice(0, query)
}
