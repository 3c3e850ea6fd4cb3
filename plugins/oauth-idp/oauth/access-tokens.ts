import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import type { Principal } from '../../../core/http/auth.ts'
import type { SuspendedClients } from '../apps/suspended-clients.ts'
import { hashSecret } from '../secret-hash.ts'
import { AccessToken } from './entities.ts'

export const ACCESS_TOKEN_SECONDS = 3600
export const ACCESS_TOKEN_PREFIX = 'svc_oat_'

interface LookUpRow {
  id: string
  player_id: string
  client_id: string
  client_name: string | null
  game_id: string | null
  scope: string
  expires_at: number
  resource: string | null
}

/**
 * A token depends on the player's consent, on an enabled account, and on a game that is not suspended. Without any of
 * them it is invalid.
 */
const LOOK_UP = `select t.id, t.player_id, t.client_id, t.scope, t.expires_at, t.resource, a.name as client_name, a.game_id
  from oauth_access_tokens t join players p on p.id = t.player_id join oauth_consents c on c.id = t.consent_id
  left join oauth_apps a on a.client_id = t.client_id
  where t.token_hash = ? and t.expires_at > ? and not p.disabled`

/** Opaque bearer tokens of games (RFC 6750). Only their hashes are stored. */
export class AccessTokens {
  readonly #db: Database
  readonly #clock: Clock
  readonly #suspendedClients: SuspendedClients

  constructor({ db, clock, suspendedClients }: { db: Database; clock: Clock; suspendedClients: SuspendedClients }) {
    this.#db = db
    this.#clock = clock
    this.#suspendedClients = suspendedClients
  }

  claims(token: string): boolean {
    return token.startsWith(ACCESS_TOKEN_PREFIX)
  }

  /** Returns the holder of a token. It reads the database each time, so a revoked token fails on the next request. */
  async authenticate(token: string): Promise<Principal | null> {
    const found = await this.find(token)
    return (
      found && {
        kind: found.resource === null ? 'oauth-token' : 'resource-token',
        ...(found.resource === null ? {} : { resource: found.resource }),
        playerId: found.playerId,
        clientId: found.clientId,
        scopes: new Set(found.scope.split(' ')),
        credentialId: found.id,
        ...(found.clientName === null ? {} : { credentialName: found.clientName }),
      }
    )
  }

  /** Finds a token that is currently valid; null for any other. */
  async find(token: string) {
    const [row] = await this.#db.query<LookUpRow>(LOOK_UP, [hashSecret(token), this.#clock.now()])
    if (!row || (await this.#suspendedClients.has({ clientId: row.client_id, gameId: row.game_id }))) return null
    const { id, player_id: playerId, client_id: clientId, client_name: clientName, scope, resource } = row
    return { id, playerId, clientId, clientName, scope, resource, expiresAt: new Date(row.expires_at) }
  }

  /** Revokes one token of a client. Does nothing when the token does not exist. */
  async revoke(clientId: string, token: string): Promise<void> {
    await this.#db.em().nativeDelete(AccessToken, { clientId, tokenHash: hashSecret(token) })
  }
}
