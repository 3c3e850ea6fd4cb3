import { createHmac } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import type { SuspendedClients } from '../apps/suspended-clients.ts'
import type { Players } from '../players/players.ts'
import type { Player } from '../players/schemas.ts'
import { hashSecret } from '../secret-hash.ts'
import { InvalidGrant, OAuthError } from './errors.ts'
import { type Grant, type Grants, type IssuedTokens, REFRESH_TOKEN_PREFIX } from './grants.ts'
import { mustBeFor } from './resources.ts'

interface RefreshRow {
  client_id: string
  player_id: string
  consent_id: string
  scope: string
  grant_id: string
  auth_time: number
  expires_at: number
  used_at: number | null
  resource: string | null
  game_id: string | null
}

/** Refresh tokens depend on the player's consent, as access tokens do. */
const LOOK_UP = `select t.client_id, t.player_id, t.consent_id, t.scope, t.grant_id, t.auth_time, t.expires_at, t.used_at,
  t.resource, a.game_id from oauth_refresh_tokens t join oauth_consents c on c.id = t.consent_id
  left join oauth_apps a on a.client_id = t.client_id where t.token_hash = ?`

interface Refreshed extends IssuedTokens {
  grant: Grant
  player: Player
  /** The scope of the access token. */
  scope: string[]
}

/**
 * Refresh tokens (RFC 6749 section 6). Each is valid once and yields its successor (RFC 9700 section 4.14.2). A used
 * token that is presented again was stolen from or by the caller, which cannot be distinguished, so the whole family
 * ends. Within a few seconds it yields the same successor instead, as long as that is not used: an answer was lost, or
 * two tabs asked at once. The successor follows from the token and a key, because only hashes are stored.
 */
export class RefreshTokens {
  readonly #db: Database
  readonly #clock: Clock
  readonly #players: Players
  readonly #suspendedClients: SuspendedClients
  readonly #grants: Grants
  readonly #key: Buffer
  readonly #leewayMs: number

  /** @param parts `key`: 32 bytes */
  constructor(parts: {
    db: Database
    clock: Clock
    players: Players
    suspendedClients: SuspendedClients
    grants: Grants
    key: Buffer
    leewaySeconds: number
  }) {
    this.#db = parts.db
    this.#clock = parts.clock
    this.#players = parts.players
    this.#suspendedClients = parts.suspendedClients
    this.#grants = parts.grants
    this.#key = parts.key
    this.#leewayMs = parts.leewaySeconds * 1000
  }

  /** Exchanges a client's token for new ones. @throws InvalidGrant; OAuthError for a scope beyond the grant */
  async rotate(
    clientId: string,
    token: string,
    readScope: (granted: string[]) => string[],
    resource?: string,
  ): Promise<Refreshed> {
    const now = this.#clock.now()
    const row = await this.#find(token)
    const successor = this.#successorOf(token)
    // A token of another client counts as unknown: it is not used up and ends no grant.
    if (!row || row.client_id !== clientId) throw new InvalidGrant('The refresh token is not valid.')
    if (row.used_at !== null && !(await this.#mayRepeat(row, successor))) return this.#refuseReuse(row.grant_id)
    if (row.expires_at <= now.getTime()) throw new InvalidGrant('The refresh token has expired.')
    const player = await this.#players.find(row.player_id)
    if (!player) throw new InvalidGrant('The refresh token is not valid.')
    mustBeFor(row.resource, resource)
    const grant = grantOf(row)
    const scope = readScope(grant.scope)
    const again = async (): Promise<IssuedTokens> => ({
      accessToken: await this.#db.groupCommit(async (statements) => {
        await this.#grants.checkPlayer(statements, grant.playerId)
        return this.#grants.issueAccess(statements, grant, scope)
      }),
      refreshToken: successor,
    })
    const first = await this.#db.groupCommit(async (statements) => {
      if (row.used_at !== null) return null
      await this.#grants.checkPlayer(statements, grant.playerId)
      const used = await statements.execute(
        'update oauth_refresh_tokens set used_at = ? where token_hash = ? and used_at is null',
        [now, hashSecret(token)],
      )
      return used === 1 ? this.#grants.issue(statements, grant, scope, successor) : null
    })
    if (!first && !(await this.#mayRepeat(await this.#find(token), successor))) return this.#refuseReuse(row.grant_id)
    const issued = first ?? (await again())
    const { disabled: _, epoch: __, ...profile } = player
    return { ...issued, grant, player: profile, scope }
  }

  /** Finds a token that is currently valid, for introspection; null for any other. */
  async find(token: string) {
    const row = await this.#find(token)
    if (!row || row.used_at !== null || row.expires_at <= this.#clock.now().getTime()) return null
    const standing = await this.#players.standing(row.player_id)
    if (!standing || standing.disabled) return null
    if (await this.#suspendedClients.has({ clientId: row.client_id, gameId: row.game_id })) return null
    return { ...grantOf(row), expiresAt: new Date(row.expires_at) }
  }

  /** Ends the grant of a client's token (RFC 7009 section 2.1). Does nothing when the token does not exist. */
  async revoke(clientId: string, token: string): Promise<void> {
    const row = await this.#find(token)
    if (row?.client_id === clientId) await this.#grants.end(row.grant_id)
  }

  async #find(token: string): Promise<RefreshRow | undefined> {
    return (await this.#db.query<RefreshRow>(LOOK_UP, [hashSecret(token)]))[0]
  }

  #successorOf(token: string): string {
    return REFRESH_TOKEN_PREFIX + createHmac('sha256', this.#key).update(token).digest('base64url')
  }

  /** Whether a used token may yield its successor once more. */
  async #mayRepeat(row: RefreshRow | undefined, successor: string): Promise<boolean> {
    if (this.#leewayMs === 0 || !row || row.used_at === null) return false
    if (this.#clock.now().getTime() - row.used_at > this.#leewayMs) return false
    const next = await this.#find(successor)
    return next?.grant_id === row.grant_id && next.used_at === null
  }

  async #refuseReuse(grantId: string): Promise<never> {
    await this.#grants.end(grantId)
    throw new InvalidGrant('The refresh token has been used before; all tokens of this sign-in are revoked.')
  }
}

/** Returns a subset of the granted scope on request (RFC 6749 section 6). @throws OAuthError `invalid_scope` */
export function narrowScope(asked: string | undefined, granted: string[]): string[] {
  const scope = [...new Set((asked ?? '').split(' ').filter(Boolean))]
  if (scope.some((name) => !granted.includes(name))) {
    throw new OAuthError('invalid_scope', 'The scope goes beyond what the player has allowed.')
  }
  return scope.length > 0 ? scope : granted
}

const grantOf = (row: RefreshRow): Grant => ({
  grantId: row.grant_id,
  clientId: row.client_id,
  playerId: row.player_id,
  consentId: row.consent_id,
  scope: row.scope.split(' '),
  authTime: new Date(row.auth_time),
  resource: row.resource,
})
