import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { createMcpHandler } from '@modelcontextprotocol/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Unauthorized } from '../../core/errors.ts'
import { callerOf } from '../../core/http/auth.ts'
import { abortOnDisconnect, onceClosed } from '../../core/http/connections.ts'
import { allowAnyOrigin } from '../../core/http/cors.ts'
import { parseLongTexts } from '../../core/http/limits/json-texts.ts'
import type { Routes } from '../../core/http/routes.ts'
import { type Caller, callTool } from './call-tool.ts'
import { answerOf, directCall } from './direct-calls.ts'
import { BatchRefused } from './errors.ts'
import type { LastCalls } from './last-calls.ts'
import { CALL_LIMIT, MOST_BYTES } from './message-size.ts'
import { newSession, OpenCalls, type Sender, sessionOf } from './open-calls.ts'
import { resourceScopes } from './scopes.ts'
import { createServer, identityOf } from './server.ts'
import { registeredTools } from './tool-table.ts'

const constraints = { origin: 'portal' } as const
const SHORT_BYTES = 1024 ** 2
/** The longer messages of one caller in a minute. */
const LONG_PER_MINUTE = 30
/** Direct calls are short reads, which neither stop nor report progress. */
const DIRECT = { mcpReq: { signal: new AbortController().signal, notify: async () => {} } }

