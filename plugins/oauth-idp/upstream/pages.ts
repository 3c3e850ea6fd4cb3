import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { callerOf } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { returnPath } from '../../../core/origins/return-path.ts'
import { Avatar, Button, Form, html, renderPage } from '../../../core/pages/index.ts'
import { UpstreamFailed } from '../errors.ts'
import type { Provider } from './providers.ts'

const constraints = { origin: 'portal' }
const looks = { config: { auth: 'optional', page: true }, constraints } as const
const owner = { config: { auth: 'session', page: true, secretPath: true }, constraints } as const
const ProviderParams = Type.Object({ provider: Type.String() })
const TokenParams = Type.Object({ token: Type.String() })
const RETURN_COOKIE = 'upstream-return'

/**
 * Sign-in with an external account: redirects to the provider, receives the response, and asks if the account is
 * ambiguous.
 */
export const upstreamPages: Routes = async (app) => {
  const { upstream, sessions, players } = app.identity
  const { portal, secure } = app.origins
  const cookie = { path: '/sign-in/with', httpOnly: true, sameSite: 'lax', secure } as const

  app.get(
    '/sign-in/with/:provider',
    {
      ...looks,
      schema: { params: ProviderParams, querystring: Type.Object({ returnTo: Type.Optional(Type.String()) }) },
    },
    async (request, reply) => {
      const provider = upstream.provider(request.params.provider)
      const flow = await provider.connect()
      const returnTo = returnPath(request.query.returnTo, portal)
      reply.setCookie(RETURN_COOKIE, returnTo, { ...cookie, maxAge: 600 }).header('cache-control', 'no-store')
      return reply.redirect(await flow.generateAuthorizationUri(request as never, reply as never), 303)
    },
  )

  app.get(
    '/sign-in/with/:provider/callback',
    { ...looks, schema: { params: ProviderParams } },
    async (request, reply) => {
      const provider = upstream.provider(request.params.provider)
      const returnTo = returnPath(request.cookies[RETURN_COOKIE], portal)
      reply.clearCookie(RETURN_COOKIE, cookie).header('cache-control', 'no-store')
      const { error } = request.query as { error?: unknown }
      if (error === 'access_denied') return reply.redirect('/sign-in', 303)
      const profile = await profileOf(provider, request, reply)
      const { principal } = request
      const outcome = await upstream.arrive(
        provider,
        profile,
        principal?.kind === 'session' ? principal.playerId : null,
      )
      if ('question' in outcome) return reply.redirect(`/connect/${outcome.question}`, 303)
      await sessions.start(reply, outcome.playerId, outcome.epoch)
      return reply.redirect(returnTo, 303)
    },
  )

  app.get('/connect/:token', { ...owner, schema: { params: TokenParams } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const { provider, label } = await upstream.question(request.params.token, playerId)
    const player = await players.find(playerId)
    return renderPage(reply.header('cache-control', 'no-store'), {
      title: 'Connect',
      user: viewer,
      narrow: true,
      body: html`
        <div class="stack">
          <header class="page-header">
            <h1>Connect ${upstream.provider(provider).label}?</h1>
            <p class="lede"><strong>${label}</strong> could sign in as you from then on.</p>
          </header>
          <p class="row"><${Avatar} name=${player?.name ?? ''} imageUrl=${player?.imageUrl} /> <span>You are <strong>${player?.name}</strong>${player?.email && html`, ${player.email}`}</span></p>
          <${Form} action=${`/connect/${request.params.token}`} submit="Connect"
            beside=${html`<${Button} kind="quiet" href="/settings/security">Not now<//>`} />
        </div>`,
    })
  })

  app.post('/connect/:token', { ...owner, schema: { params: TokenParams } }, async (request, reply) => {
    const { playerId, credentialId: sessionId } = callerOf(request)
    await upstream.connect(request.params.token, { playerId, sessionId })
    return reply.redirect('/settings/security?done=connected', 303)
  })

  async function profileOf(provider: Provider, request: FastifyRequest, reply: FastifyReply) {
    const flow = await provider.connect()
    try {
      const { token } = await flow.getAccessTokenFromAuthorizationCodeFlow(request as never, reply as never)
      return await provider.profile(flow, token.access_token)
    } catch (error) {
      request.log.warn({ err: error, provider: provider.name }, 'a sign-in with a provider failed')
      throw new UpstreamFailed(provider.label)
    }
  }
}
