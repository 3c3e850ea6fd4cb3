// Tests third-party client libraries against a listening server.
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import fastifyOauth2, { type OAuth2Namespace } from '@fastify/oauth2'
import Fastify from 'fastify'
import * as oauth from 'oauth4webapi'
import { AuthorizationCode } from 'simple-oauth2'
import t, { type Test } from 'tap'
import { authorizeUrl, decide, registerApp, type TestApp } from '../../kit/oauth.ts'
import { type Platform, type PlayerClient, startPlatform } from '../../kit/platform.ts'

const REDIRECT_URI = 'http://127.0.0.1:9/callback'
const only = ['oauth-idp', 'tokens']
const insecure = { [oauth.allowInsecureRequests]: true }

/** Approves the client's request in the player's browser. @returns the redirect target */
async function comeBack(player: PlayerClient, url: string): Promise<URL> {
  const { headers } = await decide(player, url, 'allow')
  return new URL(headers.location as string)
}

async function start(t: Test, fields: Record<string, unknown> = {}) {
  // The clients compare token times with their own clock.
  const platform = await startPlatform(t, { only, listen: true })
  platform.clock.advance(Date.now() - platform.clock.now().getTime())
  const player = await platform.signUp({ name: 'Grace' })
  return { platform, player, app: await registerApp(platform, player, { redirectUris: [REDIRECT_URI], ...fields }) }
}

async function discover(platform: Platform, algorithm: 'oidc' | 'oauth2') {
  const issuer = new URL(platform.portal)
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm, ...insecure }))
}

