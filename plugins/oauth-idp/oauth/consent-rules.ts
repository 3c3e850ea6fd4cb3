import type { Apps } from '../apps/apps.ts'
import type { OAuthClient } from '../apps/client.ts'
import type { OAuthConfig } from '../config.ts'
import type { Consents } from './consents.ts'
import { BASIC_SCOPES } from './scopes.ts'

interface RulesContext {
  apps: Apps
  consents: Consents
  oauth: OAuthConfig
}

/** Decides when a player is asked before an application receives their identity. */
export class ConsentRules {
  readonly #context: RulesContext

  constructor(context: RulesContext) {
    this.#context = context
  }

  /**
   * Whether the player must be asked. A hosted game receives, at its own addresses here, without a question the data
   * that every player can see anyway. All other applications ask once for each scope, and clients that registered
   * themselves each time.
   */
  async mustAsk(playerId: string, client: OAuthClient, redirectUri: string, scope: string[]): Promise<boolean> {
    const { apps, consents, oauth } = this.#context
    if (client.registration !== null) return true
    const skips = scope.every((name) => BASIC_SCOPES.has(name)) && oauth.skipConsentForHostedGames
    if (skips && (await apps.staysHere(client, redirectUri))) return false
    return !(await consents.covers(playerId, client.clientId, scope))
  }

  /**
   * Returns the consent under which an application may know a player without a question. It is stored, so that players
   * see it in their settings and can end it there.
   *
   * @returns its id, for `Consents.holds`; null when there is no such application, or the player must be asked
   */
  async withoutAsking(
    playerId: string,
    { clientId, redirectUri }: { clientId: string; redirectUri: string },
    scope: string[],
  ): Promise<string | null> {
    const { apps, consents } = this.#context
    const client = await apps.find(clientId)
    if (!client || (await this.mustAsk(playerId, client, redirectUri, scope))) return null
    return consents.remember(playerId, clientId, scope, { asked: false })
  }
}
