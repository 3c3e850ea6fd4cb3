import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { returnPath } from '../../../core/origins/return-path.ts'
import { Button, Form, html, Row, renderPage } from '../../../core/pages/index.ts'
import { type FormProblem, formProblemOf } from '../form-problems.ts'
import { grouped, parseCode } from '../short-codes.ts'
import { INVITATION_LETTERS } from './one-time-tokens.ts'
import { addressOrNothing } from './profile.ts'
import { renderMailSent } from './recovery-pages.ts'
import { other, SignInPage, SignUpPage } from './sign-in-page.ts'

const constraints = { origin: 'portal' }
const rateLimitGroup = 'sign-in'
const looks = { config: { auth: 'optional', page: true, rateLimitGroup }, constraints } as const
/** The way back may be a whole authorization request, percent-encoded once more. */
const bodyLimit = 16_384
const acts = { config: { auth: 'none', sameOrigin: true, page: true, rateLimitGroup }, constraints, bodyLimit } as const
const invited = {
  config: { auth: 'optional', sameOrigin: true, page: true, secretPath: true, rateLimitGroup },
  constraints,
} as const

/** Form fields are optional in the schema, so that an error about a missing field appears beside it. */
const Text = Type.Optional(Type.String({ maxLength: 4096 }))
const NewAccount = Type.Object({ email: Text, password: Text, name: Text, returnTo: Text, work: Text })
/** `invitation` is the pasted link of an invitation, or its code. */
const NewAccountOrInvitation = Type.Object({ ...NewAccount.properties, invitation: Text })
const PageQuery = Type.Object({
  returnTo: Type.Optional(Type.String()),
  prompt: Type.Optional(Type.String({ description: '`login`: ask again although somebody is signed in.' })),
  done: Type.Optional(Type.String()),
})

/** The messages after a step. The address contains only the name of the step. */
const DONE: Record<string, string> = {
  reset: 'Your new password is set. Sign in with it.',
  deleted: 'Your account is deleted.',
  provider: 'Your account elsewhere could not sign you in. Try again, or choose another way.',
  'provider-over':
    'That sign-in is finished, took longer than ten minutes, or began in another browser. Begin it again.',
}

interface SignInForm {
  returnTo: string
  email?: string | undefined
  problem?: FormProblem
  guestName?: string
  guestProblem?: FormProblem
  done?: string | undefined
  /** Whether somebody is signed in, for too long for what they want to do. */
  again?: boolean
}

interface SignUpForm {
  returnTo: string
  email?: string
  name?: string
  problem?: FormProblem
  invitation?: string
  /** What was entered for an invitation. */
  typed?: string | undefined
}

/** Returns the token of an invitation's link, which may stand in a sentence, or of its code; nothing when there is none. */
function invitationIn(text: string): string {
  const letters = parseCode(text, INVITATION_LETTERS)
  return letters === null ? (/\/invite\/([\w-]{1,100})/.exec(text)?.[1] ?? '') : grouped(letters)
}