const METADATA = '/.well-known/oauth-protected-resource'
const HEADERS = ['mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'mcp-name', 'last-event-id']
/** The request headers that the SDK reads. */
const PASSED = ['accept', 'content-type', ...HEADERS]

/**
 * The endpoint of the Model Context Protocol (Streamable HTTP). It stores no sessions: each request is answered by a
 * server of its own, on any node, so a restart or a load balancer ends nothing. The session id of clients of 2025 only
 * ties their messages together.
 */
export const routes =
  (lastCalls: LastCalls): Routes =>
  async (app) => {
    parseLongTexts(app)
    app.setErrorHandler((error: { statusCode?: number }, _request, reply) => {
      if (error.statusCode !== 413) throw error
      return reply.code(413).header('cache-control', 'no-store').send(TOO_LARGE)
    })
    const { portal } = app.origins
    const uri = `${portal}/mcp`
    app.identity.resources.add({ uri, name: `${app.site.name}`, scopes: resourceScopes() })
    allowAnyOrigin(app, {
      paths: { '/mcp': 'POST', [METADATA]: 'GET', [`${METADATA}/mcp`]: 'GET' },
      headers: HEADERS,
      expose: ['mcp-session-id'],
    })
    const auth = { accepts: ['api-token', 'cli-token', 'resource-token'] } as const
    let known: ReturnType<typeof registeredTools> | undefined
    // Every plugin has declared its routes when the first request comes.
    const tools = () => {
      known ??= registeredTools(app.routeTable)
      return known
    }
    const identity = identityOf(app)
    const openCalls = new OpenCalls(app.bus, app.log)
    app.addHook('onReady', () => openCalls.start())
    const handler = createMcpHandler(
      ({ authInfo, era }) => {
        // The route has checked the caller.
        const { principal, requestId, sender } = (authInfo as { extra?: unknown }).extra as Pick<
          Caller,
          'principal' | 'requestId'
        > & { sender: Sender | null }
        const caller = { app, principal, requestId, lastCalls }
        return createServer(caller, tools(), { openCalls, sender: era === 'legacy' ? sender : null })
      },
      { onerror: (error) => app.log.debug({ err: error }, 'a message of an assistant was refused') },
    )
    // Not before: calls that are under way may finish, as requests do. Closing the handler aborts them.
    app.addHook('onClose', () => handler.close())

    app.post(
      '/mcp',
      {
        config: { auth, upload: { maxBytes: MOST_BYTES, shortBytes: SHORT_BYTES, longPerMinute: LONG_PER_MINUTE } },
        constraints,
        bodyLimit: MOST_BYTES,
        schema: {
          summary: 'The Model Context Protocol, for coding assistants',
          description: 'Streamable HTTP without sessions: one JSON-RPC message a request. See the guide.',
          tags: ['assistants'],
          takes: { type: 'object', description: 'A JSON-RPC message.' },
          sends: {
            200: {
              what: 'The answer, or messages that end with it.',
              types: ['application/json', 'text/event-stream'],
            },
            202: { what: 'A notification has arrived.' },
          },
        },
        onRequest: (request, _reply, done) => done(refusalFor(request, uri)),
        // The protocol's authorization chapter: a client finds the authorization server by this header (RFC 9728).
        onSend: (_request, reply, payload, done) => {
          if (reply.statusCode === 401) reply.header('www-authenticate', challenge(portal, reply))
          done(null, payload)
        },
      },
      async (request, reply) => {
        if (Array.isArray(request.body)) throw new BatchRefused()
        const direct = directCall(request, tools())
        if (direct) {
          const caller = { app, principal: callerOf(request), requestId: request.id, lastCalls }
          const result = await callTool(caller, direct.tool, direct.arguments, DIRECT)
          reply.header('cache-control', 'no-store').type('application/json')
          return reply.serializer(asText).send(answerOf(direct, result, identity))
        }
        const principal = callerOf(request)
        const session = sessionOf(request.headers['mcp-session-id'])
        const sender = session === null ? null : { playerId: principal.playerId, session }
        if (sender) await openCalls.receive(sender, request.body)
        const { method, id, params } = (request.body ?? {}) as Message
        const isCall = method === 'tools/call'
        // Other messages are short, and among them are the answers for which calls wait.
        if (isCall) onceClosed(reply, openCalls.admit(principal.playerId))
        const open = sender && isCall ? openCalls.open(sender, id) : null
        if (open) onceClosed(reply, open.close)
        const response = await handler.fetch(webRequest(request, reply, uri, open?.signal), {
          ...(request.body === undefined ? {} : { parsedBody: request.body }),
          authInfo: {
            token: '',
            clientId: principal.clientId ?? '',
            scopes: [],
            extra: { principal, requestId: request.id, sender },
          },
        })
        if (method === 'initialize' && response.ok) reply.header('mcp-session-id', newSession(params?.capabilities))
        return send(reply, response)
      },
    )

    const metadata = JSON.stringify({
      resource: uri,
      resource_name: app.site.name,
      authorization_servers: [portal],
      scopes_supported: Object.keys(resourceScopes()),
      bearer_methods_supported: ['header'],
      resource_documentation: `${portal}/docs/assistants`,
    })
    for (const url of [METADATA, `${METADATA}/mcp`]) {
      app.get(
        url,
        {
          config: { auth: 'none' },
          constraints,
          schema: {
            tags: ['OAuth'],
            summary: 'Metadata of the endpoint for coding assistants (RFC 9728)',
            sends: { 200: { what: 'The metadata.', types: ['application/json'] } },
          },
        },
        async (_request, reply) =>
          reply
            .type('application/json; charset=utf-8')
            .header('cache-control', 'public, max-age=300')
            .serializer(asText)
            .send(metadata),
      )
    }
  }

/** The answer to a message whose id has not been read. */
const TOO_LARGE = {
  jsonrpc: '2.0',
  id: null,
  error: {
    code: -32_600,
    message: `The message is too long, and nothing was changed. ${CALL_LIMIT} Send the files in several calls; deploy_files leaves those that are live.`,
    data: { code: 'payload_too_large' },
  },
}

/** Sends a body that is serialised already. */
const asText = (payload: unknown) => payload as string

/** A token for another resource is no token here (RFC 8707). */
function refusalFor({ principal }: FastifyRequest, uri: string): Error | undefined {
  if (principal?.kind !== 'resource-token' || principal.resource === uri) return
  return new Unauthorized('This token is for another resource.').with({
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  })
}

/** Adds the address of the metadata to the challenge of the route's check. */
function challenge(portal: string, reply: FastifyReply): string {
  const given = String(reply.getHeader('www-authenticate') ?? 'Bearer')
  const metadata = `resource_metadata="${portal}${METADATA}/mcp"`
  return given === 'Bearer' ? `Bearer ${metadata}` : `${given}, ${metadata}`
}

/** A message of a client, as far as this endpoint reads it before the SDK validates it. */
interface Message {
  method?: unknown
  id?: unknown
  params?: { capabilities?: Parameters<typeof newSession>[0] }
}

/**
 * Converts a request to the form that the SDK takes. Its signal aborts when the client disconnects.
 *
 * @param cancelled aborts when the client cancels by another request
 */
function webRequest(request: FastifyRequest, reply: FastifyReply, uri: string, cancelled?: AbortSignal): Request {
  const gone = abortOnDisconnect(reply)
  const headers = new Headers()
  for (const name of PASSED) {
    const value = request.headers[name]
    if (typeof value === 'string') headers.set(name, value)
  }
  const signal = cancelled ? AbortSignal.any([gone, cancelled]) : gone
  return new Request(uri, { method: request.method, headers, signal })
}

async function send(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  reply.code(response.status).header('cache-control', 'no-store')
  const type = response.headers.get('content-type')
  if (type) reply.type(type)
  for (const name of ['allow', 'mcp-session-id']) {
    const value = response.headers.get(name)
    if (value) reply.header(name, value)
  }
  reply.serializer(asText)
  if (!type?.startsWith('text/event-stream') || !response.body) return reply.send(await response.text())
  return reply.header('x-accel-buffering', 'no').send(Readable.fromWeb(response.body as ReadableStream))
}
