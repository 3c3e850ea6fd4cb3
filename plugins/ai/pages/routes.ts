import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import Value from 'typebox/value'
import { isPlatformError } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import { abortOnDisconnect } from '../../../core/http/connections.ts'
import { fieldErrors } from '../../../core/http/forms/field-errors.ts'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { renderPage } from '../../../core/pages/index.ts'
import { type AiLimits, GenerateRequest, type Generation, generationBytes } from '../schemas.ts'
import { readUsage } from '../usage.ts'
import { EXAMPLES, type Kept, type PlaygroundForm, type PlaygroundProblem, playground } from './playground.ts'
import { usagePage } from './usage-page.ts'

const own = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const Text = Type.String({ default: '', maxLength: 100_000 })
const TypeName = Type.Union([Type.Literal('text'), Type.Literal('object'), Type.Literal('image')], { default: 'text' })
const USAGE_DAYS = 30

/** The portal's pages about AI. */
export const pages =
  (limits: AiLimits): Routes =>
  async (app) => {
    app.get(
      '/playground',
      { ...own, schema: { querystring: Type.Object({ type: TypeName }) } },
      async (request, reply) =>
        show(request, reply, { ...BLANK, ...EXAMPLES[request.query.type], type: request.query.type }),
    )

    app.post(
      '/playground',
      {
        ...own,
        config: {
          ...own.config,
          rateLimit: { max: limits.aiRequestsPerMinute, timeWindow: 60_000, keyGenerator: callerId },
        },
        bodyLimit: generationBytes(limits),
        schema: {
          body: Type.Object({
            type: TypeName,
            prompt: Text,
            system: Text,
            schema: Text,
            model: Text,
            aspectRatio: Text,
            imageSize: Text,
            keep: Type.Optional(Type.Literal('true')),
          }),
        },
      },
      async (request, reply) => {
        const { keep, ...form } = request.body
        const asked = requestOf(form)
        if (asked instanceof Map) return show(request, reply, form, { problem: { fields: asked }, status: 400 })
        try {
          const { playerId } = callerOf(request)
          const answer = await app.ai.generate({ playerId }, asked, abortOnDisconnect(reply))
          const kept = keep && asked.type === 'image' ? await keepPicture(playerId, answer, asked.prompt) : null
          return show(request, reply, form, { asked, answer, kept })
        } catch (error) {
          if (!isPlatformError(error)) throw error
          return show(request, reply, form, {
            asked,
            problem: { message: error.message },
            status: error.statusCode,
          })
        }
      },
    )

    app.get(
      '/games/:slug/ai',
      { ...own, schema: { params: Type.Object({ slug: Type.String({ maxLength: 63 }) }) } },
      async (request, reply) => {
        const { playerId, viewer } = callerOf(request)
        const game = await app.games.mustMake(playerId, request.params.slug)
        const usage = await readUsage(app.db, game.id, USAGE_DAYS, app.clock.now())
        return renderPage(reply, { title: `AI of ${game.title}`, user: viewer, body: usagePage(app, game, usage) })
      },
    )

    /** @returns the path of the asset, or why there is none: the picture is paid, so the page shows it anyhow */
    const keepPicture = (playerId: string, answer: Generation, prompt: string): Promise<Kept> =>
      app.ai.keep(playerId, answer, { prompt }).then(
        ({ slug }) => ({ path: `/assets/${slug}` }),
        (error) => {
          if (!isPlatformError(error) || error.statusCode >= 500) throw error
          return { problem: error.message }
        },
      )

    async function show(
      request: FastifyRequest,
      reply: FastifyReply,
      form: PlaygroundForm,
      state: {
        asked?: GenerateRequest
        answer?: Generation
        kept?: Kept | null
        problem?: PlaygroundProblem
        status?: number
      } = {},
    ): Promise<string> {
      const { playerId, viewer } = callerOf(request)
      const { available } = await app.credits.balance(playerId)
      const { asked = null, answer = null, kept = null, problem = null, status } = state
      reply.header('cache-control', 'no-store')
      return renderPage(reply, {
        title: 'Playground',
        current: '/playground',
        user: viewer,
        ...(status === undefined ? {} : { status }),
        body: playground({
          form,
          available,
          answer,
          kept,
          problem,
          request: asked,
          models: app.ai.models(form.type),
          portal: app.origins.portal,
        }),
      })
    }
  }

const callerId = (request: FastifyRequest) => request.principal?.playerId ?? callerAddress(request)

const BLANK = { prompt: '', system: '', schema: '', model: '', aspectRatio: '', imageSize: '1K' }

/** Converts the form to an API request, or returns what is wrong, by the name of the field. */
function requestOf(form: PlaygroundForm): GenerateRequest | Map<string, string> {
  const { type, prompt, system, schema, model, aspectRatio, imageSize } = form
  let parsed: unknown
  if (type === 'object' && schema.trim() !== '') {
    try {
      parsed = JSON.parse(schema)
    } catch {
      return new Map([['schema', 'This is not JSON.']])
    }
  }
  const request = {
    type,
    prompt: prompt.replaceAll('\r\n', '\n'),
    maxOutputTokens: 4096,
    ...(parsed === undefined ? {} : { schema: parsed }),
    ...(system.trim() && type !== 'image' ? { system } : {}),
    ...(model ? { model } : {}),
    ...(type === 'image' ? { imageSize, ...(aspectRatio.trim() ? { aspectRatio: aspectRatio.trim() } : {}) } : {}),
  }
  if (Value.Check(GenerateRequest, request)) return request
  return fieldErrors([...Value.Errors(GenerateRequest, request)] as never)
}
