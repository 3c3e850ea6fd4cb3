import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { Form, html, renderPage } from '../../../core/pages.ts'

import type { Routes } from '../../../core/routes.ts'
import { type FormTrouble, troubleOf } from '../forms.ts'
import { safeReturnTo } from '../return-to.ts'
import { SignInPage, SignUpPage } from './sign-in-page.ts'

const constraints = { origin: 'portal' }
const looks = { config: { auth: 'optional', page: true }, constraints } as const
const acts = { config: { auth: 'none', sameOrigin: true, page: true }, constraints } as const

/** A form field that came, or nothing: what is missing is said beside the field, not on an error page. */
const Text = Type.Optional(Type.String({ maxLength: 4096 }))
const PageQuery = Type.Object({
  returnTo: Type.Optional(Type.String()),
  prompt: Type.Optional(Type.String({ description: '`login`: ask again although somebody is signed in.' })),
})

/** Sign-in, sign-up and sign-out for people, without a script. */
export const playerPages: Routes = async (app) => {
  const { players, sessions } = app.identity
  const { portal } = app.origins

  app.get('/sign-in', { ...looks, schema: { querystring: PageQuery } }, async (request, reply) => {
    const returnTo = safeReturnTo(request.query.returnTo, portal)
    if (isSignedIn(request) && request.query.prompt !== 'login') return reply.redirect(returnTo, 303)
    return signInPage(reply, { returnTo })
  })

  app.post(
    '/sign-in',
    { ...acts, schema: { body: Type.Object({ email: Text, password: Text, returnTo: Text }) } },
    async (request, reply) => {
      const { email = '', password = '' } = request.body
      const returnTo = safeReturnTo(request.body.returnTo, portal)
      try {
        const player = await players.authenticate({ email, password }, request.ip)
        await sessions.start(reply, player.id)
        return reply.redirect(returnTo, 303)
      } catch (error) {
        return signInPage(reply, { returnTo, email, trouble: troubleOf(error) })
      }
    },
  )

  app.get('/sign-up', { ...looks, schema: { querystring: PageQuery } }, async (request, reply) => {
    const returnTo = safeReturnTo(request.query.returnTo, portal)
    if (isSignedIn(request)) return reply.redirect(returnTo, 303)
    return signUpPage(reply, { returnTo })
  })

  app.post(
    '/sign-up',
    { ...acts, schema: { body: Type.Object({ email: Text, password: Text, name: Text, returnTo: Text }) } },
    async (request, reply) => {
      const { email = '', password = '', name = '' } = request.body
      const returnTo = safeReturnTo(request.body.returnTo, portal)
      try {
        const player = await players.signUp({ email, password, name })
        await sessions.start(reply, player.id)
        return reply.redirect(returnTo, 303)
      } catch (error) {
        return signUpPage(reply, { returnTo, email, name, trouble: troubleOf(error) })
      }
    },
  )

  app.get('/sign-out', looks, async (request, reply) => {
    const viewer = request.principal?.viewer
    if (!viewer) return reply.redirect('/', 303)
    const body = html`
      <header class="page-header"><h1>Sign out?</h1><p class="lede">You are signed in as <strong>${viewer.name}</strong>.</p></header>
      <${Form} action="/sign-out" submit="Sign out" />`
    return renderPage(reply, { title: 'Sign out', user: viewer, narrow: true, body })
  })

  app.post('/sign-out', acts, async (request, reply) => {
    await sessions.end(request, reply)
    return reply.redirect('/', 303)
  })

  const signInPage = (reply: FastifyReply, form: { returnTo: string; email?: string; trouble?: FormTrouble }) =>
    renderPage(reply.headers({ 'cache-control': 'no-store', ...form.trouble?.headers }), {
      title: 'Sign in',
      current: '/sign-in',
      narrow: true,
      status: form.trouble?.status ?? 200,
      body: SignInPage({ ...form, signUpIsOpen: players.signUpIsOpen, siteName: app.site.name }),
    })

  const signUpPage = (
    reply: FastifyReply,
    form: { returnTo: string; email?: string; name?: string; trouble?: FormTrouble },
  ) =>
    renderPage(reply.header('cache-control', 'no-store'), {
      title: 'Sign up',
      current: '/sign-up',
      narrow: true,
      status: form.trouble?.status ?? (players.signUpIsOpen ? 200 : 403),
      body: SignUpPage({
        ...form,
        signUpIsOpen: players.signUpIsOpen,
        siteName: app.site.name,
        minLength: app.identity.config.passwordMinLength,
      }),
    })
}

const isSignedIn = (request: FastifyRequest): boolean => request.principal?.kind === 'session'