/** Runs the code flow as oauth4webapi requires. */
async function signIn(
  server: oauth.AuthorizationServer,
  player: PlayerClient,
  client: oauth.Client,
  authentication: oauth.ClientAuth,
  { scope, proof }: { scope: string; proof: boolean },
) {
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const nonce = scope.includes('openid') ? oauth.generateRandomNonce() : undefined
  const url = new URL(server.authorization_endpoint as string)
  const parameters = {
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope,
    state,
    ...(nonce ? { nonce } : {}),
    ...(proof
      ? { code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' }
      : {}),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  const answer = oauth.validateAuthResponse(server, client, await comeBack(player, url.href), state)
  const response = await oauth.authorizationCodeGrantRequest(
    ...([server, client, authentication, answer, REDIRECT_URI, proof ? verifier : oauth.nopkce, insecure] as const),
  )
  return oauth.processAuthorizationCodeResponse(
    server,
    client,
    response,
    nonce ? { expectedNonce: nonce, requireIdToken: true } : {},
  )
}

t.test('oauth4webapi: OpenID Connect, both ways to authenticate, with and without PKCE', async (t) => {
  const { platform, player, app } = await start(t)
  const server = await discover(platform, 'oidc')
  const client = { client_id: app.clientId }
  const ways = { basic: oauth.ClientSecretBasic(app.clientSecret), post: oauth.ClientSecretPost(app.clientSecret) }
  for (const [way, authentication] of Object.entries(ways)) {
    for (const proof of [true, false]) {
      const scope = 'openid profile email offline_access'
      const tokens = await signIn(server, player, client, authentication, { scope, proof })
      const claims = oauth.getValidatedIdTokenClaims(tokens)
      t.equal(claims?.sub, player.id, `${way}${proof ? ' with PKCE' : ''}`)
      const answer = await oauth.userInfoRequest(server, client, tokens.access_token, insecure)
      t.match(await oauth.processUserInfoResponse(server, client, player.id, answer), { name: 'Grace' })

      const refreshed = await oauth.processRefreshTokenResponse(
        server,
        client,
        await oauth.refreshTokenGrantRequest(
          ...([server, client, authentication, tokens.refresh_token as string, insecure] as const),
        ),
      )
      const asked = await oauth.introspectionRequest(
        ...([server, client, authentication, refreshed.access_token, insecure] as const),
      )
      t.match(await oauth.processIntrospectionResponse(server, client, asked), { active: true, sub: player.id })
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(
          ...([server, client, authentication, refreshed.refresh_token as string, insecure] as const),
        ),
      )
      const gone = await oauth.userInfoRequest(server, client, refreshed.access_token, insecure)
      await t.rejects(oauth.processUserInfoResponse(server, client, player.id, gone))
    }
  }
})

t.test('oauth4webapi: the signature of an id token, by the keys at jwks_uri', async (t) => {
  const { platform, player, app } = await start(t)
  const server = await discover(platform, 'oidc')
  const client = { client_id: app.clientId }
  const verifier = oauth.generateRandomCodeVerifier()
  const url = authorizeUrl(app, {
    redirect_uri: REDIRECT_URI,
    scope: 'openid',
    state: undefined,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const answer = oauth.validateAuthResponse(server, client, await comeBack(player, url), oauth.expectNoState)
  const authentication = oauth.ClientSecretPost(app.clientSecret)
  const response = await oauth.authorizationCodeGrantRequest(
    ...([server, client, authentication, answer, REDIRECT_URI, verifier, insecure] as const),
  )
  await oauth.processAuthorizationCodeResponse(server, client, response, { requireIdToken: true })
  await oauth.validateApplicationLevelSignature(server, response, insecure)
  t.pass('valid')
})

t.test('oauth4webapi: a public client, by plain OAuth metadata', async (t) => {
  const { platform, player, app } = await start(t, { public: true })
  const server = await discover(platform, 'oauth2')
  const tokens = await signIn(server, player, { client_id: app.clientId }, oauth.None(), {
    scope: 'profile',
    proof: true,
  })
  t.match(tokens, { token_type: 'bearer', scope: 'profile' })
})

t.test('oauth4webapi: a device', async (t) => {
  const { platform, player, app } = await start(t)
  const server = await discover(platform, 'oidc')
  const client = { client_id: app.clientId }
  const authentication = oauth.ClientSecretBasic(app.clientSecret)
  const device = await oauth.processDeviceAuthorizationResponse(
    server,
    client,
    await oauth.deviceAuthorizationRequest(server, client, authentication, { scope: 'openid' }, insecure),
  )
  const ask = async () =>
    oauth.processDeviceCodeResponse(
      server,
      client,
      await oauth.deviceCodeGrantRequest(server, client, authentication, device.device_code, insecure),
    )
  await t.rejects(ask(), Object.assign(new Error(), { error: 'authorization_pending' }))
  await player.submit('/oauth/device', { user_code: device.user_code, decision: 'allow' })
  platform.clock.advance(5000)
  t.equal(oauth.getValidatedIdTokenClaims(await ask())?.sub, player.id)
})

t.test('simple-oauth2: both ways to authenticate, with and without PKCE', async (t) => {
  const { platform, player, app } = await start(t)
  for (const authorizationMethod of ['header', 'body'] as const) {
    for (const proof of [true, false]) {
      const client = new AuthorizationCode({
        client: { id: app.clientId, secret: app.clientSecret },
        auth: {
          tokenHost: platform.portal,
          authorizePath: '/oauth/authorize',
          tokenPath: '/api/oauth/token',
          revokePath: '/api/oauth/revoke',
        },
        options: { authorizationMethod },
      })
      const codeVerifier = randomBytes(32).toString('base64url')
      const challenge = createHash('sha256').update(codeVerifier).digest('base64url')
      const extra = proof ? { code_challenge: challenge, code_challenge_method: 'S256' } : {}
      const scope = 'profile offline_access'
      const url = client.authorizeURL({ redirect_uri: REDIRECT_URI, scope, state: 'x', ...extra })
      const code = (await comeBack(player, url)).searchParams.get('code') as string
      const token = await client.getToken({
        code,
        redirect_uri: REDIRECT_URI,
        ...(proof ? { code_verifier: codeVerifier } : {}),
      } as Parameters<typeof client.getToken>[0])
      t.match(token.token, { token_type: 'Bearer', user: { name: 'Grace' } }, authorizationMethod)
      const refreshed = await token.refresh()
      t.not(refreshed.token.refresh_token, token.token.refresh_token)
      await refreshed.revokeAll()
      await t.rejects(refreshed.refresh(), /Bad Request/)
    }
  }
})

t.test('@fastify/oauth2: a game whose own server is a Fastify app, with and without PKCE', async (t) => {
  for (const pkce of ['S256', undefined] as const) {
    const { platform, player, app } = await start(t)
    const game = await startGame(t, platform, app, pkce)
    t.match(await game.signIn(player), { user: { name: 'Grace' }, token_type: 'Bearer' }, String(pkce))
  }
})

/** Starts a game's own server with the library, and a browser that passes through it. */
async function startGame(t: Test, platform: Platform, app: TestApp, pkce: 'S256' | undefined) {
  const game = Fastify()
  t.teardown(() => game.close())
  await game.register(fastifyOauth2, {
    name: 'gameyard',
    scope: ['profile'],
    credentials: { client: { id: app.clientId, secret: app.clientSecret } },
    startRedirectPath: '/start',
    callbackUri: REDIRECT_URI,
    discovery: { issuer: platform.portal },
    ...(pkce ? { pkce } : {}),
  })
  game.get('/callback', async (request) => {
    const { gameyard } = game as unknown as { gameyard: OAuth2Namespace }
    return (await gameyard.getAccessTokenFromAuthorizationCodeFlow(request)).token
  })
  await game.listen({ port: 0, host: '127.0.0.1' })
  if (!game.server.listening) await once(game.server, 'listening')
  const own = `http://127.0.0.1:${(game.server.address() as { port: number }).port}`
  return {
    signIn: async (player: PlayerClient) => {
      const first = await fetch(`${own}/start`, { redirect: 'manual' })
      const cookie = first.headers.getSetCookie().map((text) => text.split(';', 1)[0])
      const back = await comeBack(player, first.headers.get('location') as string)
      return (await fetch(`${own}/callback${back.search}`, { headers: { cookie: cookie.join('; ') } })).json()
    },
  }
}
