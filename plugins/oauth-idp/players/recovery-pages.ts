import type { FastifyInstance, FastifyReply } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { returnPath } from '../../../core/origins/return-path.ts'
import { Button, type Content, Field, Form, html, renderPage } from '../../../core/pages/index.ts'
import { LinkUsed } from '../errors.ts'
import { type FormProblem, formProblemOf } from '../form-problems.ts'
import { NewPasswordField, other, UserName } from './sign-in-page.ts'

const constraints = { origin: 'portal' }
const Text = Type.Optional(Type.String({ maxLength: 4096 }))
const Params = Type.Object({ token: Type.String() })
const Way = Type.Object({ returnTo: Type.Optional(Type.String()) })
/** The way back is percent-encoded once more in the form. */
const bodyLimit = 16_384
const looks = { config: { auth: 'none', page: true }, constraints } as const
const acts = { config: { auth: 'none', sameOrigin: true, page: true }, constraints } as const
const opens = { config: { auth: 'none', page: true, secretPath: true }, constraints } as const
const uses = { config: { auth: 'none', sameOrigin: true, page: true, secretPath: true }, constraints } as const
const owner = { config: { auth: 'session', page: true, secretPath: true }, constraints } as const

/**
 * The target pages of links in mails. Opening one changes nothing, since mail scanners open links too; the player must
 * press the button.
 */
export const recoveryPages: Routes = async (app) => {
  const { recovery, addressChange, signUp, sessions, waysBack, config } = app.identity
  const { portal } = app.origins

  app.get('/reset-password', { ...looks, schema: { querystring: Way } }, async (request, reply) =>
    askPage(reply, { returnTo: returnPath(request.query.returnTo, portal) }),
  )

  app.post(
    '/reset-password',
    { ...acts, bodyLimit, schema: { body: Type.Object({ email: Text, returnTo: Text }) } },
    async (request, reply) => {
      const { email = '' } = request.body
      const returnTo = returnPath(request.body.returnTo, portal)
      try {
        await recovery.askForReset(email, callerAddress(request), waysBack.begin(request, reply, returnTo))
        return renderMailSent(app, reply, email, { isReset: true, returnTo })
      } catch (error) {
        return askPage(reply, { email, returnTo, problem: formProblemOf(error) })
      }
    },
  )

  app.get('/reset-password/:token', { ...opens, schema: { params: Params } }, async (request, reply) => {
    const { token } = request.params
    if (!(await recovery.acceptsReset(token))) return spentPage(reply, RESET_AGAIN)
    return resetPage(reply, token)
  })

  app.post(
    '/reset-password/:token',
    { ...uses, schema: { params: Params, body: Type.Object({ password: Text }) } },
    async (request, reply) => {
      const { token } = request.params
      try {
        const returnTo = waysBack.end(request, await recovery.reset(token, request.body.password ?? ''))
        return reply.redirect(
          `/sign-in?${new URLSearchParams({ done: 'reset', ...(returnTo === '/' ? {} : { returnTo }) })}`,
          303,
        )
      } catch (error) {
        if (error instanceof LinkUsed) return spentPage(reply, RESET_AGAIN)
        return resetPage(reply, token, formProblemOf(error))
      }
    },
  )

  app.get('/confirm/:token', { ...opens, schema: { params: Params } }, async (request, reply) => {
    const { token } = request.params
    if (!(await signUp.isWaiting(token))) return spentPage(reply, SIGN_UP_AGAIN)
    return confirmPage(reply, token)
  })

  app.post(
    '/confirm/:token',
    { ...uses, schema: { params: Params, body: Type.Object({ password: Text }) } },
    async (request, reply) => {
      const { token } = request.params
      try {
        const { player, wayBack } = await signUp.confirm(token, request.body.password ?? '')
        await sessions.start(reply, player.id)
        return reply.redirect(waysBack.end(request, wayBack), 303)
      } catch (error) {
        if (error instanceof LinkUsed) return spentPage(reply, SIGN_UP_AGAIN)
        return confirmPage(reply, token, formProblemOf(error))
      }
    },
  )

  app.get('/verify-email/:token', { ...owner, schema: { params: Params } }, async (request, reply) =>
    narrowPage(reply, {
      title: 'Confirm your address',
      lede: 'Press the button to confirm your email address.',
      form: html`<${Form} action=${`/verify-email/${request.params.token}`} submit="Confirm" />`,
      user: callerOf(request).viewer,
    }),
  )

  app.post('/verify-email/:token', { ...owner, schema: { params: Params } }, async (request, reply) => {
    await recovery.verify(request.params.token, callerOf(request).playerId)
    return reply.redirect('/settings?done=verified', 303)
  })

  app.get('/new-email/:token', { ...owner, schema: { params: Params } }, async (request, reply) => {
    const { token } = request.params
    const { playerId, viewer } = callerOf(request)
    const email = await addressChange.addressOf(token, playerId)
    return narrowPage(reply, {
      title: 'Your new address',
      lede: html`From now on you sign in with <strong>${email}</strong>.`,
      form: html`<${Form} action=${`/new-email/${token}`} submit="Use this address" />`,
      user: viewer,
    })
  })

  app.post('/new-email/:token', { ...owner, schema: { params: Params } }, async (request, reply) => {
    const isFirst = await addressChange.confirm(request.params.token, callerOf(request).playerId)
    return reply.redirect(isFirst ? '/settings/security?done=address' : '/settings?done=address', 303)
  })

  const askPage = (
    reply: FastifyReply,
    { email, returnTo, problem }: { email?: string; returnTo: string; problem?: FormProblem },
  ) =>
    narrowPage(reply, {
      title: 'A new password',
      lede: 'Give the email address of your account. You get a link to choose a new password.',
      problem,
      form: html`
        <${Form} action="/reset-password" error=${problem?.message} submit="Send the link">
          <input type="hidden" name="returnTo" value=${returnTo} />
          <${Field} label="Email" name="email" type="email" value=${email} required autocomplete="username" autofocus
            error=${problem?.fields.email} />
        <//>`,
    })

  const resetPage = async (reply: FastifyReply, token: string, problem?: FormProblem) => {
    const email = await recovery.emailOf(token)
    return narrowPage(reply, {
      title: 'Choose a new password',
      lede: 'It ends all sessions of the account.',
      problem,
      form: html`
        <${Form} action=${`/reset-password/${token}`} error=${problem?.message} submit="Set password">
          <${UserName} email=${email} />
          <${NewPasswordField} minLength=${config.passwordMinLength} error=${problem?.fields.password} />
        <//>`,
    })
  }

  const confirmPage = (reply: FastifyReply, token: string, problem?: FormProblem) =>
    narrowPage(reply, {
      title: 'Almost in',
      lede: 'Enter the password that you chose, once more, and the account is yours.',
      problem,
      form: html`
        <${Form} action=${`/confirm/${token}`} submit="Create account"
          error=${problem?.status === 401 ? undefined : problem?.message}>
          <${Field} label="Password" name="password" type="password" required autocomplete="current-password" autofocus
            error=${problem?.status === 401 ? 'This is not the password that you chose.' : undefined} />
        <//>`,
    })
}

