import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import type { Database, Statements } from '../../../core/database.ts'
import { newId, randomText } from '../../../core/ids.ts'
import { hashOf } from '../hash.ts'
import { ACCESS_TOKEN_PREFIX, ACCESS_TOKEN_SECONDS } from './access-tokens.ts'
import { AccessToken, AuthorizationCode, DeviceCode, RefreshToken } from './entities.ts'

const REFRESH_TOKEN_DAYS = 30
const DAY_MS = 86_400_000

/** What a player has given a client, by a code or a device: the family of all tokens that come of it. */
export interface Grant {
  /** The hash of the code that began it. */
  grantId: string
  clientId: string
  playerId: string
  consentId: string
  scope: string[]
  /** When the player signed in. */
  authTime: Date
}

/** Tokens of a grant, which are not kept. */
export interface IssuedTokens {
  accessToken: string
  /** With `offline_access`. */
  refreshToken: string | null
}

const INSERT_ACCESS = `insert into oauth_access_tokens
  (id, token_hash, client_id, player_id, consent_id, scope, grant_id, expires_at) values (?, ?, ?, ?, ?, ?, ?, ?)`
const INSERT_REFRESH = `insert into oauth_refresh_tokens
  (token_hash, client_id, player_id, consent_id, scope, grant_id, auth_time, expires_at, used_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, null)`

/** Gives and ends the tokens of grants. */
export class Grants {
  readonly #db: Database
  readonly #clock: Clock

  constructor({ db, clock }: { db: Database; clock: Clock }) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Makes the tokens of a grant in the caller's transaction.
   *
   * @param scope of the access token, where a client asks for less than it was granted
   */
  async issue(statements: Statements, grant: Grant, scope: string[] = grant.scope): Promise<IssuedTokens> {
    const { grantId, clientId, playerId, consentId, authTime } = grant
    const now = this.#clock.now()
    const accessToken = ACCESS_TOKEN_PREFIX + randomText(32)
    const refreshToken = grant.scope.includes('offline_access') ? `svc_ort_${randomText(32)}` : null
    const accessEnds = new Date(now.getTime() + ACCESS_TOKEN_SECONDS * 1000)
    const bound = [clientId, playerId, consentId]
    await statements.execute(INSERT_ACCESS, [
      ...[newId('oat', now), hashOf(accessToken), ...bound],
      ...[scope.join(' '), grantId, accessEnds],
    ])
    if (refreshToken) {
      const refreshEnds = new Date(now.getTime() + REFRESH_TOKEN_DAYS * DAY_MS)
      const whole = grant.scope.join(' ')
      await statements.execute(INSERT_REFRESH, [
        ...[hashOf(refreshToken), ...bound],
        ...[whole, grantId, authTime, refreshEnds],
      ])
    }
    return { accessToken, refreshToken }
  }

  /**
   * Ends a grant with all its tokens. A rotation that runs at the same time may add one while this waits for it, so it
   * goes on until nothing is left.
   */
  async end(grantId: string): Promise<void> {
    let rows: number
    do {
      const em = this.#db.em()
      rows = (await em.nativeDelete(RefreshToken, { grantId })) + (await em.nativeDelete(AccessToken, { grantId }))
    } while (rows > 0)
  }

  /** Forgets what has expired, and codes that neither can be redeemed nor have given anything that still counts. */
  async sweep(): Promise<void> {
    const now = this.#clock.now()
    const longAgo = new Date(now.getTime() - ACCESS_TOKEN_SECONDS * 1000)
    const em = this.#db.em()
    await em.nativeDelete(AccessToken, { expiresAt: { $lte: now } })
    await em.nativeDelete(RefreshToken, { expiresAt: { $lte: now } })
    await em.nativeDelete(DeviceCode, { expiresAt: { $lte: longAgo } })
    await this.#db.execute(
      `delete from authorization_codes where expires_at < ? and not exists
       (select 1 from oauth_refresh_tokens r where r.grant_id = authorization_codes.code_hash)`,
      [longAgo],
    )
  }
}

/** Ends whatever a player, a client, or a player with one client was given; in the caller's transaction. */
export async function endGrants(
  em: SqlEntityManager,
  of: { playerId: string } | { clientId: string } | { playerId: string; clientId: string },
): Promise<void> {
  await em.nativeDelete(AuthorizationCode, of)
  await em.nativeDelete(DeviceCode, of)
  await em.nativeDelete(RefreshToken, of)
  await em.nativeDelete(AccessToken, of)
}
