import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  preParsingAsyncHookHandler,
  preParsingHookHandler,
  RouteOptions,
} from 'fastify'
import { RateLimited, StartupError } from '../errors.ts'
import { type Refusal, sendRefusal } from './connections.ts'
import { callerKey } from './rate-limit.ts'

/** The rule of a route with long bodies, which need more time than JSON or forms (core/http/request-rules.ts). */
export interface UploadRule {
  /** Maximum body size, including the overhead of a form. It bounds the time of an upload. */
  maxBytes: number
  /** Maximum number of concurrent uploads of one player; default `limits.uploadsPerPlayer`. */
  atOnce?: number
  /**
   * A body whose announced length is at most this counts only after it has taken a second. For routes with few callers
   * that send long bodies. Default: each body counts from its beginning.
   */
  shortBytes?: number
  /** Maximum number of bodies in a minute that are not short. For routes that do much work for each byte. */
  longPerMinute?: number
  /** The key by which uploads are counted; default the player, or else the address. */
  countedBy?: (request: FastifyRequest) => string
}

export interface UploadLimits {
  uploadsPerPlayer: number
  uploadBytesPerSecond: number
  uploadWindowSeconds: number
}

/** About the duration of an upload that somebody waits for. */
const RETRY_SECONDS = 10
/** A short body counts as an upload only after this time. */
const SHORT_MS = 1000
const MINUTE_MS = 60_000

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Marks a route with long bodies. They have a minimum rate, a maximum time for their length, and a maximum number
     * for each player.
     */
    upload?: UploadRule
  }
}

/**
 * Limits the uploads of routes with a rule. In every window of `uploadWindowSeconds` the client must send
 * `uploadBytesPerSecond`, the whole body must arrive in the time that its length takes at that rate, and a player has
 * only a few uploads at once. A slow sender therefore does not delay other callers. Time in which the server did not
 * read does not count against the client.
 *
 * An upload that is too slow is answered with 408, and its request ends as if the client had disconnected.
 */
export function installUploadLimits(app: FastifyInstance, limits: UploadLimits): void {
  const underWay = new Map<string, number>()

  const admit =
    (rule: UploadRule): preParsingHookHandler =>
    (request, reply, payload, done) => {
      // A client that disconnected while its credential was checked causes no `close` any more.
      if (reply.raw.closed) return done(null, payload)
      const key = keyOf(rule, request)
      let counted = false
      /** @returns false when there are too many concurrent uploads */
      const count = (): boolean => {
        const others = underWay.get(key) ?? 0
        if (others >= (rule.atOnce ?? limits.uploadsPerPlayer)) return false
        underWay.set(key, others + 1)
        counted = true
        return true
      }
      const short = isShort(rule, request)
      if (!short && !count()) {
        return done(new RateLimited(RETRY_SECONDS).with({ headers: { 'retry-after': String(RETRY_SECONDS) } }))
      }
      let watch: NodeJS.Timeout | undefined
      const begin = () => {
        watch = watchRate(request, rule, limits, () => refuse(request, reply, TOO_SLOW))
      }
      // Most short bodies arrive at once, and need one timer less.
      const grace = short
        ? setTimeout(() => (count() ? begin() : refuse(request, reply, TOO_MANY)), SHORT_MS).unref()
        : undefined
      if (!short) begin()
      const whole = () => {
        clearInterval(watch)
        clearTimeout(grace)
      }
      request.raw.once('end', whole)
      // An upload uses space until its response is complete or the client has disconnected.
      reply.raw.once('close', () => {
        whole()
        if (!counted) return
        const left = (underWay.get(key) ?? 1) - 1
        if (left > 0) underWay.set(key, left)
        else underWay.delete(key)
      })
      done(null, payload)
    }

  const limitLong =
    (rule: UploadRule, most: number): preParsingAsyncHookHandler =>
    async (request, _reply, payload) => {
      if (isShort(rule, request)) return payload
      const { method, url } = request.routeOptions
      await app.rateLimiter.take(`upload/${method} ${url}/${keyOf(rule, request)}`, most, MINUTE_MS)
      return payload
    }

  app.addHook('onRoute', (route) => {
    const rule = route.config?.upload
    if (!rule) return
    mustBound(route, rule)
    const limits = rule.longPerMinute === undefined ? [] : [limitLong(rule, rule.longPerMinute)]
    route.preParsing = [...[route.preParsing ?? []].flat(), ...limits, admit(rule)]
  })
}

const isShort = ({ shortBytes = 0 }: UploadRule, { headers }: FastifyRequest): boolean =>
  Number(headers['content-length'] ?? Number.NaN) <= shortBytes

const keyOf = ({ countedBy }: UploadRule, request: FastifyRequest): string => countedBy?.(request) ?? ownerOf(request)

/** Counts a session and a token of one player together. */
const ownerOf = (request: FastifyRequest): string => request.principal?.playerId ?? callerKey(request)

function mustBound({ method, url }: RouteOptions, { maxBytes, atOnce = 1 }: UploadRule): void {
  if (Number.isSafeInteger(maxBytes) && maxBytes > 0 && Number.isSafeInteger(atOnce) && atOnce > 0) return
  throw new StartupError(`The route ${method} ${url} takes uploads without a bound; give \`maxBytes\` in \`upload\`.`)
}

function watchRate(
  request: FastifyRequest,
  { maxBytes }: UploadRule,
  { uploadBytesPerSecond, uploadWindowSeconds }: UploadLimits,
  tooSlow: () => void,
): NodeJS.Timeout {
  const { raw } = request
  const { socket } = raw
  const announced = Number(raw.headers['content-length'])
  const bytes = Number.isFinite(announced) ? Math.min(announced, maxBytes) : maxBytes
  const longestMs = (uploadWindowSeconds + bytes / uploadBytesPerSecond) * 1000
  const began = performance.now()
  let readBefore = socket.bytesRead
  let oursBefore = false
  return setInterval(() => {
    const came = socket.bytesRead - readBefore
    readBefore = socket.bytesRead
    const ours = raw.readableLength > 0
    // A window is ours as well when we began to read again within it.
    const slow = came < uploadBytesPerSecond * uploadWindowSeconds && !ours && !oursBefore
    oursBefore = ours
    if (slow || performance.now() - began > longestMs) tooSlow()
  }, uploadWindowSeconds * 1000).unref()
}

const TOO_SLOW: Refusal = { status: '408 Request Timeout', message: 'The upload came too slowly.' }
const TOO_MANY: Refusal = {
  status: '429 Too Many Requests',
  message: new RateLimited(RETRY_SECONDS).message,
  code: 'rate_limited',
  headers: { 'retry-after': String(RETRY_SECONDS) },
}

/** Aborts an upload in progress. */
function refuse({ raw }: FastifyRequest, reply: FastifyReply, refusal: Refusal): void {
  if (raw.complete || raw.destroyed) return
  if (reply.raw.headersSent) return void raw.destroy()
  sendRefusal(raw.socket, refusal, () => raw.destroy())
}
