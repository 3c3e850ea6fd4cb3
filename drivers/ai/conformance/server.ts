import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as the provider received it. */
export interface ProviderRequest {
  path: string
  headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: each protocol has its own; tests match its shape
  body: any
  /** Whether the client closed the connection before the response was complete. */
  aborted: boolean
}

/** The provider's reaction to one request. */
export type Script = (request: ProviderRequest, response: ServerResponse) => unknown

/** A real HTTP server in the role of a provider, whose responses a test writes. */
export interface AiServer {
  url: string
  requests: ProviderRequest[]
  /** Reaction to all further requests. */
  answer: Script
}

/** An image of one red pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)

/** Starts a server, which closes at the end of the test. */
export async function startAiServer(t: { teardown(end: () => void): unknown }, answer: Script): Promise<AiServer> {
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const request: ProviderRequest = {
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: text === '' ? null : JSON.parse(text),
      aborted: false,
    }
    response.once('close', () => {
      request.aborted = !response.writableFinished
    })
    provider.requests.push(request)
    await provider.answer(request, response)
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  // An idle connection stays open: if it ended while the client sent a request on it, the request would fail.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const provider: AiServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    answer,
  }
  return provider
}

export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Script =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

/** Formats server-sent events, one for each piece. */
export const sse =
  (events: readonly (string | { event?: string; data: unknown })[]): Script =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events) {
      if (typeof event === 'string') response.write(`data: ${event}\n\n`)
      else response.write(`${event.event ? `event: ${event.event}\n` : ''}data: ${JSON.stringify(event.data)}\n\n`)
    }
    response.end()
  }
