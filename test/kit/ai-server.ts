import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** A request as the provider got it. */
export interface ProviderRequest {
  path: string
  headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: each protocol has its own; tests match its shape
  body: any
  /** Whether the other side hung up before the answer was out. */
  aborted: boolean
}

/** What the provider does with one request. */
export type Script = (request: ProviderRequest, response: ServerResponse) => unknown

/** A real HTTP server in a provider's place, whose answers a test writes. */
export interface AiServer {
  url: string
  requests: ProviderRequest[]
  /** From now on. */
  answer: Script
}

/** One pixel, red. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)

/** Starts one; ends with the test. */
export async function startAiServer(t: Pick<Test, 'teardown'>, answer: Script = openai('Hello.')): Promise<AiServer> {
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

/** Server-sent events, one a piece. */
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

/** OpenAI's Chat Completions and Images: the same text, streamed or whole, and the pixel. */
export function openai(text: string, tokens = 10): Script {
  return (request, response) => {
    if (request.path.endsWith('/images/generations'))
      return json({ created: 1, data: [{ b64_json: PNG.toString('base64') }] })(request, response)
    const usage = { prompt_tokens: 5, completion_tokens: tokens, total_tokens: 5 + tokens }
    const about = { id: 'chatcmpl-1', created: 1, model: request.body.model }
    if (!request.body.stream) {
      const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }
      return json({ ...about, object: 'chat.completion', choices: [choice], usage })(request, response)
    }
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      data: { ...about, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] },
    })
    const pieces = text.split(/(?<= )/).map((piece) => chunk({ content: piece }))
    const end = { data: { ...about, object: 'chat.completion.chunk', choices: [], usage } }
    return sse([chunk({ role: 'assistant', content: '' }), ...pieces, chunk({}, 'stop'), end, '[DONE]'])(
      request,
      response,
    )
  }
}

/** The section `ai` of a configuration that uses it. */
export const aiConfig = (server: AiServer, more: Record<string, unknown> = {}) => ({
  driver: 'openai-compatible',
  baseUrl: `${server.url}/v1`,
  apiKey: 'sk-provider-secret-0123456789',
  models: { text: ['small', 'large'], image: 'painter' },
  ...more,
})
