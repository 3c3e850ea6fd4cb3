import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPlatformError } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { renderPage } from '../../../core/pages/index.ts'
import { domainsPage } from './domains.ts'

const Slug = Type.Object({ slug: Type.String({ maxLength: 63 }) })
const Body = Type.Object({ name: Type.String({ maxLength: 300, default: '' }) })
const Step = Type.Object({
  name: Type.String({ maxLength: 300 }),
  do: Type.Enum(['verify', 'primary', 'equal', 'remove']),
})
const Done = Type.Object({ done: Type.Optional(Type.Enum(['verify', 'primary', 'equal', 'remove'])) })

const TOLD = {
  verify: 'Verified: the game is served there now.',
  primary: 'Saved: all other addresses lead there now.',
  equal: 'Saved: every address shows the game itself.',
  remove: 'Removed. Take its records out of the DNS too.',
}

/** The owner's page of a game's domains; it works without JavaScript. */
export const ownerPages: Routes = async (app) => {
  const own = {
    config: { auth: 'session', page: true },
    constraints: { origin: 'portal' },
    onRequest: async (request: FastifyRequest) => {
      await app.games.mustMake(callerOf(request).playerId, (request.params as { slug: string }).slug)
    },
  } as const

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    state: { typed?: string; problem?: string; about?: string; flash?: string } = {},
  ) => {
    const { playerId, viewer } = callerOf(request)
    const game = await app.games.mustMake(playerId, (request.params as { slug: string }).slug)
    const domains = await app.domains.list(playerId, game.id)
    return renderPage(reply, {
      title: `Domains of ${game.title}`,
      user: viewer,
      ...(state.problem ? { status: 400 } : {}),
      flash: state.flash ? { message: state.flash } : null,
      body: domainsPage(app, { game, domains, ...state }),
    })
  }
  const path = ({ slug }: { slug: string }, done: string) => `/games/${slug}/settings/domains${done}`

  app.get(
    '/games/:slug/settings/domains',
    { ...own, schema: { params: Slug, querystring: Done } },
    (request, reply) => {
      const { done } = request.query
      return show(request, reply, done ? { flash: TOLD[done] } : {})
    },
  )

  app.post(
    '/games/:slug/settings/domains',
    { ...own, schema: { params: Slug, body: Body } },
    async (request, reply) => {
      const { name } = request.body
      try {
        const added = await app.domains.add(callerOf(request).playerId, request.params.slug, name)
        return reply.redirect(path(request.params, `#${added.name}`), 303)
      } catch (error) {
        return show(request, reply, { typed: name, problem: problemOf(error) })
      }
    },
  )

  app.post(
    '/games/:slug/settings/domains/change',
    { ...own, schema: { params: Slug, body: Step } },
    async (request, reply) => {
      const { name, do: step } = request.body
      const { playerId } = callerOf(request)
      const { slug } = request.params
      try {
        if (step === 'remove') await app.domains.remove(playerId, slug, name)
        else if (step === 'verify') {
          const { state, proof } = await app.domains.verify(playerId, slug, name)
          if (state === 'pending' || proof !== 'found') return reply.redirect(path(request.params, `#${name}`), 303)
        } else await app.domains.setPrimary(playerId, slug, name, step === 'primary')
        return reply.redirect(path(request.params, `?done=${step}`), 303)
      } catch (error) {
        return show(request, reply, { about: name, problem: problemOf(error) })
      }
    },
  )
}

/** Converts a refusal to the form's error. Other errors are rethrown to the error page. */
function problemOf(error: unknown): string {
  if (isPlatformError(error) && error.statusCode < 500 && error.statusCode !== 404) return error.message
  throw error
}
