import rateLimit, { type FastifyRateLimitStore, type FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
} from 'fastify'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { Counters } from '../data/counters.ts'
import { RateLimited } from '../errors.ts'
import type { Bus } from '../events.ts'
import type { Origin, Origins } from '../origins/origins.ts'

const MINUTE_MS = 60_000

declare module 'fastify' {
  interface FastifyInstance {
    rateLimiter: RateLimiter
  }
  interface FastifyContextConfig {
    /** Counts requests apart from all others: a busy neighbour at the same address then leaves room to sign in. */
    rateLimitGroup?: string
  }
}

/**
 * Counts requests and attempts by caller, across all nodes.
 *
 * While the bus is unavailable each node counts for itself. An outage of the bus then neither refuses every caller nor
 * allows unlimited password guesses: limits apply to each node instead of to all nodes together.
 */
export class RateLimiter {
  readonly #bus: Bus
  readonly #clock: Clock
  readonly #log: FastifyBaseLogger
  readonly #enabled: boolean
  readonly #own: Counters
  /** Limits without a permit left, which `mustNotBeUsedUp` knows. */
  readonly #usedUp: Counters
  #warnAgainAt = 0

  /** @param context `enabled: false` allows everything (`limits.rateLimits` in the configuration) */
  constructor(context: { bus: Bus; clock: Clock; log: FastifyBaseLogger; enabled: boolean }) {
    this.#bus = context.bus
    this.#clock = context.clock
    this.#log = context.log
    this.#enabled = context.enabled
    this.#own = new Counters(context.clock)
    this.#usedUp = new Counters(context.clock)
  }

