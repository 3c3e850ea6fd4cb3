import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import { Forbidden } from '../errors.ts'
import { ProcessMetrics } from './process-metrics.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The registry of Prometheus metrics. Plugins add theirs with `registers: [app.metrics]`. */
    metrics: Registry
  }
}

const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

/**
 * Request counts and durations by route. The library's histogram and counter build a key from their labels at every
 * request, which is expensive where a response takes microseconds. These classes increment stored numbers.
 */
export class RequestMetrics {
  readonly #durations = new Map<string, Map<string, Duration>>()
  readonly #answers = new Map<string, Map<number, number>>()

  /** @param route the pattern, never the path, because a label for every address would grow without limit */
  observe(method: string, route: string, status: number, seconds: number): void {
    const duration = within(within(this.#durations, route, newMap<string, Duration>), method, newDuration)
    duration.sum += seconds
    duration.count++
    let bucket = 0
    while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] as number)) bucket++
    ;(duration.buckets[bucket] as number)++
    const answers = within(this.#answers, route, newMap<number, number>)
    answers.set(status, (answers.get(status) ?? 0) + 1)
  }

  /** Registers both metrics in the format of the registry. */
  register(registry: Registry): void {
    const metrics = [
      {
        name: 'gameyard_http_request_seconds',
        help: 'Time from request to the end of the answer, by route.',
        type: 'histogram',
        values: () => this.#durationValues(),
      },
      {
        name: 'gameyard_http_responses_total',
        help: 'Answers by route and status.',
        type: 'counter',
        values: () => this.#answerValues(),
      },
    ]
    for (const { values, ...metric } of metrics) {
      const form = { ...metric, aggregator: 'sum', labelNames: [], reset: () => {} }
      registry.registerMetric({ ...form, get: async () => ({ ...form, values: [...values()] }) } as unknown as Metric)
    }
  }

  *#durationValues() {
    const metricName = 'gameyard_http_request_seconds'
    for (const [route, methods] of this.#durations) {
      for (const [method, { buckets, count, sum }] of methods) {
        let below = 0
        for (const [index, bound] of BUCKETS.entries()) {
          below += buckets[index] as number
          yield { metricName: `${metricName}_bucket`, labels: { le: bound, method, route }, value: below }
        }
        yield { metricName: `${metricName}_bucket`, labels: { le: '+Inf', method, route }, value: count }
        yield { metricName: `${metricName}_sum`, labels: { method, route }, value: sum }
        yield { metricName: `${metricName}_count`, labels: { method, route }, value: count }
      }
    }
  }

  *#answerValues() {
    for (const [route, statuses] of this.#answers)
      for (const [status, value] of statuses) yield { labels: { route, status }, value }
  }
}

interface Duration {
  /** Counts that are not cumulative; the last one is for values beyond every bound. */
  buckets: number[]
  sum: number
  count: number
}

const newDuration = (): Duration => ({ buckets: Array(BUCKETS.length + 1).fill(0), sum: 0, count: 0 })
const newMap = <Key, Value>(): Map<Key, Value> => new Map()

function within<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) {
    value = create()
    map.set(key, value)
  }
  return value
}

let ofProcess: Registry | undefined

/**
 * Returns the metrics of this process: memory, CPU time, garbage collection, event loop. They belong to a registry of
 * their own, because their observers can't be removed and would retain every app that has closed.
 */
function metricsOfProcess(): Metric[] {
  if (!ofProcess) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess, prefix: 'gameyard_' })
  }
  return ofProcess.getMetricsAsArray() as unknown as Metric[]
}

/** Counts and times every request. Serves `/metrics` to this machine, or to the configured bearer token. */
export function registerMetrics(
  app: FastifyInstance,
  requests: RequestMetrics,
  { token, node }: { token: string | undefined; node: string },
): void {
  for (const metric of metricsOfProcess()) app.metrics.registerMetric(metric)
  requests.register(app.metrics)
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? '(none)'
    requests.observe(request.method, route, reply.statusCode, reply.elapsedTime / 1000)
    done()
  })

  const ofProcesses = app.siblings.count > 1 ? new ProcessMetrics(app, node) : null
  if (ofProcesses) app.addHook('onReady', () => ofProcesses.start())

  app.get(
    '/metrics',
    { config: { auth: 'none', quiet: true }, constraints: { origin: 'any' }, schema: { hide: true } },
    async (request, reply) => {
      if (!isLocal(request) && !holdsToken(request, token)) {
        throw new Forbidden('Metrics are for this machine, or for the bearer token in `metrics.token`.')
      }
      reply.type(app.metrics.contentType)
      return ofProcesses ? ofProcesses.collect() : app.metrics.metrics()
    },
  )
}

/**
 * Whether a request comes from this machine directly. A local proxy would make every client look local. One that says
 * nothing of its clients still passes on the name by which they came.
 */
function isLocal(request: FastifyRequest): boolean {
  const { forwarded, 'x-forwarded-for': forwardedFor, host = '' } = request.headers
  const address = request.socket.remoteAddress ?? ''
  const isLocalName = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])\.?(?::\d+)?$/i.test(host)
  return !forwarded && !forwardedFor && isLocalName && /^(127\.|::1$|::ffff:127\.)/.test(address)
}

function holdsToken(request: FastifyRequest, token: string | undefined): boolean {
  const sent = Buffer.from(request.headers.authorization ?? '')
  const expected = Buffer.from(`Bearer ${token}`)
  return token !== undefined && sent.length === expected.length && timingSafeEqual(sent, expected)
}
