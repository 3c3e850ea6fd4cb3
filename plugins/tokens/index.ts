import { definePlugin } from '../../core/plugin.ts'
import { cliClient } from './cli-client.ts'
import { ApiToken } from './entities.ts'
import { tokenLimits } from './limits.ts'
import { migration as tokenTables } from './migrations/2026_11_21_tokens.ts'
import { migration as tokenExpiry } from './migrations/2026_11_23_token_expiry.ts'
import { pages } from './pages.ts'
import { routes } from './routes.ts'
import { tokenSignInMethod } from './sign-in-method.ts'
import { kindOf } from './token-format.ts'
import { tokenKinds } from './token-kinds.ts'
import { Tokens } from './tokens.ts'

export { ALL_SCOPES, SCOPES, type Scope } from './scopes.ts'
export { tokenSignInMethod } from './sign-in-method.ts'

declare module 'fastify' {
  interface FastifyInstance {
    tokens: Tokens
  }
}

/** API and CLI tokens, with which programs sign in. */
export default definePlugin(
  {
    name: 'tokens',
    dependencies: ['oauth-idp'],
    limits: tokenLimits,
    entities: [ApiToken],
    migrations: [tokenTables, tokenExpiry],
  },
  async (app, _config, { tokensPerPlayer }) => {
    const { db, clock, events, log } = app
    const { players } = app.identity
    const isActive = (playerId: string) => {
      const known = players.standingNow(playerId)
      return known ? !known.disabled : players.standing(playerId).then((standing) => standing?.disabled === false)
    }
    const writeTo = app.identity.writeTo.bind(app.identity)
    const portalUrl = app.origins.portal
    const tokens = new Tokens({ db, clock, events, log, isActive, tokensPerPlayer, writeTo, portalUrl })
    app.decorate('tokens', tokens)
    app.auth.recognise({
      credential: 'bearer',
      claims: (token) => kindOf(token) !== null,
      authenticate: (token) => tokens.verify(token),
    })
    app.identity.deletion.exporters.set('tokens', (playerId) => tokens.export(playerId))
    app.identity.deletion.cleanups.push((em, playerId) => em.nativeDelete(ApiToken, { playerId }))
    app.identity.signInMethods.add(tokenSignInMethod(clock))
    app.identity.builtins.add(cliClient(tokens))
    for (const kind of tokenKinds({ db, clock })) app.identity.liveSecrets.add(kind)
    app.jobs.every('tokens/forget', 24 * 3600, ({ signal }) => tokens.sweep(signal))
    app.site.navigation.push({ label: 'API tokens', href: '/settings/tokens', place: 'make', order: 60, key: 't' })
    await app.register(routes)
    await app.register(pages)
  },
)
