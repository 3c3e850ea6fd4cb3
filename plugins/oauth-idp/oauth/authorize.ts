import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { InvalidRequest } from '../../../core/errors.ts'
import { callerOf, type Principal } from '../../../core/http/auth.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { renderPage } from '../../../core/pages/index.ts'
import {
  type AuthorizationRequest,
  type Recipient,
  readAuthorizationRequest,
  readRecipient,
} from './authorization-request.ts'
import { ConsentPage } from './consent-page.ts'
import { OAuthError } from './errors.ts'

/**
 * The authorization endpoint (RFC 6749 section 4.1.1, with PKCE, RFC 9207 and OpenID Connect Core section 3.1.2), and
 * the route that receives the player's consent.
 */
export const authorizeRoutes: Routes = async (app) => {
  const { identity } = app
  const portal = app.origins.portal

  app.get(
    '/oauth/authorize',
    { config: { auth: 'optional', page: true }, constraints: { origin: 'portal' } },
    async (request, reply) => {
      // 1. Verify the client and the redirect URI. There is no redirect before both are verified.
      const recipient = await readRecipient(request.query, identity.apps)
      try {
        // 2. Parse the request.
        const asked = readAuthorizationRequest(request.query, recipient)
        // 3. Identify the player.
        const player = signedIn(request)
        if (asked.prompt === 'none' && !player) throw new OAuthError('login_required', 'The player is not signed in.')
        if (asked.prompt === 'login' || !player) return toSignIn(request, reply, asked)
        if (await isTooLongAgo(player, asked)) {
          if (asked.prompt === 'none') throw new OAuthError('login_required', 'The player signed in too long ago.')
          return redirect(reply, again(request))
        }
        // 4. Check the player's consent.
        const { client, redirectUri } = recipient
        const mustAsk = () => identity.consentRules.mustAsk(player.playerId, client, redirectUri, asked.scope)
        if (asked.prompt === 'consent' || (await mustAsk())) {
          if (asked.prompt === 'none') throw new OAuthError('consent_required', 'The player has to be asked first.')
          return askConsent(request, reply, player, recipient, asked)
        }
        // 5. Redirect with a code.
        const consentId = await learns(player, recipient, asked)
        return answer(reply, recipient, { code: await issueCode(player, recipient, asked, consentId) })
      } catch (error) {
        return refuse(reply, recipient, error)
      }
    },
  )

  app.post(
    '/oauth/consent',
    {
      config: { auth: 'session', page: true },
      constraints: { origin: 'portal' },
      schema: {
        body: Type.Object({
          request: Type.String({ maxLength: 16_384, description: 'The query of the authorization request.' }),
          decision: Type.Union([Type.Literal('allow'), Type.Literal('deny')]),
        }),
      },
    },
    async (request, reply) => {
      // The form data is as untrusted as the query, so it passes the same checks again.
      const asking = queryOf(request.body.request)
      const recipient = await readRecipient(asking, identity.apps)
      try {
        const asked = readAuthorizationRequest(asking, recipient)
        if (request.body.decision === 'deny') throw new OAuthError('access_denied', 'The player said no.')
        const player = callerOf(request)
        const consentId = await identity.consents.remember(player.playerId, recipient.client.clientId, asked.scope)
        return answer(reply, recipient, { code: await issueCode(player, recipient, asked, consentId) })
      } catch (error) {
        return refuse(reply, recipient, error)
      }
    },
  )

  /** Consent without a question is stored too, so that players see it in their settings and can revoke it there. */
  const learns = ({ playerId }: Principal, { client }: Recipient, { scope }: AuthorizationRequest): Promise<string> =>
    identity.consents.remember(playerId, client.clientId, scope, { asked: false })

  async function isTooLongAgo({ credentialId }: Principal, { maxAge }: AuthorizationRequest): Promise<boolean> {
    if (maxAge === null) return false
    const signedIn = await identity.sessions.startedAt(credentialId)
    return app.clock.now().getTime() - signedIn.getTime() > maxAge * 1000
  }

  async function askConsent(
    request: FastifyRequest,
    reply: FastifyReply,
    principal: Principal,
    { client, redirectUri }: Recipient,
    { scope }: AuthorizationRequest,
  ) {
    const player = await identity.players.find(principal.playerId)
    if (!player) throw new OAuthError('login_required', 'The player is not signed in.')
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: `Sign in to ${client.name}`,
      user: principal.viewer,
      narrow: true,
      body: ConsentPage({
        client,
        redirectUri,
        scope,
        player,
        request: searchOf(request),
        signInAgain: again(request),
      }),
    })
  }

  const issueCode = async (
    { playerId, credentialId }: Principal,
    { client: { clientId }, redirectUri }: Recipient,
    { scope, codeChallenge, nonce }: AuthorizationRequest,
    consentId: string,
  ): Promise<string> => {
    if (await identity.apps.isSuspended(clientId)) throw new OAuthError('access_denied', 'This game is suspended.')
    const authTime = await identity.sessions.startedAt(credentialId)
    return identity.codes.issue({
      ...{ clientId, playerId, consentId, redirectUri, scope, codeChallenge, nonce, authTime },
    })
  }

  /**
   * Redirects to the sign-in page and back. With `prompt=login` the player must sign in again. The return address omits
   * `prompt` and `max_age`, so that this happens once.
   */
  function toSignIn(request: FastifyRequest, reply: FastifyReply, { prompt }: AuthorizationRequest) {
    return redirect(reply, prompt === 'login' ? again(request) : `/sign-in?returnTo=${encodeURIComponent(request.url)}`)
  }

  function again(request: FastifyRequest): string {
    const query = new URLSearchParams(searchOf(request))
    for (const demand of ['prompt', 'max_age']) query.delete(demand)
    return `/sign-in?prompt=login&returnTo=${encodeURIComponent(`/oauth/authorize?${query}`)}`
  }

  function refuse(reply: FastifyReply, recipient: Recipient, error: unknown) {
    if (!(error instanceof OAuthError)) throw error
    return answer(reply, recipient, { error: error.error, error_description: error.message })
  }

  /** Redirects to the client, with `state` unchanged and `iss` against mix-up attacks (RFC 9207). */
  function answer(reply: FastifyReply, { redirectUri, state }: Recipient, result: Record<string, string>) {
    const query = new URLSearchParams({ ...result, ...(state === undefined ? {} : { state }), iss: portal })
    return redirect(reply, `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`)
  }
}

/** Returns the principal of a browser session. An API token can't give consent. */
const signedIn = ({ principal }: FastifyRequest) => (principal?.kind === 'session' ? principal : null)

/**
 * A redirect of a sign-in that may run in the frame of a play page. A cross-origin isolated page accepts it only with
 * this header (security.md section 4). A redirect has no content to protect.
 */
function redirect(reply: FastifyReply, to: string): FastifyReply {
  return (
    reply
      .header('cross-origin-resource-policy', 'cross-origin')
      // WebKit requires this header on redirects too.
      .header('cross-origin-embedder-policy', 'require-corp')
      .header('cache-control', 'no-store')
      .redirect(to, 303)
  )
}

const searchOf = (request: FastifyRequest): string => {
  const start = request.url.indexOf('?')
  return start < 0 ? '' : request.url.slice(start + 1)
}

/** Parses a query in the same way as a request's query: a repeated parameter becomes an array. */
function queryOf(text: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of new URLSearchParams(text)) {
    const earlier = query[name]
    query[name] = earlier === undefined ? value : [earlier, value].flat()
  }
  if (Object.keys(query).length === 0) throw new InvalidRequest('The form lacks its request.')
  return query
}
