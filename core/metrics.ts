import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter, collectDefaultMetrics, Histogram, type Registry } from 'prom-client'
import { Forbidden } from './errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The registry of Prometheus metrics; plugins add theirs with `registers: [app.metrics]`. */
    metrics: Registry
  }
}

/** Request counts and durations by route, and `/metrics` for this machine or the configured bearer token. */
export function registerMetrics(app: FastifyInstance, token: string | undefined): void {
  const registers = [app.metrics]
  collectDefaultMetrics({ register: app.metrics, prefix: 'gameyard_' })
  const duration = new Histogram({
    name: 'gameyard_http_request_seconds',
    help: 'Time from request to the end of the answer, by route.',
    labelNames: ['method', 'route'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  })
  const answers = new Counter({
    name: 'gameyard_http_responses_total',
    help: 'Answers by route and status.',
    labelNames: ['route', 'status'],
    registers,
  })
  app.addHook('onResponse', (request, reply, done) => {
    // The pattern, never the path: a label for every address would grow without end.
    const route = request.routeOptions.url ?? '(none)'
    duration.observe({ method: request.method, route }, reply.elapsedTime / 1000)
    answers.inc({ route, status: reply.statusCode })
    done()
  })

  app.get(
    '/metrics',
    { config: { auth: 'none', quiet: true }, constraints: { origin: 'any' }, schema: { hide: true } },
    async (request, reply) => {
      if (!isLocal(request) && !holdsToken(request, token)) {
        throw new Forbidden('Metrics are for this machine, or for the bearer token in `metrics.token`.')
      }
      reply.type(app.metrics.contentType)
      return app.metrics.metrics()
    },
  )
}

/** From this machine and not through a proxy on it, which would make everyone look local. */
function isLocal(request: FastifyRequest): boolean {
  const { forwarded, 'x-forwarded-for': forwardedFor } = request.headers
  const address = request.socket.remoteAddress ?? ''
  return !forwarded && !forwardedFor && /^(127\.|::1$|::ffff:127\.)/.test(address)
}

function holdsToken(request: FastifyRequest, token: string | undefined): boolean {
  const sent = Buffer.from(request.headers.authorization ?? '')
  const expected = Buffer.from(`Bearer ${token}`)
  return token !== undefined && sent.length === expected.length && timingSafeEqual(sent, expected)
}
