import { hostname } from 'node:os'
import { FastifyOtelInstrumentation } from '@fastify/otel'
import { type Context, context, propagation, type Span, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import type { FastifyPluginCallback, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { pathOf } from './log.ts'
import type { SpanAttributes, Tracing } from './tracing.ts'

/** Routes whose traces would add nothing to the metrics. */
const UNTRACED = new Set(['/healthz', '/readyz', '/metrics'])
/** Maximum interval between two exports of spans. */
const SEND_MS = 2000
const SEND_TIMEOUT_MS = 10_000

/**
 * Traces over OTLP/HTTP, loaded only when `telemetry.endpoint` is set. It needs no hook in Node's module loader, so it
 * works in a single binary too. Requests are traced by @fastify/otel, a plugin of the app, and other work by `span`.
 */
export class Telemetry implements Tracing {
  /** Must be registered before any route or hook. */
  readonly plugin: FastifyPluginCallback
  readonly #provider: BasicTracerProvider
  readonly #traced = new WeakSet<object>()

  /** @param version version of the program */
  constructor({ endpoint, headers, serviceName, sampleRatio }: Config['telemetry'], version: string) {
    // The manager is global to the process; AsyncLocalStorage carries the current span across awaits.
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
    const exporter = new OTLPTraceExporter({
      url: `${endpoint?.replace(/\/$/, '')}/v1/traces`,
      headers: headersOf(headers),
      timeoutMillis: SEND_TIMEOUT_MS,
    })
    const sampler = new TraceIdRatioBasedSampler(sampleRatio)
    this.#provider = new BasicTracerProvider({
      resource: resourceFromAttributes({
        'service.name': serviceName,
        'service.version': version,
        'service.instance.id': `${hostname()}-${process.pid}`,
        'host.name': hostname(),
        'process.pid': process.pid,
      }),
      // A caller may name a parent trace, but can't raise the sampling rate.
      sampler: new ParentBasedSampler({ root: sampler, remoteParentSampled: sampler }),
      spanProcessors: [new ServerErrors(new BatchSpanProcessor(exporter, { scheduledDelayMillis: SEND_MS }))],
    })
    const requests = new FastifyOtelInstrumentation({
      instrumentHooks: false,
      recordExceptions: false,
      ignorePaths: ({ url }) => UNTRACED.has(pathOf(url)),
      requestHook: (span, request) => this.#begin(span, request),
    })
    requests.setTracerProvider(this.#provider)
    this.plugin = requests.plugin() as FastifyPluginCallback
  }

  async span<Result>(name: string, attributes: SpanAttributes, work: () => Promise<Result>): Promise<Result> {
    const span = this.#provider.getTracer('gameyard').startSpan(name, { attributes }, context.active())
    try {
      return await context.with(trace.setSpan(context.active(), span), work)
    } catch (error) {
      const { name: type, message } = error as Error
      span.setStatus({ code: SpanStatusCode.ERROR, message }).setAttribute('error.type', type)
      throw error
    } finally {
      span.end()
    }
  }

  /** Returns the fields of the current span for a log line, for Pino's `mixin`. */
  readonly mixin = (_fields: object, _level: number, logger: Logger): object =>
    this.#traced.has(logger) ? {} : idsOf(context.active())

  /** Exports the remaining spans. */
  async close(): Promise<void> {
    await this.#provider.shutdown().catch(() => {}) // an unavailable collector must not block the shutdown
  }

  #begin(span: Span, request: FastifyRequest): void {
    const { url, config } = request.routeOptions
    // The attribute never includes the query. The route pattern replaces a path that is a secret.
    span.setAttribute('url.path', config.secretPath ? (url ?? '') : pathOf(request.raw.url))
    span.setAttribute('server.address', pathOf(request.host).slice(0, 255))
    span.updateName(url === undefined ? request.method : `${request.method} ${url}`)
    // Lines that are logged after the response are outside of the span.
    request.log = request.log.child(idsOf(trace.setSpan(context.active(), span)))
    this.#traced.add(request.log)
  }
}

function idsOf(where: Context): object {
  const found = trace.getSpanContext(where)
  return found ? { trace_id: found.traceId, span_id: found.spanId } : {}
}

/** Parses `name=value,name=value`, as in OTEL_EXPORTER_OTLP_HEADERS. */
const headersOf = (text = ''): Record<string, string> =>
  Object.fromEntries(
    text
      .split(',')
      .map((pair) => pair.split(/=(.*)/s, 2).map((part) => part.trim()))
      .filter(([name]) => name),
  )

/** Marks only spans with a 5xx response as errors, because a refusal is not an error of the server. */
class ServerErrors implements SpanProcessor {
  readonly #next: SpanProcessor

  constructor(next: SpanProcessor) {
    this.#next = next
  }

  onStart: SpanProcessor['onStart'] = (span, parent) => this.#next.onStart(span, parent)

  onEnd(span: ReadableSpan): void {
    const status = Number(span.attributes['http.response.status_code'] ?? 500)
    if (status < 500 && span.status.code === SpanStatusCode.ERROR)
      Object.assign(span, { status: { code: SpanStatusCode.UNSET } })
    this.#next.onEnd(span)
  }

  forceFlush = () => this.#next.forceFlush()
  shutdown = () => this.#next.shutdown()
}
