import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isPlatformError, type PlatformError } from '../../../core/errors.ts'
import { callerOf } from '../../../core/http/auth.ts'
import { refusePrefetch } from '../../../core/http/request-rules.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { returnPath } from '../../../core/origins/return-path.ts'
import { Avatar, Button, Form, html, renderPage } from '../../../core/pages/index.ts'
import { visibleText } from '../../../core/visible-text.ts'
import { UpstreamFailed } from '../errors.ts'
import { FlowCookies, type OpenFlow } from './flow-cookies.ts'
import type { Provider } from './providers.ts'

const constraints = { origin: 'portal' }
const looks = {
  config: { auth: 'optional', page: true, rateLimitGroup: 'sign-in' },
  constraints,
  onRequest: refusePrefetch,
} as const
const owner = { config: { auth: 'session', page: true, secretPath: true }, constraints } as const
const ProviderParams = Type.Object({ provider: Type.String() })
const TokenParams = Type.Object({ token: Type.String() })
const ReturnTo = Type.Object({ returnTo: Type.Optional(Type.String()) })
/** What a provider answers when the player went back, or could not be asked (RFC 6749 4.1.2.1, OpenID Connect 3.1.2.6). */
const DECLINED: ReadonlySet<unknown> = new Set([
  'access_denied',
  'login_required',
  'consent_required',
  'interaction_required',
  'account_selection_required',
])

/** The most characters of a provider's reason that are shown. */
const LONGEST_REASON = 300

/** The sign-in page, where the player may choose another way; a player who is signed in goes on to `returnTo`. */
function signInPath(returnTo: string, done: string | null): string {
  const query = new URLSearchParams({ ...(returnTo === '/' ? {} : { returnTo }), ...(done === null ? {} : { done }) })
  return query.size > 0 ? `/sign-in?${query}` : '/sign-in'
}

/** The reason that a provider gives (RFC 6749 section 4.1.2.1), in one line; empty when it has nothing to read. */
function reasonOf(description: unknown): string {
  if (typeof description !== 'string') return ''
  const text = [...visibleText(description)]
  return text.length > LONGEST_REASON ? `${text.slice(0, LONGEST_REASON).join('')}…` : text.join('')
}

interface Refusal {
  provider: Provider
  returnTo: string
  status: number
  /** Why the sign-in was refused: a sentence of this platform, or the words of the provider. */
  reason: { ours: string } | { theirs: string }
}

/**
 * The page of a refused sign-in. It is the answer to the callback and has no address of its own: no link can make this
 * platform show the words of somebody else.
 */
function refusedPage(request: FastifyRequest, reply: FastifyReply, { provider, reason, returnTo, status }: Refusal) {
  const again = `/sign-in/with/${provider.name}?${new URLSearchParams({ returnTo })}`
  return renderPage(reply, {
    title: 'Sign-in refused',
    user: request.principal?.kind === 'session' ? callerOf(request).viewer : null,
    narrow: true,
    status,
    body: html`
      <div class="stack">
        <header class="page-header">
          <h1>Sign-in refused</h1>
          <p class="lede">${'ours' in reason ? reason.ours : `The reason, in the words of ${provider.label}:`}</p>
        </header>
        ${'theirs' in reason && html`<div class="prose"><blockquote>${reason.theirs}</blockquote></div>`}
        <p class="row"><${Button} kind="act" href=${again}>Try again<//> <${Button} href=${signInPath(returnTo, null)}>Choose another way<//></p>
      </div>`,
  })
}

/** Returns an error that says why a player may not sign in; any other one is thrown on. */
function refusalOf(error: unknown): PlatformError {
  if (!isPlatformError(error) || error.statusCode >= 500) throw error
  return error
}

/**
 * Sign-in with an external account: redirects to the provider, receives the response, and asks if the account is
 * ambiguous.
 */
export const upstreamPages: Routes = async (app) => {
  const { upstream, sessions, players } = app.identity
  const { portal } = app.origins
  const cookies = new FlowCookies(app.origins)

  app.get(
    '/sign-in/with/:provider',
    {
      ...looks,
      schema: { params: ProviderParams, querystring: ReturnTo },
    },
    async (request, reply) => {
      const provider = upstream.provider(request.params.provider)
      const flow = await provider.connect()
      const returnTo = returnPath(request.query.returnTo, portal)
      const address = await cookies.begin({ flow, provider: provider.name, returnTo }, request, reply)
      return reply.header('cache-control', 'no-store').redirect(address, 303)
    },
  )

  app.get(
    '/sign-in/with/:provider/callback',
    { ...looks, schema: { params: ProviderParams } },
    async (request, reply) => {
      const provider = upstream.provider(request.params.provider)
      const flow = cookies.end(provider.name, request, reply)
      const { principal } = request
      const current = principal?.kind === 'session' ? principal.playerId : null
      reply.header('cache-control', 'no-store')
      // A page that was reloaded, or reached by the Back button, after the sign-in.
      if (!flow) return reply.redirect(current ? '/' : '/sign-in?done=provider-over', 303)
      const { returnTo } = flow
      const { error, error_description: description } = request.query as {
        error?: unknown
        error_description?: unknown
      }
      if (error !== undefined) {
        request.log.info({ provider: provider.name, error, description }, 'a provider refused')
        if (DECLINED.has(error)) return reply.redirect(signInPath(returnTo, null), 303)
        const reason = reasonOf(description)
        if (reason === '') return reply.redirect(signInPath(returnTo, 'provider'), 303)
        return refusedPage(request, reply, { provider, returnTo, status: 403, reason: { theirs: reason } })
      }
      const profile = await profileOf(provider, flow, request)
      const outcome = await upstream.arrive(provider, profile, { currentId: current, returnTo }).catch(refusalOf)
      if (outcome instanceof Error)
        return refusedPage(request, reply, {
          provider,
          returnTo,
          status: outcome.statusCode,
          reason: { ours: outcome.message },
        })
      if ('question' in outcome) return reply.redirect(`/connect/${outcome.question}`, 303)
      await sessions.start(reply, outcome.playerId, outcome.epoch)
      return reply.redirect(returnTo, 303)
    },
  )

  app.get('/connect/:token', { ...owner, schema: { params: TokenParams } }, async (request, reply) => {
    const { playerId, viewer } = callerOf(request)
    const { token } = request.params
    const { provider, label, returnTo = '/' } = await upstream.question(token, playerId)
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
          <${Form} action=${`/connect/${token}`} submit="Connect"
            beside=${html`<${Button} kind="quiet" href=${returnTo === '/' ? '/settings/security' : returnTo}>Not now<//>`} />
        </div>`,
    })
  })

  app.post('/connect/:token', { ...owner, schema: { params: TokenParams } }, async (request, reply) => {
    const { playerId, credentialId: sessionId } = callerOf(request)
    const { token } = request.params
    await upstream.question(token, playerId)
    if (!(await upstream.mayConnect(sessionId))) {
      return reply.redirect(`/sign-in?${new URLSearchParams({ prompt: 'login', returnTo: `/connect/${token}` })}`, 303)
    }
    const returnTo = await upstream.connect(token, { playerId, sessionId })
    return reply.redirect(returnTo === '/' ? '/settings/security?done=connected' : returnTo, 303)
  })

  async function profileOf(provider: Provider, open: OpenFlow, request: FastifyRequest) {
    const flow = await provider.connect()
    try {
      return await provider.profile(flow, await open.accessToken(flow))
    } catch (error) {
      request.log.warn({ err: error, provider: provider.name }, 'a sign-in with a provider failed')
      throw new UpstreamFailed(provider.label)
    }
  }
}
