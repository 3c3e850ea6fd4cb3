import Type, { type Static } from 'typebox'
import type { Routes } from '../../../core/http/routes.ts'
import type { OAuthClient } from '../apps/client.ts'
import type { Identity } from '../identity.ts'
import type { Player } from '../players/schemas.ts'
import { ACCESS_TOKEN_SECONDS } from './access-tokens.ts'
import { clientEndpoint, Parameter, required } from './client-endpoint.ts'
import { mustHaveOwner } from './device-codes.ts'
import { InvalidGrant, OAuthError } from './errors.ts'
import type { Grant, IssuedTokens } from './grants.ts'
import type { Parameters } from './parameters.ts'
import { narrowScope } from './refresh-tokens.ts'
import { OAuthUser, userOf } from './user.ts'

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
export const GRANT_TYPES = ['authorization_code', 'refresh_token', DEVICE_GRANT]

const TokenResponse = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('Bearer'),
  expires_in: Type.Optional(Type.Integer({ description: 'Seconds. Absent: until it is revoked.' })),
  scope: Type.Optional(Type.String()),
  refresh_token: Type.Optional(Type.String({ description: 'With the scope offline_access; good once.' })),
  id_token: Type.Optional(Type.String({ description: 'With the scope openid.' })),
  user: OAuthUser,
})
export type TokenResponse = Static<typeof TokenResponse>

/** The token endpoint (RFC 6749 section 3.2). */
export const tokenRoutes: Routes = async (app) => {
  const { identity } = app
  clientEndpoint(app, {
    url: '/api/oauth/token',
    fromPages: true,
    summary: 'Exchange a code, a refresh token or a device code for an access token',
    parameters: {
      grant_type: Parameter(GRANT_TYPES.join(', ')),
      code: Parameter(),
      redirect_uri: Parameter(),
      code_verifier: Parameter('PKCE, RFC 7636.'),
      refresh_token: Parameter(),
      scope: Parameter('With a refresh token: less than was granted.'),
      resource: Parameter('The protected resource of the authorization request (RFC 8707).'),
      device_code: Parameter('RFC 8628.'),
    },
    response: TokenResponse,
    handle: async ({ form, client }) => {
      if (await identity.suspendedClients.has(client)) throw new InvalidGrant('This game is suspended.')
      const answer = await answerOf(identity, client, form)
      identity.apps.noteUse(client)
      return answer
    },
  })
}

function answerOf(identity: Identity, client: OAuthClient, form: Parameters): Promise<TokenResponse> {
  const grantType = required(form, 'grant_type')
  if (grantType === 'authorization_code') return byCode(identity, client, form)
  if (grantType === 'refresh_token') return byRefreshToken(identity, client, form)
  if (grantType === DEVICE_GRANT) return byDeviceCode(identity, client, form)
  throw new OAuthError('unsupported_grant_type', `The grant types are ${GRANT_TYPES.join(', ')}.`)
}

/** Exchanges a code with the values to which it is bound (RFC 6749 section 4.1.3). */
async function byCode(identity: Identity, client: OAuthClient, form: Parameters): Promise<TokenResponse> {
  const { clientId } = client
  const code = required(form, 'code')
  const redirectUri = required(form, 'redirect_uri')
  const { code_verifier: codeVerifier, resource } = form
  const exchanged = await identity.codes.exchange({ clientId, code, redirectUri, codeVerifier, resource })
  return respond(identity, client, exchanged)
}

/** Refreshes tokens (RFC 6749 section 6). The id token of a refresh has no nonce (OpenID Connect Core 12.2). */
async function byRefreshToken(identity: Identity, client: OAuthClient, form: Parameters): Promise<TokenResponse> {
  const token = required(form, 'refresh_token')
  const narrow = (granted: string[]) => narrowScope(form.scope, granted)
  const refreshed = await identity.refreshTokens.rotate(client.clientId, token, narrow, form.resource)
  return respond(identity, client, { ...refreshed, nonce: null })
}

/** Exchanges a device code (RFC 8628 section 3.4). */
async function byDeviceCode(identity: Identity, client: OAuthClient, form: Parameters): Promise<TokenResponse> {
  mustHaveOwner(client)
  const { clientId } = client
  const deviceCode = required(form, 'device_code')
  const builtin = identity.builtins.get(clientId)
  const { answer, playerId, ...given } = await identity.devices.redeem(clientId, deviceCode, async (use, approval) => {
    const { request, ...rest } = approval
    const grant: Grant = { ...rest, clientId, scope: request.scope, resource: null }
    if (builtin) return { playerId: grant.playerId, answer: await builtin.issue(use, approval) }
    const issued = await identity.grants.issue(use, grant)
    return { playerId: grant.playerId, answer: null, tokens: { ...issued, grant, scope: grant.scope, nonce: null } }
  })
  const player = await identity.players.find(playerId)
  if (!player || player.disabled) throw new InvalidGrant('The device code is not valid.')
  if (answer) {
    return {
      access_token: answer.accessToken,
      token_type: 'Bearer',
      user: userOf(player, new Set(['profile', 'email'])),
    }
  }
  identity.signIns.count(clientId, playerId)
  if (!given.tokens) throw new Error('The device was given nothing.')
  return respond(identity, client, { ...given.tokens, player })
}

interface Given extends IssuedTokens {
  grant: Grant
  player: Player
  scope: string[]
  nonce: string | null
}

async function respond(
  identity: Identity,
  { idTokenAlgorithm: algorithm }: OAuthClient,
  given: Given,
): Promise<TokenResponse> {
  const { grant, player, scope, nonce, accessToken, refreshToken } = given
  const { clientId, authTime } = grant
  const idToken = scope.includes('openid')
    ? await identity.idTokens.issue({ clientId, algorithm, player, scope, nonce, authTime, accessToken })
    : null
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: ACCESS_TOKEN_SECONDS,
    scope: scope.join(' '),
    ...(refreshToken ? { refresh_token: refreshToken } : {}),
    ...(idToken ? { id_token: idToken } : {}),
    user: userOf(player, new Set(scope)),
  }
}