/** The pages for sign-in, sign-up and sign-out, which work without a script. */
export const playerPages: Routes = async (app) => {
  const { players, passwords, passkeys, sessions, setup, signUp, upstream, waysBack, config } = app.identity
  const { portal } = app.origins

  app.get('/sign-in', { ...looks, schema: { querystring: PageQuery } }, async (request, reply) => {
    const returnTo = returnPath(request.query.returnTo, portal)
    if (isSignedIn(request) && request.query.prompt !== 'login') return reply.redirect(returnTo, 303)
    const again = isSignedIn(request) && returnTo.startsWith('/admin/')
    return signInPage(reply, { returnTo, email: loginHintOf(returnTo), done: request.query.done, again })
  })

  app.post(
    '/sign-in',
    { ...acts, schema: { body: Type.Object({ email: Text, password: Text, returnTo: Text }) } },
    async (request, reply) => {
      const { email = '', password = '' } = request.body
      const returnTo = returnPath(request.body.returnTo, portal)
      try {
        const { player, epoch } = await passwords.authenticate({ email, password }, callerAddress(request))
        await sessions.start(reply, player.id, epoch)
        return reply.redirect(returnTo, 303)
      } catch (error) {
        return signInPage(reply, { returnTo, email, problem: formProblemOf(error) })
      }
    },
  )

  app.post(
    '/guest',
    { ...acts, schema: { body: Type.Object({ name: Text, returnTo: Text, work: Text }) } },
    async (request, reply) => {
      const { name = '', work } = request.body
      const returnTo = returnPath(request.body.returnTo, portal)
      try {
        const guest = await signUp.guest(name, { address: callerAddress(request), work })
        await sessions.start(reply, guest.id)
        return reply.redirect(returnTo, 303)
      } catch (error) {
        return signInPage(reply, { returnTo, guestName: name, guestProblem: formProblemOf(error) })
      }
    },
  )

  app.get('/sign-up', { ...looks, schema: { querystring: PageQuery } }, async (request, reply) => {
    const returnTo = returnPath(request.query.returnTo, portal)
    if (isSignedIn(request)) return reply.redirect(returnTo, 303)
    return signUpPage(reply, { returnTo })
  })

  app.post('/sign-up', { ...acts, schema: { body: NewAccountOrInvitation } }, async (request, reply) => {
    const { email = '', password = '', name = '', work, invitation } = request.body
    const returnTo = returnPath(request.body.returnTo, portal)
    try {
      if (invitation !== undefined) {
        const token = invitationIn(invitation)
        await signUp.mustBeInvited(token)
        return reply.redirect(other(`/invite/${token}`, returnTo), 303)
      }
      const wayBack = config.verifyEmail ? waysBack.begin(request, reply, returnTo) : undefined
      const player = await signUp.begin({ email, password, name }, { address: callerAddress(request), work, wayBack })
      if (!player) return renderMailSent(app, reply, email, { returnTo })
      await sessions.start(reply, player.id)
      return reply.redirect(returnTo, 303)
    } catch (error) {
      return signUpPage(reply, { returnTo, email, name, typed: invitation, problem: formProblemOf(error) })
    }
  })

  const Params = Type.Object({ token: Type.String() })

  const Way = Type.Object({ returnTo: Type.Optional(Type.String()) })

  app.get('/invite/:token', { ...invited, schema: { params: Params, querystring: Way } }, async (request, reply) => {
    const { token: invitation } = request.params
    const returnTo = returnPath(request.query.returnTo, portal)
    await signUp.mustBeInvited(invitation)
    if (isSignedIn(request) && !(await guestOf(request))) return reply.redirect(returnTo, 303)
    return signUpPage(reply, { returnTo, invitation })
  })

  app.post(
    '/invite/:token',
    { ...invited, bodyLimit, schema: { params: Params, body: NewAccount } },
    async (request, reply) => {
      const { token: invitation } = request.params
      const { email = '', password = '', name = '' } = request.body
      const returnTo = returnPath(request.body.returnTo, portal)
      await signUp.mustBeInvited(invitation)
      try {
        const wayBack = config.verifyEmail ? waysBack.begin(request, reply, returnTo) : undefined
        const options = { address: callerAddress(request), invitation, guestId: await guestOf(request), wayBack }
        const player = await signUp.begin({ email, password, name }, options)
        if (!player) return renderMailSent(app, reply, email, { returnTo })
        await sessions.start(reply, player.id)
        return reply.redirect(returnTo, 303)
      } catch (error) {
        return signUpPage(reply, { returnTo, invitation, email, name, problem: formProblemOf(error) })
      }
    },
  )

  app.get('/sign-out', looks, async (request, reply) => {
    const viewer = request.principal?.viewer
    if (!viewer) return reply.redirect('/', 303)
    const isGuest = (await guestOf(request)) !== undefined
    const body = html`
      <header class="page-header">
        <h1>Sign out?</h1>
        <p class="lede">You are signed in as <strong>${viewer.name}</strong>.${isGuest && html` As a guest you can't come back as the same player. <a href="/settings">Create an account</a> to keep it.`}</p>
      </header>
      <${Form} action="/sign-out">
        <input type="hidden" name="confirmed" value="yes" />
        <${Row}><${Button} kind="act">Sign out<//><${Button} href="/">Stay<//><//>
      <//>`
    return renderPage(reply, { title: 'Sign out', user: viewer, narrow: true, body })
  })

  app.post('/sign-out', acts, async (request, reply) => {
    const { confirmed } = Object(request.body) as { confirmed?: unknown }
    const visitor = confirmed === undefined ? await sessions.authenticate(request) : null
    // A guest loses the player for good, and is asked first.
    if (visitor && (await players.find(visitor.playerId))?.isGuest) return reply.redirect('/sign-out', 303)
    await sessions.end(request, reply)
    return reply.redirect('/', 303)
  })

  /** Returns the id of the signed-in player if that player is a guest. */
  async function guestOf(request: FastifyRequest): Promise<string | undefined> {
    const player = isSignedIn(request) ? await players.find(request.principal?.playerId ?? '') : null
    return player?.isGuest ? player.id : undefined
  }

  const signInPage = async (reply: FastifyReply, form: SignInForm) => {
    const problem = form.problem ?? form.guestProblem
    const message = form.done === undefined ? undefined : DONE[form.done]
    return renderPage(reply.headers({ 'cache-control': 'no-store', ...problem?.headers }), {
      title: 'Sign in',
      current: '/sign-in',
      narrow: true,
      scripts: ['passkeys.js', ...(signUp.takesGuests ? signUp.challenge.scripts : [])],
      status: problem?.status ?? 200,
      flash: message ? { message } : null,
      body: SignInPage({
        ...form,
        awaitsHost: await setup.isWaiting(),
        signUpIsOpen: players.signUpIsOpen,
        siteName: app.site.name,
        providers: upstream.choices,
        passkeys: passkeys.possible,
        passkeyHosts: await passkeys.hostsElsewhere(),
        guests: signUp.takesGuests,
        needsWork: signUp.challenge.isRequired,
        legal: app.site.legal,
      }),
    })
  }

  const signUpPage = async (reply: FastifyReply, { invitation, ...form }: SignUpForm) => {
    const signUpIsOpen = players.signUpIsOpen || invitation !== undefined
    return renderPage(reply.headers({ 'cache-control': 'no-store', ...form.problem?.headers }), {
      title: invitation ? 'Sign up by invitation' : 'Sign up',
      current: '/sign-up',
      narrow: true,
      scripts: invitation ? [] : signUp.challenge.scripts,
      status: form.problem?.status ?? (signUpIsOpen ? 200 : 403),
      body: SignUpPage({
        ...form,
        awaitsHost: await setup.isWaiting(),
        signUpIsOpen,
        invites: config.signUp === 'invite',
        siteName: app.site.name,
        minLength: config.passwordMinLength,
        needsWork: signUp.challenge.isRequired && !invitation,
        legal: app.site.legal,
        providers: invitation ? [] : upstream.choices,
        ...(invitation ? { action: `/invite/${invitation}`, title: 'You are invited' } : {}),
      }),
    })
  }
}

/** Returns the address that a game suggests for the sign-in (OpenID Connect Core 3.1.2.1, `login_hint`). */
function loginHintOf(returnTo: string): string | undefined {
  if (!returnTo.startsWith('/oauth/authorize?')) return undefined
  return (
    addressOrNothing(new URLSearchParams(returnTo.slice(returnTo.indexOf('?'))).get('login_hint') ?? '') || undefined
  )
}

const isSignedIn = (request: FastifyRequest): boolean => request.principal?.kind === 'session'
