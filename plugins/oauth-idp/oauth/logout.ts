import type { FastifyReply, FastifyRequest } from 'fastify'
import Type, { type Static } from 'typebox'
import { refusePrefetch } from '../../../core/http/request-rules.ts'
import type { Routes } from '../../../core/http/routes.ts'
import { Button, Form, html, Row, renderPage } from '../../../core/pages/index.ts'
import type { Apps } from '../apps/apps.ts'
import type { OAuthClient } from '../apps/client.ts'

const Text = Type.Optional(Type.String({ maxLength: 4000 }))
const LogoutRequest = Type.Object({
  id_token_hint: Type.Optional(Type.String({ maxLength: 8000 })),
  client_id: Text,
  post_logout_redirect_uri: Text,
  state: Text,
})
type LogoutRequest = Static<typeof LogoutRequest>

const constraints = { origin: 'portal' }
/** A request with an id token, which becomes an address: no longer than the headers of one may be. */
const LONGEST_BYTES = 16_384

/** RP-initiated logout (OpenID Connect RP-Initiated Logout 1.0): a game redirects its player here to sign out. */
export const logoutRoutes: Routes = async (app) => {
  const { identity } = app

  app.get(
    '/oauth/logout',
    {
      config: { auth: 'optional', page: true },
      constraints,
      schema: { querystring: LogoutRequest },
      onRequest: refusePrefetch,
    },
    async (request, reply) => {
      const asked = request.query
      const hint = asked.id_token_hint ? await identity.idTokens.readHint(asked.id_token_hint) : null
      const client = await identity.apps.find(asked.client_id ?? hint?.clientId ?? '')
      const consistent = !hint || hint.clientId === client?.clientId
      const next = client && consistent ? await returnAddress(identity.apps, client, asked) : null
      const player = request.principal?.kind === 'session' ? request.principal : null
      // 1. No player is signed in.
      if (!player) return reply.redirect(next ?? '/', 303)
      // 2. The hint proves that the game knows this player, so there is no question.
      if (consistent && hint?.playerId === player.playerId) {
        await identity.sessions.end(request, reply)
        return reply.redirect(next ?? '/', 303)
      }
      // 3. Anyone may redirect a player here, so the player is asked.
      return ask(request, reply, client, asked)
    },
  )

  // The browser omits the cookie on a form from a game's page, but sends it with the redirect that follows.
  app.post(
    '/oauth/logout',
    { config: { auth: 'none', page: true }, constraints, bodyLimit: LONGEST_BYTES, schema: { body: LogoutRequest } },
    async (request, reply) => {
      const query = new URLSearchParams(request.body as Record<string, string>)
      return reply.redirect(`/oauth/logout?${query}`, 303)
    },
  )

  app.post(
    '/oauth/logout/confirm',
    { config: { auth: 'session', page: true }, constraints, schema: { body: LogoutRequest } },
    async (request, reply) => {
      const client = await identity.apps.find(request.body.client_id ?? '')
      await identity.sessions.end(request, reply)
      return reply.redirect((client && (await returnAddress(identity.apps, client, request.body))) ?? '/', 303)
    },
  )

  function ask(request: FastifyRequest, reply: FastifyReply, client: OAuthClient | null, asked: LogoutRequest) {
    const { post_logout_redirect_uri: address, state } = asked
    const carried = { client_id: client?.clientId, post_logout_redirect_uri: address, state }
    reply.header('cache-control', 'no-store')
    return renderPage(reply, {
      title: 'Sign out',
      user: request.principal?.viewer ?? null,
      narrow: true,
      body: html`
        <div class="stack">
          <header class="page-header">
            <h1>Sign out?</h1>
            <p class="lede">${client ? client.name : 'A game'} asks you to sign out of ${app.site.name} in this browser.</p>
          </header>
          <${Form} action="/oauth/logout/confirm">
            ${Object.entries(carried).map(
              ([name, value]) => value && html`<input type="hidden" name=${name} value=${value} />`,
            )}
            <${Row}><${Button} kind="act">Sign out<//><${Button} href="/">Stay<//><//>
          <//>
        </div>`,
    })
  }
}

/**
 * Returns the address on the client's own sites to return to; null for any other address. A client that registered
 * itself has none, since anybody could register an address to which this site then leads.
 */
async function returnAddress(
  apps: Apps,
  client: OAuthClient,
  { post_logout_redirect_uri: address, state }: LogoutRequest,
): Promise<string | null> {
  if (client.registration !== null || !address || !/^https?:\/\/[\x21-\x7e]+$/.test(address) || !URL.canParse(address))
    return null
  const url = new URL(address)
  const registered = client.redirectUris.some((uri) => new URL(uri).origin === url.origin)
  const known = registered || (await apps.staysHere(client, url.href))
  if (!known || url.username || url.password) return null
  if (state) url.searchParams.append('state', state)
  return url.href
}
