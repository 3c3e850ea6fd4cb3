import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { type Database, deleteInBatches, type Statements } from '../../../core/data/database.ts'
import { newId, randomText } from '../../../core/ids.ts'
import { readAccount } from '../players/caller-check.ts'
import { hashSecret } from '../secret-hash.ts'
import { ACCESS_TOKEN_PREFIX, ACCESS_TOKEN_SECONDS } from './access-tokens.ts'
import { AccessToken, AuthorizationCode, DeviceCode, RefreshToken } from './entities.ts'
import { InvalidGrant } from './errors.ts'

export const REFRESH_TOKEN_PREFIX = 'svc_ort_'
const REFRESH_TOKEN_DAYS = 30
const DAY_MS = 86_400_000

/** A player's grant to a client, by a code or a device: the family of all tokens derived from it. */
export interface Grant {
  /** The hash of the code that started it. */
  grantId: string
  clientId: string
  playerId: string
  consentId: string
  scope: string[]
  /** The time of the player's sign-in. */
  authTime: Date
  /** The protected resource for which its tokens are; null for the API of games. */
  resource: string | null
}

/** The tokens of a grant, which are not stored. */
export interface IssuedTokens {
  accessToken: string
  /** Issued with `offline_access`, and for protected resources, whose clients work for longer than an hour. */
  refreshToken: string | null
}

const INSERT_ACCESS = `insert into oauth_access_tokens
  (id, token_hash, client_id, player_id, consent_id, scope, grant_id, expires_at, resource)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?)`
const INSERT_REFRESH = `insert into oauth_refresh_tokens
  (token_hash, client_id, player_id, consent_id, scope, grant_id, auth_time, expires_at, used_at, resource)
  values (?, ?, ?, ?, ?, ?, ?, ?, null, ?)`

const CODES_AT_ONCE = 100
const OVER = `select c.code_hash as hash, c.expires_at,
  case when exists (select 1 from oauth_refresh_tokens r where r.grant_id = c.code_hash) then 1 else 0 end as counts
  from authorization_codes c where c.expires_at < ? and (c.expires_at, c.code_hash) > (?, ?)
  order by c.expires_at, c.code_hash limit ?`

/** Issues and revokes the tokens of grants. */
export class Grants {
  readonly #db: Database
  readonly #clock: Clock

  constructor({ db, clock }: { db: Database; clock: Clock }) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Refuses a player whose account has been deleted or disabled, in the transaction that redeems something for the
   * player. The account stays as it is until the transaction ends.
   *
   * @throws InvalidGrant
   */
  async checkPlayer(statements: Statements, playerId: string): Promise<void> {
    const player = await readAccount(statements, this.#db, playerId)
    if (!player || player.disabled) throw new InvalidGrant('The account has been deleted or disabled.')
  }

  /**
   * Creates the tokens of a grant in the caller's transaction.
   *
   * @param scope of the access token, where a client requests less than it was granted
   * @param successor the refresh token, where it follows from the one before it
   */
  async issue(
    statements: Statements,
    grant: Grant,
    scope: string[] = grant.scope,
    successor?: string,
  ): Promise<IssuedTokens> {
    const { grantId, clientId, playerId, consentId, authTime, resource } = grant
    const accessToken = await this.issueAccess(statements, grant, scope)
    const stays = resource !== null || grant.scope.includes('offline_access')
    if (!stays) return { accessToken, refreshToken: null }
    const refreshToken = successor ?? REFRESH_TOKEN_PREFIX + randomText(32)
    const refreshEnds = new Date(this.#clock.now().getTime() + REFRESH_TOKEN_DAYS * DAY_MS)
    await statements.execute(INSERT_REFRESH, [
      hashSecret(refreshToken),
      clientId,
      playerId,
      consentId,
      grant.scope.join(' '),
      grantId,
      authTime,
      refreshEnds,
      resource,
    ])
    return { accessToken, refreshToken }
  }

  /** Creates an access token of a grant, and nothing else, in the caller's transaction. */
  async issueAccess(statements: Statements, grant: Grant, scope: string[]): Promise<string> {
    const { grantId, clientId, playerId, consentId, resource } = grant
    const now = this.#clock.now()
    const accessToken = ACCESS_TOKEN_PREFIX + randomText(32)
    const accessEnds = new Date(now.getTime() + ACCESS_TOKEN_SECONDS * 1000)
    await statements.execute(INSERT_ACCESS, [
      newId('oat', now),
      hashSecret(accessToken),
      clientId,
      playerId,
      consentId,
      scope.join(' '),
      grantId,
      accessEnds,
      resource,
    ])
    return accessToken
  }

  /**
   * Ends a grant with all its tokens. A concurrent rotation may add a token while this waits for it, so the deletion
   * repeats until no token is left.
   */
  async end(grantId: string): Promise<void> {
    let rows: number
    do {
      const em = this.#db.em()
      rows = (await em.nativeDelete(RefreshToken, { grantId })) + (await em.nativeDelete(AccessToken, { grantId }))
    } while (rows > 0)
  }

  /** Deletes expired tokens, and codes that can't be redeemed and have issued no valid token. */
  async sweep(signal?: AbortSignal): Promise<void> {
    const now = this.#clock.now()
    const longAgo = new Date(now.getTime() - ACCESS_TOKEN_SECONDS * 1000)
    const over = (table: string, key: string, parameters: Date[]) =>
      deleteInBatches(this.#db, { table, key: [key], where: 'expires_at <= ?', parameters }, signal)
    await over('oauth_access_tokens', 'id', [now])
    await over('oauth_refresh_tokens', 'token_hash', [now])
    await over('oauth_device_codes', 'device_hash', [longAgo])
    await this.#sweepCodes(longAgo, signal)
  }

  /** Codes with refresh tokens are many and are kept. The query skips them, so that no write statement scans them. */
  async #sweepCodes(longAgo: Date, signal?: AbortSignal): Promise<void> {
    let [lastEnd, lastHash] = [new Date(0), '']
    while (!signal?.aborted) {
      const codes = await this.#db.query<{ hash: string; expires_at: number; counts: number }>(OVER, [
        longAgo,
        lastEnd,
        lastHash,
        CODES_AT_ONCE,
      ])
      const gone = codes.filter(({ counts }) => !counts).map(({ hash }) => hash)
      if (gone.length > 0) await this.#db.em().nativeDelete(AuthorizationCode, { codeHash: { $in: gone } })
      const last = codes.at(-1)
      if (codes.length < CODES_AT_ONCE || !last) return
      lastEnd = new Date(last.expires_at)
      lastHash = last.hash
      await nextTurn()
    }
  }
}

/** Ends all grants of a player, of a client, or of a player with one client, in the caller's transaction. */
export async function endGrants(
  em: SqlEntityManager,
  of: { playerId: string } | { clientId: string } | { playerId: string; clientId: string },
): Promise<void> {
  await em.nativeDelete(AuthorizationCode, of)
  await em.nativeDelete(DeviceCode, of)
  await em.nativeDelete(RefreshToken, of)
  await em.nativeDelete(AccessToken, of)
}
