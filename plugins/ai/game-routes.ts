import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest, preHandlerHookHandler } from 'fastify'
import { actFor, endScope } from '../../core/http/auth.ts'
import { abortOnDisconnect } from '../../core/http/connections.ts'
import type { Routes } from '../../core/http/routes.ts'
import { InsufficientCredits } from '../billing/index.ts'
import { OF_PLAYER, refuseServiceWorker, serveScript } from '../game-edge/index.ts'
import { TooFewCredits } from './errors.ts'
import { EVENT_STREAM, events } from './event-stream.ts'
import { type AiLimits, type Generation, generationBytes, HostedGeneration, HostedRequest } from './schemas.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The player and the game of a generation for a page of the game; set before the body is read. */
    hostedPayer: HostedPayer | null
  }
}

interface HostedPayer {
  playerId: string
  hostedGameId: string
}

const constraints = { origin: 'game' } as const
const MINUTE_MS = 60_000

/** AI for the pages of a game, `POST /__service/ai`, paid by the player who is signed in; and the script for it. */
export const gameRoutes =
  (limits: AiLimits): Routes =>
  async (app) => {
    app.addHook('onRequest', refuseServiceWorker)
    app.decorateRequest('hostedPayer', null)
    const preHandler: preHandlerHookHandler = (request, _reply, done) => {
      const { playerId, hostedGameId } = payerOf(request)
      actFor(request, { playerId, role: null }, () => {
        app.games.recheckPlay(playerId, hostedGameId)
        done()
      })
    }

    app.post(
      '/__service/ai',
      {
        config: { auth: 'none' },
        constraints,
        bodyLimit: generationBytes(limits),
        async onRequest(request, reply) {
          reply.headers({
            'cache-control': 'no-store',
            'x-content-type-options': 'nosniff',
            'cross-origin-resource-policy': 'same-origin',
          })
          const payer = await identify(app, request)
          await app.rateLimiter.take(`ai/${payer.playerId}`, limits.aiRequestsPerMinute, MINUTE_MS)
          request.hostedPayer = payer
        },
        preHandler,
        onResponse: endScope,
        schema: {
          summary: 'Generate for a page of a hosted game, paid by the player who allows the game credits a day',
          description:
            'Only for pages of the game itself, by the session of the game. 403 `ai_not_allowed` has `allowUrl`, the page on which the player allows it. 402 `daily_limit_reached` has `limit`, `used` and `resetsAt`.',
          tags: ['ai'],
          security: OF_PLAYER,
          body: HostedRequest,
          response: { 200: HostedGeneration },
        },
      },
      async (request, reply) => {
        const payer = payerOf(request)
        const signal = abortOnDisconnect(reply)
        const refuse = (error: unknown): never => {
          if (!(error instanceof InsufficientCredits)) throw error
          throw new TooFewCredits().with({ body: { creditsUrl: `${app.origins.portal}/credits` } })
        }
        if (!request.body.stream) return app.ai.generate(payer, request.body, signal).catch(refuse)
        const pieces = await app.ai.stream(payer, request.body, signal).catch(refuse)
        return reply
          .header('x-accel-buffering', 'no')
          .type(EVENT_STREAM)
          .serializer((payload: unknown) => payload as string)
          .send(Readable.from(events(pieces, withoutBalance)) as never)
      },
    )

    serveScript(app, 'ai.js')
  }

const withoutBalance = ({ balance: _, ...rest }: Generation): object => rest

/** The player spends. @throws NotFound, Suspended, Forbidden, Unauthorized, OtherPlayer */
async function identify(app: FastifyInstance, request: FastifyRequest): Promise<HostedPayer> {
  const { game } = await app.edge.gameOfPage(request)
  const playerId = await app.edge.playerOfPage(request, game, {
    otherOrigin: 'A generation must be requested by a page of the game itself.',
    signedOut: 'Sign in to use AI in this game: it costs credits of the player.',
  })
  return { playerId, hostedGameId: game.id }
}

function payerOf({ hostedPayer }: FastifyRequest): HostedPayer {
  if (!hostedPayer) throw new Error('A generation ran before its caller was known.')
  return hostedPayer
}
