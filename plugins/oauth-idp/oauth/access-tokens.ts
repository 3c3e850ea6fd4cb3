import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import type { Principal } from '../../../core/http/auth.ts'
import { hashSecret } from '../secret-hash.ts'
import { AccessToken } from './entities.ts'

export const ACCESS_TOKEN_SECONDS = 3600
export const ACCESS_TOKEN_PREFIX = 'svc_oat_'

interface LookUpRow {
  id: string
  player_id: string
  client_id: string
  scope: string
  expires_at: number
}

/** A token depends on the player's consent and on an enabled account. Without either it is invalid. */
const LOOK_UP = `select t.id, t.player_id, t.client_id, t.scope, t.expires_at from oauth_access_tokens t
  join players p on p.id = t.player_id join oauth_consents c on c.id = t.consent_id
  where t.token_hash = ? and t.expires_at > ? and not p.disabled`

/** Opaque bearer tokens of games (RFC 6750). Only their hashes are stored. */
export class AccessTokens {
  readonly #db: Database
  readonly #clock: Clock

  constructor({ db, clock }: { db: Database; clock: Clock }) {
    this.#db = db
    this.#clock = clock
  }

  claims(token: string): boolean {
    return token.startsWith(ACCESS_TOKEN_PREFIX)
  }

  /** Returns the holder of a token. It reads the database each time, so a revoked token fails on the next request. */
  async authenticate(token: string): Promise<Principal | null> {
    const found = await this.find(token)
    return (
      found && {
        kind: 'oauth-token',
        playerId: found.playerId,
        clientId: found.clientId,
        scopes: new Set(found.scope.split(' ')),
        credentialId: found.id,
      }
    )
  }

  /** Finds a token that is currently valid; null for any other. */
  async find(token: string) {
    const [row] = await this.#db.query<LookUpRow>(LOOK_UP, [hashSecret(token), this.#clock.now()])
    if (!row) return null
    const { id, player_id: playerId, client_id: clientId, scope, expires_at: expiresAt } = row
    return { id, playerId, clientId, scope, expiresAt: new Date(expiresAt) }
  }

  /** Revokes one token of a client. Does nothing when the token does not exist. */
  async revoke(clientId: string, token: string): Promise<void> {
    await this.#db.em().nativeDelete(AccessToken, { clientId, tokenHash: hashSecret(token) })
  }
}
