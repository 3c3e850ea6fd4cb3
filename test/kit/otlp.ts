import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { until } from './until.ts'

/** A received span. */
export interface ReceivedSpan {
  name: string
  traceId: string
  spanId: string
  parentSpanId: string
  /** The status code: 0 unset, 1 ok, 2 error. */
  status: number
  attributes: Record<string, unknown>
  /** The resource attributes of the sender. */
  resource: Record<string, unknown>
}

interface KeyValue {
  key: string
  value: Record<string, unknown>
}

interface OtlpTraces {
  resourceSpans: {
    resource: { attributes: KeyValue[] }
    scopeSpans: {
      spans: {
        name: string
        traceId: string
        spanId: string
        parentSpanId?: string
        status?: { code?: number }
        attributes: KeyValue[]
      }[]
    }[]
  }[]
}

const plain = (list: KeyValue[]) => Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]]))

/**
 * Starts a receiver of OTLP over HTTP in JSON on a free port of 127.0.0.1. It stores every span and ends with the test.
 */
export async function startOtlp(t: Test) {
  const spans: ReceivedSpan[] = []
  const headers: Record<string, unknown>[] = []
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    if (request.url !== '/v1/traces') return response.writeHead(404).end()
    headers.push(request.headers)
    for (const { resource, scopeSpans } of (JSON.parse(body) as OtlpTraces).resourceSpans) {
      for (const { name, traceId, spanId, parentSpanId = '', status, attributes } of scopeSpans.flatMap(
        (s) => s.spans,
      )) {
        const own = { name, traceId, spanId, parentSpanId, status: status?.code ?? 0 }
        spans.push({ ...own, attributes: plain(attributes), resource: plain(resource.attributes) })
      }
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    /** Waits for the first matching span. */
    async span(wanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
      return until(() => spans.find(wanted))
    },
  }
}
