import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { InvalidRequest } from '../../../core/errors.ts'
import { callerOf, type Principal } from '../../../core/http/auth.ts'
import { bodyWithText } from '../../../core/http/limits/body-limits.ts'
import { callerAddress } from '../../../core/http/rate-limit.ts'
import { refusePrefetch } from '../../../core/http/request-rules.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { renderPage } from '../../../core/pages/index.ts'
import type { OAuthClient } from '../apps/client.ts'
import { isMetadataUrl } from '../apps/metadata-url.ts'
import {
  type AuthorizationRequest,
  type Recipient,
  readAuthorizationRequest,
  readRecipient,
} from './authorization-request.ts'
import { ConsentPage } from './consent-page.ts'
import { ContinuePage, homeOf } from './continue-page.ts'
import { OAuthError } from './errors.ts'

/** Metadata documents that are fetched a minute for one address. */
const METADATA_PER_MINUTE = 30
const HOUR_MS = 3_600_000
/** The longest query, since Node limits the headers of a request. */
const QUERY_LENGTH = 16_384

/**
 * The authorization endpoint (RFC 6749 section 4.1.1, with PKCE, RFC 9207 and OpenID Connect Core section 3.1.2), and
 * the route that receives the player's consent.
 */
export const authorizeRoutes: Routes = async (app) => {
  const { identity } = app
  const portal = app.origins.portal

  app.get(
    '/oauth/authorize',
    { config: { auth: 'optional', page: true }, constraints: { origin: 'portal' }, onRequest: refusePrefetch },
    async (request, reply) => {
      // 1. Verify the client and the redirect URI. There is no redirect before both are verified.
      const query = await identity.storedRequests.read(searchOf(request))
      const asking = queryOf(query)
      const recipient = await readRecipient(asking, identity.apps, finder(request))
      try {
        // 2. Parse the request. The title of a suspended game is shown to nobody.
        await mustNotBeSuspended(recipient.client)
        const asked = readAuthorizationRequest(asking, recipient, identity.resources)
        // 3. Identify the player.
        const player = signedIn(request)
        if (asked.prompt === 'none' && !player) throw new OAuthError('login_required', 'The player is not signed in.')
        if (asked.prompt === 'login' || !player) return redirect(reply, await signInPath(request, query, asked))
        if (await isTooLongAgo(player, asked)) {
          if (asked.prompt === 'none') throw new OAuthError('login_required', 'The player signed in too long ago.')
          return redirect(reply, await again(request, query))
        }
        // 4. Check the player's consent.
        const { client, redirectUri } = recipient
        const mustAsk = () => identity.consentRules.mustAsk(player.playerId, client, redirectUri, asked.scope)
        if (asked.prompt === 'consent' || asked.resource !== null || (await mustAsk())) {
          if (asked.prompt === 'none') throw new OAuthError('consent_required', 'The player has to be asked first.')
          return askConsent(request, reply, player, { recipient, asked, query })
        }
        // 5. Redirect with a code.
        const consentId = await learns(player, recipient, asked)
        return answer(reply, recipient, { code: await issueCode(player, recipient, asked, consentId) })
      } catch (error) {
        return refuse(reply, recipient, error)
      }
    },
  )

  // OpenID Connect Core 3.1.2.1 requires both methods. A browser sends no session with a form of another site, but with
  // the redirect that follows.
  app.post(
    '/oauth/authorize',
    { config: { auth: 'none', page: true }, constraints: { origin: 'portal' }, bodyLimit: QUERY_LENGTH },
    async (request, reply) => {
      const query = new URLSearchParams()
      for (const [name, values] of Object.entries((request.body ?? {}) as Record<string, string | string[]>))
        for (const value of [values].flat()) query.append(name, String(value))
      return redirect(reply, await identity.storedRequests.pathFor(query.toString(), callerAddress(request)))
    },
  )

  // Where a mailed link leads on another device: the state of the game's sign-in is in the first browser.
  app.get(
    '/oauth/continue',
    { config: { auth: 'optional', page: true }, constraints: { origin: 'portal' }, onRequest: refusePrefetch },
    async (request, reply) => {
      const query = await identity.storedRequests.read(searchOf(request))
      const { client, redirectUri } = await readRecipient(queryOf(query), identity.apps, finder(request))
      const home = homeOf(client, redirectUri)
      if (home === null || (await identity.suspendedClients.has(client))) return redirect(reply, '/')
      return renderPage(reply.header('cache-control', 'no-store'), {
        title: `On to ${client.name}`,
        user: request.principal?.viewer,
        narrow: true,
        body: ContinuePage({ name: client.name, home }),
      })
    },
  )

  app.post(
    '/oauth/consent',
    {
      config: { auth: 'session', page: true },
      constraints: { origin: 'portal' },
      // The form percent-encodes the query again.
      bodyLimit: bodyWithText(QUERY_LENGTH),
      schema: {
        body: Type.Object({
          request: Type.String({ maxLength: QUERY_LENGTH, description: 'The query of the authorization request.' }),
          decision: Type.Union([Type.Literal('allow'), Type.Literal('deny')]),
        }),
      },
    },
    async (request, reply) => {
      // The form data is as untrusted as the query, so it passes the same checks again.
      const asking = queryOf(request.body.request)
      if (Object.keys(asking).length === 0) throw new InvalidRequest('The form lacks its request.')
      const recipient = await readRecipient(asking, identity.apps, finder(request))
      try {
        const asked = readAuthorizationRequest(asking, recipient, identity.resources)
        if (request.body.decision === 'deny') throw new OAuthError('access_denied', 'The player said no.')
        const player = callerOf(request)
        const { client } = recipient
        if (client.registration === 'metadata') await store(request, client)
        const consentId = await identity.consents.remember(player.playerId, client.clientId, asked.scope, {
          resource: asked.resource !== null,
        })
        // Only now pages of a client that registered itself may call the endpoints (apps/page-origins.ts).
        if (client.registration !== null) await identity.apps.announce(client)
        return answer(reply, recipient, { code: await issueCode(player, recipient, asked, consentId) })
      } catch (error) {
        return refuse(reply, recipient, error)
      }
    },
  )

  /**
   * Finds the client of a request. The metadata document of one is fetched first; a caller can have only so many
   * fetched, so that this server is no tool to send requests with.
   */
  const finder = (request: FastifyRequest) => async (clientId: string) => {
    if (!isMetadataUrl(clientId) || identity.oauth.registration === 'off') return identity.findClient(clientId)
    await app.rateLimiter.take(`oauth-metadata/${callerAddress(request)}`, METADATA_PER_MINUTE, 60_000)
    return identity.registrations.ofDocument(clientId).catch((error: unknown) => {
      // The page for errors of the client or its redirect URI: there is nothing to return to yet.
      throw error instanceof OAuthError ? new InvalidRequest(error.message) : error
    })
  }

  /** Stores the client of a document when the first player allows it, and counts it as a registration. */
  async function store(request: FastifyRequest, client: OAuthClient): Promise<void> {
    if (await identity.apps.find(client.clientId)) return
    const { registrationsPerHour } = identity.limits
    await app.rateLimiter.take(`oauth-register/${callerAddress(request)}`, registrationsPerHour, HOUR_MS)
    await identity.registrations.store(client)
  }

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
    { recipient, asked, query }: { recipient: Recipient; asked: AuthorizationRequest; query: string },
  ) {
    const { client, redirectUri } = recipient
    const { scope, resource } = asked
    const player = await identity.players.find(principal.playerId)
    if (!player) throw new OAuthError('login_required', 'The player is not signed in.')
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: resource ? `Connect ${client.name}` : `Sign in to ${client.name}`,
      user: principal.viewer,
      narrow: true,
      body: ConsentPage({
        client,
        redirectUri,
        scope,
        resource,
        player,
        request: query,
        signInAgain: await again(request, query),
      }),
    })
  }

  /** @throws OAuthError */
  async function mustNotBeSuspended(client: OAuthClient): Promise<void> {
    if (await identity.suspendedClients.has(client)) throw new OAuthError('access_denied', 'This game is suspended.')
  }

  const issueCode = async (
    { playerId, credentialId }: Principal,
    { client, redirectUri }: Recipient,
    { scope, resource, codeChallenge, nonce }: AuthorizationRequest,
    consentId: string,
  ): Promise<string> => {
    const { clientId } = client
    await mustNotBeSuspended(client)
    const authTime = await identity.sessions.startedAt(credentialId)
    return identity.codes.issue({
      clientId,
      playerId,
      consentId,
      redirectUri,
      scope,
      codeChallenge,
      nonce,
      authTime,
      resource: resource?.uri ?? null,
      sessionId: credentialId,
    })
  }

  /**
   * Returns the address of the sign-in page, with the way back. With `prompt=login` the player must sign in again. The
   * return address omits `prompt` and `max_age`, so that this happens once.
   */
  async function signInPath(request: FastifyRequest, query: string, { prompt }: AuthorizationRequest): Promise<string> {
    if (prompt === 'login') return again(request, query)
    const path = await identity.storedRequests.pathFor(query, callerAddress(request))
    return `/sign-in?returnTo=${encodeURIComponent(path)}`
  }

  async function again(request: FastifyRequest, asked: string): Promise<string> {
    const query = new URLSearchParams(asked)
    for (const demand of ['prompt', 'max_age']) query.delete(demand)
    const path = await identity.storedRequests.pathFor(query.toString(), callerAddress(request))
    return `/sign-in?prompt=login&returnTo=${encodeURIComponent(path)}`
  }

  function refuse(reply: FastifyReply, recipient: Recipient, error: unknown) {
    if (!(error instanceof OAuthError)) throw error
    // Anybody can register a client. Before a player has decided, this site must not lead to its address, as an error
    // that is easily caused would (RFC 9700 section 4.11.2). Programs on the player's own computer still learn it.
    const { client, redirectUri } = recipient
    const leadsAway = client.registration !== null && redirectUri.startsWith('https:')
    if (leadsAway && error.error !== 'access_denied') throw new InvalidRequest(error.message)
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
    if (earlier === undefined) query[name] = value
    else if (Array.isArray(earlier)) earlier.push(value)
    else query[name] = [earlier, value]
  }
  return query
}