  /**
   * Takes one of `max` permits in a window that begins with the first. For services and routes with a limit of their
   * own, such as sign-in attempts by account and address.
   *
   * @param key names the use and the caller: `sign-in/<account>/<address>`
   * @throws RateLimited with `Retry-After` when all are taken
   */
  async take(key: string, max: number, windowMs: number): Promise<void> {
    if (!this.#enabled) return
    const { count, resetMs } = await this.count(key, windowMs)
    if (count > max) throw tooMany(resetMs)
  }

  /**
   * Uses one of `max` permits of a limit that only failures use. `mustNotBeUsedUp` refuses the caller on this node
   * after the last one, before any work.
   */
  async use(key: string, max: number, windowMs: number): Promise<void> {
    if (!this.#enabled) return
    const { count, resetMs } = await this.count(key, windowMs)
    if (count >= max) this.#usedUp.increment(key, resetMs)
  }

  /** @throws RateLimited with `Retry-After` until the window of the limit ends */
  mustNotBeUsedUp(key: string): void {
    const resetMs = this.#usedUp.openForMs(key)
    if (resetMs !== null) throw tooMany(resetMs)
  }

  /**
   * Increments a counter.
   *
   * @returns the count within the window, including this increment, and the milliseconds until the window ends
   */
  async count(key: string, windowMs: number): Promise<{ count: number; resetMs: number }> {
    try {
      return await this.#bus.increment(`rate/${key}`, windowMs)
    } catch (error) {
      const now = this.#clock.now().getTime()
      if (now >= this.#warnAgainAt) {
        this.#warnAgainAt = now + MINUTE_MS
        this.#log.warn({ err: error }, 'the bus is unavailable: this node counts rate limits alone')
      }
      return this.#own.increment(key, windowMs)
    }
  }
}

/**
 * The general limit: `limits.requestsPerMinute` for each caller on every route of portal and Studio, and on unknown
 * addresses there. Game origins and the routes of every origin (`any`: health and the like) are exempt. A route with
 * `config: { rateLimit: false }` is exempt too. A route with `config: { rateLimit: { max, timeWindow, keyGenerator } }`
 * (@fastify/rate-limit's own option, times in ms) has that limit as well as the general one. For a limit that depends
 * on the body use `app.rateLimiter.take`. Routes with the same `rateLimitGroup` are counted apart from all others.
 *
 * Called after the route contract is installed (core/http/routes.ts) and before any route.
 */
export async function registerRateLimits(
  app: FastifyInstance,
  context: {
    bus: Bus
    clock: Clock
    origins: Origins
    limits: Pick<Config['limits'], 'rateLimits' | 'requestsPerMinute'>
  },
): Promise<void> {
  const { limits, origins } = context
  const limiter = new RateLimiter({ ...context, log: app.log, enabled: limits.rateLimits })
  app.decorate('rateLimiter', limiter)

  const counted = new WeakSet<FastifyRequest>()
  let check: ReturnType<FastifyInstance['createRateLimit']> | undefined
  const count = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (!check || counted.has(request)) return
    counted.add(request)
    const state = await check(request)
    if (state.isAllowed) return
    reply.headers({
      'RateLimit-Limit': state.max,
      'RateLimit-Remaining': state.remaining,
      'RateLimit-Reset': state.ttlInSeconds,
    })
    if (state.isExceeded) throw tooMany(state.ttl)
  }

  if (limits.rateLimits) {
    app.addHook('onRoute', (route) => {
      const origin = (route.constraints as { origin?: Origin } | undefined)?.origin
      if (origin === 'game' || origin === 'any' || route.config?.rateLimit === false) return
      const checks = [route.onRequest ?? []].flat() as Check[]
      // The limit wraps the check of core/http/auth.ts. The caller is then known, and a refused caller is counted too,
      // so that guessing tokens is limited like anything else.
      route.onRequest = function (request, reply, done) {
        firstFailure(checks, { app: this, request, reply }, (refusal) => {
          if (!reply.sent) count(request, reply).then(() => done(refusal as Error), done)
        })
      }
    })
    // The library limits only requests with a route, so this hook limits the others.
    app.addHook('onRequest', (request, reply, done) => {
      if (!request.is404 || origins.of(request.raw).kind === 'game') return done()
      count(request, reply).then(() => done(), done)
    })
  }

  await app.register(rateLimit, {
    global: false,
    max: limits.requestsPerMinute,
    timeWindow: MINUTE_MS,
    keyGenerator: generalKey,
    store: storeOn(limiter),
    enableDraftSpec: true, // `RateLimit-…` without the prefix `X-`
    ...(limits.rateLimits ? {} : { allowList: () => true }),
    errorResponseBuilder: (_request, { ttl }) => tooMany(ttl),
  })
  check = app.createRateLimit()
}

/**
 * The key that a caller is counted by. With a credential it is the player and the kind of credential: creating more
 * tokens does not raise the limit, and a game that holds a player's access token cannot use up the player's limit in
 * the browser. Without a credential it is the address, for IPv6 its /64.
 */
export function callerKey(request: FastifyRequest): string {
  const { principal } = request
  return principal ? `${principal.kind}/${principal.playerId}` : `address/${callerAddress(request)}`
}

/** The key of the general limit. */
function generalKey(request: FastifyRequest): string {
  const { rateLimitGroup } = request.routeOptions.config
  return rateLimitGroup ? `${rateLimitGroup}/${callerKey(request)}` : callerKey(request)
}

/**
 * The caller's address for limits. An IPv6 address is cut to its /64, since providers give a customer at least that
 * many addresses (RFC 6177) and a limit for each address would have no effect.
 */
export const callerAddress = (request: FastifyRequest): string => rateLimit.normalizeIP(request.ip ?? '')

function tooMany(resetMs: number) {
  const seconds = Math.max(1, Math.ceil(resetMs / 1000))
  return new RateLimited(seconds).with({ headers: { 'retry-after': String(seconds) } })
}

type Check = onRequestHookHandler | onRequestAsyncHookHandler

/** Runs hooks in order until one fails or sends a response, and waits for asynchronous ones. */
function firstFailure(
  checks: Check[],
  on: { app: FastifyInstance; request: FastifyRequest; reply: FastifyReply },
  done: (refusal?: unknown) => void,
): void {
  let at = 0
  const next = (refusal?: unknown) => {
    const check = checks[at++]
    if (refusal || !check || on.reply.sent) return done(refusal)
    let pending: unknown
    try {
      pending = (check as onRequestHookHandler).call(on.app, on.request, on.reply, next)
    } catch (error) {
      return done(error)
    }
    // A hook with a callback calls `next` itself.
    if (check.length < 3) (pending as Promise<unknown>).then(() => next(), done)
  }
  next()
}

/** Implements the library's store with the platform's counters. A route with its own limit has separate counters. */
function storeOn(limiter: RateLimiter): FastifyRateLimitStoreCtor {
  return class BusStore implements FastifyRateLimitStore {
    #prefix = 'all/'

    incr(key: string, callback: Parameters<FastifyRateLimitStore['incr']>[1], windowMs: number): void {
      limiter.count(this.#prefix + key, windowMs).then(
        ({ count, resetMs }) => callback(null, { current: count, ttl: resetMs }),
        (error) => callback(error),
      )
    }

    child(route: Parameters<FastifyRateLimitStore['child']>[0]): BusStore {
      const store = new BusStore()
      const { method, url } = (route as unknown as { routeInfo: { method: string; url: string } }).routeInfo
      store.#prefix = `${method} ${url}/`
      return store
    }
  }
}
