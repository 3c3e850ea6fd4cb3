import Type from 'typebox'
import type { Routes } from '../../../core/http/routes.ts'
import { clientEndpoint, Parameter, required } from './client-endpoint.ts'

/** Token revocation (RFC 7009). The response is the same for an unknown token and for another client's token. */
export const revokeRoutes: Routes = async (app) => {
  const { accessTokens, refreshTokens } = app.identity
  clientEndpoint(app, {
    url: '/api/oauth/revoke',
    fromPages: true,
    summary: 'Revoke a token (RFC 7009)',
    parameters: { token: Parameter(), token_type_hint: Parameter('Ignored: a token says itself what it is.') },
    response: Type.Object({}),
    handle: async ({ form, client }) => {
      const token = required(form, 'token')
      if (accessTokens.claims(token)) await accessTokens.revoke(client.clientId, token)
      else await refreshTokens.revoke(client.clientId, token)
      return {}
    },
  })
}
