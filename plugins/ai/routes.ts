import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../core/http/auth.ts'
import { abortOnDisconnect } from '../../core/http/connections.ts'
import { allowAnyOrigin } from '../../core/http/cors.ts'
import type { Replay } from '../../core/http/idempotency.ts'
import { callerAddress } from '../../core/http/rate-limit.ts'
import type { Routes } from '../../core/http/routes.ts'
import { deltaEvent, doneEvent, EVENT_STREAM, events } from './event-stream.ts'
import { type AiLimits, CreditsView, GenerateRequest, Generation, generationBytes } from './schemas.ts'

const constraints = { origin: 'portal' } as const
// Sessions are not accepted: any web page may call these routes, and only a token proves that it was authorised.
const auth = { scope: 'ai:generate', accepts: ['api-token', 'cli-token', 'oauth-token'] } as const

export const routes =
  (limits: AiLimits): Routes =>
  async (app) => {
    allowAnyOrigin(app, {
      paths: { '/api/ai/generate': 'POST', '/api/ai/credits': 'GET' },
      headers: ['idempotency-key'],
      expose: ['idempotent-replay', 'x-request-id', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'],
    })

    app.post(
      '/api/ai/generate',
      {
        config: {
          auth,
          idempotent: { replay },
          rateLimit: {
            max: limits.aiRequestsPerMinute,
            timeWindow: 60_000,
            keyGenerator: (request: FastifyRequest) => request.principal?.playerId ?? callerAddress(request),
          },
        },
        constraints,
        bodyLimit: generationBytes(limits),
        schema: {
          summary: 'Generate a text, an object or an image, paid with credits',
          tags: ['ai'],
          body: GenerateRequest,
          response: { 200: Generation },
        },
      },
      async (request, reply) => {
        const { playerId, clientId } = callerOf(request)
        const signal = abortOnDisconnect(reply)
        reply.header('cache-control', 'no-store')
        if (!request.body.stream) {
          return app.ai.generate({ playerId, clientId }, request.body, signal, (statements, generation) =>
            app.rememberAnswer(request, statements, () => reply.serialize(generation) as string),
          )
        }
        const pieces = await app.ai.stream({ playerId, clientId }, request.body, signal, (statements, generation) =>
          app.rememberAnswer(request, statements, () => JSON.stringify(generation)),
        )
        return reply
          .header('x-accel-buffering', 'no')
          .type(EVENT_STREAM)
          .serializer((payload: unknown) => payload as string)
          .send(Readable.from(events(pieces)) as never)
      },
    )

    app.get(
      '/api/ai/credits',
      {
        config: { auth },
        constraints,
        schema: {
          summary: 'Your credits, your debt and the ledger; the first call grants the sign-up credits',
          tags: ['ai'],
          response: { 200: CreditsView },
        },
      },
      async (request, reply) => {
        const { playerId } = callerOf(request)
        reply.header('cache-control', 'no-store')
        return app.purchases.statementOf(playerId)
      },
    )
  }

/** Replays a repeated stream request as a stream: the whole text as one piece, then the answer. */
const replay: Replay = (answer, { body }) =>
  (body as GenerateRequest).stream
    ? { type: EVENT_STREAM, payload: deltaEvent(JSON.parse(answer).result) + doneEvent(answer) }
    : { type: 'application/json; charset=utf-8', payload: answer }
