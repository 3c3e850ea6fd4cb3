import Type from 'typebox'
import type { Routes } from '../../../core/http/routes.ts'
import { ACCESS_TOKEN_SECONDS } from './access-tokens.ts'
import { invalidClient } from './client-authentication.ts'
import { clientEndpoint, Parameter, required } from './client-endpoint.ts'

const Introspection = Type.Object({
  active: Type.Boolean(),
  scope: Type.Optional(Type.String()),
  client_id: Type.Optional(Type.String()),
  sub: Type.Optional(Type.String()),
  token_type: Type.Optional(Type.String()),
  exp: Type.Optional(Type.Integer()),
  iat: Type.Optional(Type.Integer()),
  iss: Type.Optional(Type.String()),
  aud: Type.Optional(Type.String({ description: 'The protected resource of the token, if it is for one.' })),
})

/** Token introspection (RFC 7662) for the server of an application. Tokens of other applications are not active. */
export const introspectRoutes: Routes = async (app) => {
  const { accessTokens, refreshTokens } = app.identity
  const iss = app.origins.portal
  clientEndpoint(app, {
    url: '/api/oauth/introspect',
    summary: 'Whether a token is valid (RFC 7662)',
    parameters: { token: Parameter(), token_type_hint: Parameter('Ignored: a token says itself what it is.') },
    response: Introspection,
    handle: async ({ form, client }) => {
      // Without client authentication, anybody could test tokens here.
      if (client.publicClient) throw invalidClient()
      const token = required(form, 'token')
      if (accessTokens.claims(token)) {
        const found = await accessTokens.find(token)
        if (found?.clientId !== client.clientId) return { active: false }
        const exp = Math.floor(found.expiresAt.getTime() / 1000)
        const { scope, clientId: client_id, playerId: sub } = found
        const iat = exp - ACCESS_TOKEN_SECONDS
        const aud = found.resource === null ? {} : { aud: found.resource }
        return { active: true, scope, client_id, sub, token_type: 'Bearer', exp, iat, iss, ...aud }
      }
      const found = await refreshTokens.find(token)
      if (found?.clientId !== client.clientId) return { active: false }
      const { clientId: client_id, playerId: sub, scope } = found
      return {
        active: true,
        scope: scope.join(' '),
        client_id,
        sub,
        exp: Math.floor(found.expiresAt.getTime() / 1000),
        iss,
      }
    },
  })
}
