import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Principal } from '../../../core/auth.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/database.ts'
import { newId, randomText } from '../../../core/ids.ts'
import { hashOf } from '../hash.ts'
import type { Player } from '../players/schemas.ts'
import { AccessToken } from './entities.ts'

export const ACCESS_TOKEN_SECONDS = 3600

const PREFIX = 'svc_oat_'

interface LookUpRow {
  id: string
  player_id: string
  client_id: string
  scope: string
}

/** Opaque bearer tokens of games (RFC 6750), stored hashed. */
export class AccessTokens {
  readonly #db: Database
  readonly #clock: Clock

  constructor({ db, clock }: { db: Database; clock: Clock }) {
    this.#db = db
    this.#clock = clock
  }

  /** @returns the token, which is not kept */
  async issue(
    em: SqlEntityManager,
    grant: { clientId: string; player: Player; scope: string[]; codeHash: string },
  ): Promise<string> {
    const now = this.#clock.now()
    const token = PREFIX + randomText(32)
    await em.insert(AccessToken, {
      id: newId('oat', now),
      tokenHash: hashOf(token),
      clientId: grant.clientId,
      playerId: grant.player.id,
      scope: grant.scope.join(' '),
      codeHash: grant.codeHash,
      expiresAt: new Date(now.getTime() + ACCESS_TOKEN_SECONDS * 1000),
    })
    return token
  }

  claims(token: string): boolean {
    return token.startsWith(PREFIX)
  }

  /** Who holds a token, read anew each time: a revoked one is dead on the next request. */
  async authenticate(token: string): Promise<Principal | null> {
    const [row] = await this.#db.query<LookUpRow>(
      `select t.id, t.player_id, t.client_id, t.scope from oauth_access_tokens t join players p on p.id = t.player_id
       where t.token_hash = ? and t.expires_at > ? and not p.disabled`,
      [hashOf(token), this.#clock.now()],
    )
    if (!row) return null
    return {
      kind: 'oauth-token',
      playerId: row.player_id,
      clientId: row.client_id,
      scopes: new Set(row.scope.split(' ')),
      credentialId: row.id,
    }
  }

  async sweep(): Promise<void> {
    await this.#db.em().nativeDelete(AccessToken, { expiresAt: { $lte: this.#clock.now() } })
  }
}
