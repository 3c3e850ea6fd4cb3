import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { renderPage } from '../../../core/pages/index.ts'
import { readAppForm, withUrisAsOneField } from './app-form.ts'
import { appPage, NewAppPage } from './app-page.ts'
import { APPS, AppsPage, pathOfApp } from './apps-page.ts'
import type { AppWithSecret } from './schemas.ts'
import { daysAsked } from './sign-ins.ts'

const signedIn = { config: { auth: 'session', page: true }, constraints: { origin: 'portal' } } as const
const current = APPS
const Params = Type.Object({ id: Type.String({ maxLength: 40 }) })
const Text = Type.String({ maxLength: 4096 })
const Body = Type.Object({
  name: Text,
  homepageUrl: Type.Optional(Text),
  redirectUris: Type.String({ maxLength: 41_000 }),
  kind: Type.Optional(Text),
  idTokenSignedResponseAlg: Type.Optional(Text),
})
const KEPT_SECONDS = 86_400

/** The messages after a step. The address contains only the name of the step. */
const DONE: Record<string, string> = { saved: 'Saved.', deleted: 'The application is deleted.' }
const Done = { done: Type.Optional(Type.String({ maxLength: 20 })) }

/** /settings/applications: the OAuth applications of a player. */
export const appPages: Routes = async (app) => {
  const { apps, signIns } = app.identity
  app.site.navigation.push({ label: 'OAuth applications', href: current, place: 'make', order: 70 })

  app.get(
    current,
    {
      ...signedIn,
      schema: { querystring: Type.Object({ ...Done, cursor: Type.Optional(Type.String({ maxLength: 40 })) }) },
    },
    async (request, reply) => {
      const { playerId, viewer } = callerOf(request)
      const { cursor } = request.query
      const list = await apps.list(playerId, { limit: 20, ...(cursor ? { cursor } : {}) })
      return renderPage(reply, {
        title: 'OAuth applications',
        current,
        user: viewer,
        flash: flashOf(request),
        body: AppsPage({ ...list, first: cursor === undefined }),
      })
    },
  )

  app.get(`${current}/new`, signedIn, async (request, reply) =>
    renderPage(reply, {
      title: 'New application',
      current,
      user: callerOf(request).viewer,
      narrow: true,
      body: NewAppPage(),
    }),
  )

  app.post(`${current}/new`, { ...signedIn, schema: { body: Body } }, async (request, reply) => {
    const { public: publicClient = false, homepageUrl = null, ...fields } = readAppForm(request.body)
    const { playerId: ownerId } = callerOf(request)
    const made = await withUrisAsOneField(fields.redirectUris, () =>
      apps.register({ ...fields, homepageUrl, publicClient, gameId: null, ownerId }),
    )
    // The answer is a page instead of a redirect, because the secret is shown only once and is not stored.
    return made.clientSecret === null ? reply.redirect(pathOfApp(made), 303) : show(request, reply, made, 201)
  })

  /** Ownership is checked before the body is read. Another player's application counts as not found. */
  const own = {
    ...signedIn,
    onRequest: async (request: FastifyRequest) => {
      await apps.mustOwn(callerOf(request).playerId, (request.params as { id: string }).id)
    },
  }
  const path = `${current}/:id`
  app.get(path, { ...own, schema: { params: Params, querystring: Type.Object(Done) } }, async (request, reply) =>
    show(request, reply, await apps.mustOwn(callerOf(request).playerId, request.params.id)),
  )

  app.post(path, { ...own, schema: { params: Params, body: Body } }, async (request, reply) => {
    const { public: _, ...fields } = readAppForm(request.body)
    const changed = await withUrisAsOneField(fields.redirectUris, () =>
      apps.update(callerOf(request).playerId, request.params.id, fields),
    )
    return reply.redirect(`${pathOfApp(changed)}?done=saved`, 303)
  })

  app.post(
    `${path}/secret`,
    { ...own, schema: { params: Params, body: Type.Object({ keep: Type.Optional(Type.Literal('on')) }) } },
    async (request, reply) => {
      const { playerId } = callerOf(request)
      const graceSeconds = request.body.keep ? KEPT_SECONDS : 0
      return show(request, reply, await apps.rotateSecret(playerId, request.params.id, graceSeconds))
    },
  )

  app.post(`${path}/delete`, { ...own, schema: { params: Params } }, async (request, reply) => {
    await apps.delete(callerOf(request).playerId, request.params.id)
    return reply.redirect(`${current}?done=deleted`, 303)
  })

  type Shown = Omit<AppWithSecret, 'clientSecret'> & { clientSecret?: string | null }
  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { clientSecret = null, ...one }: Shown,
    status = 200,
  ) {
    const { from, to } = daysAsked({}, app.clock.now())
    const { total } = await signIns.between(one.clientId, from, to)
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: one.name,
      current,
      user: callerOf(request).viewer,
      status,
      flash: flashOf(request),
      body: appPage(app, { app: one, signIns: total, newSecret: clientSecret }),
    })
  }
}

function flashOf(request: FastifyRequest) {
  const { done } = request.query as { done?: string }
  const message = done === undefined ? undefined : DONE[done]
  return message ? { message } : null
}