const RESET_AGAIN = { href: '/reset-password', label: 'Get another link' }
const SIGN_UP_AGAIN = { href: '/sign-up', label: 'Begin again' }

/** Renders the page for an expired or used link, with a link to request another one. */
const spentPage = (reply: FastifyReply, { href, label }: { href: string; label: string }) =>
  narrowPage(reply, {
    status: 410,
    title: 'This link is spent',
    lede: 'It works once, within an hour. It has been used or has expired.',
    form: html`<div class="row"><${Button} kind="act" href=${href}>${label}<//><${Button} kind="quiet" href="/sign-in">Sign in<//></div>`,
  })

interface NarrowPage {
  title: string
  lede: Content
  form?: Content
  problem?: FormProblem | undefined
  status?: number
  user?: Parameters<typeof renderPage>[1]['user']
}

const narrowPage = (reply: FastifyReply, { title, lede, form, problem, user, status = 200 }: NarrowPage) =>
  renderPage(reply.headers({ 'cache-control': 'no-store', ...problem?.headers }), {
    title,
    narrow: true,
    user,
    status: problem?.status ?? status,
    head: html`<meta name="robots" content="noindex" />`,
    body: html`
      <div class="stack">
        <header class="page-header"><h1>${title}</h1><p class="lede">${lede}</p></header>
        ${form}
      </div>`,
  })

/** Reports that a mail is on its way, in the same words for known and unknown addresses. */
export function renderMailSent(
  app: FastifyInstance,
  reply: FastifyReply,
  email: string,
  { isReset = false, user, returnTo = '/' }: { isReset?: boolean; user?: NarrowPage['user']; returnTo?: string } = {},
): string {
  const address = html`<strong>${email}</strong>`
  const back = user
    ? html`<${Button} href="/settings">Back to the settings<//>`
    : html`<${Button} href=${other('/sign-in', returnTo)}>Back to sign-in<//>`
  const form = html`<div class="row">${back}</div>`
  if (!app.identity.sendsMail) {
    const lede = isReset
      ? html`Ask the person who runs it for a link: an administrator makes one on your page under “Players”. If there is an account with the address ${address}, a link is in the log, too.`
      : html`Ask the person who runs it for the link for ${address}, which is in the log. It works once, within an hour.`
    return narrowPage(reply, { status: 202, user, title: 'This server sends no mail', lede, form })
  }
  return narrowPage(reply, {
    status: 202,
    user,
    title: 'Look into your mail',
    lede: html`${isReset ? 'If there is an account with this address, a link' : 'A link'} is on its way to ${address}. It works once, within an hour. If it has not arrived after a minute, check your spam folder.`,
    form,
  })
}
