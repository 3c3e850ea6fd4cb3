import type { Clock } from '../../../core/clock.ts'
import type { Database, Statements } from '../../../core/data/database.ts'
import { randomText } from '../../../core/ids.ts'
import type { SignIns } from '../apps/sign-ins.ts'
import type { Players } from '../players/players.ts'
import type { Player } from '../players/schemas.ts'
import { hashSecret } from '../secret-hash.ts'
import { AuthorizationCode } from './entities.ts'
import { InvalidGrant } from './errors.ts'
import type { Grant, Grants, IssuedTokens } from './grants.ts'
import { verifierMatches } from './pkce.ts'
import { mustBeFor } from './resources.ts'

const CODE_SECONDS = 60

/** The values to which a code is bound. */
export interface CodeBinding {
  clientId: string
  playerId: string
  consentId: string
  redirectUri: string
  scope: string[]
  codeChallenge: string | null
  nonce: string | null
  authTime: Date
  resource: string | null
  /** The browser session that asked; null: none. */
  sessionId: string | null
}

/** A client's request to exchange a code. */
export interface PresentedCode {
  clientId: string
  code: string
  redirectUri: string
  codeVerifier?: string | undefined
  /** The resource that the client names; it must be that of the authorization request. */
  resource?: string | undefined
}

/** The grant behind a code. */
export interface Redeemed {
  player: Player
  scope: string[]
  /** The player's consent. Whatever is issued must not outlive it (`Consents.holds`). */
  consentId: string
  /** The browser session that asked; null in a code of the previous version. */
  sessionId: string | null
}

interface Exchanged extends Redeemed, IssuedTokens {
  grant: Grant
  nonce: string | null
}

interface CodesContext {
  db: Database
  clock: Clock
  players: Players
  grants: Grants
  signIns: SignIns
}

/** Reads a code with its player in one statement. */
const LOOK_UP = `select c.client_id, c.player_id, c.consent_id, c.redirect_uri, c.scope, c.code_challenge, c.nonce,
  c.resource, c.session_id, c.auth_time, c.expires_at, c.redeemed_at, p.email, p.email_verified, p.name, p.avatar, p.guest, p.is_admin, p.moderator,
  p.disabled,  p.epoch, p.created_at
  from authorization_codes c join players p on p.id = c.player_id where c.code_hash = ?`

interface LookUpRow {
  client_id: string
  player_id: string
  consent_id: string
  redirect_uri: string
  scope: string
  code_challenge: string | null
  nonce: string | null
  resource: string | null
  session_id: string | null
  auth_time: number
  expires_at: number
  redeemed_at: number | null
  email: string | null
  email_verified: number
  name: string
  avatar: string | null
  guest: number
  is_admin: number
  moderator: number
  disabled: number
  epoch: number
  created_at: number
}

/** Authorization codes (RFC 6749 section 4.1): 256 bits, stored as a hash, valid once and for one minute. */
export class Codes {
  readonly #context: CodesContext

  constructor(context: CodesContext) {
    this.#context = context
  }

  /** @returns the code, which is not stored */
  async issue({ scope, ...binding }: CodeBinding): Promise<string> {
    const code = randomText(32)
    const row = {
      ...binding,
      codeHash: hashSecret(code),
      scope: scope.join(' '),
      expiresAt: new Date(this.#context.clock.now().getTime() + CODE_SECONDS * 1000),
      redeemedAt: null,
    }
    await this.#context.db.transaction((em) => em.insert(AuthorizationCode, row))
    return code
  }

  /**
   * Redeems a code within this process, for hosted games, whose server is this one. It works like the token endpoint,
   * without a client secret and without an access token.
   *
   * @throws InvalidGrant
   */
  redeem(presented: PresentedCode): Promise<Redeemed> {
    return this.#take(presented, async (_statements, redeemed) => redeemed)
  }

  /** Redeems a code for tokens. The caller has authenticated the client. @throws InvalidGrant */
  exchange(presented: PresentedCode): Promise<Exchanged> {
    return this.#take(presented, async (statements, redeemed, grant, nonce) => {
      const issued = await this.#context.grants.issue(statements, grant)
      return { ...redeemed, ...issued, grant, nonce }
    })
  }

  async #take<T>(
    presented: PresentedCode,
    give: (statements: Statements, redeemed: Redeemed, grant: Grant, nonce: string | null) => Promise<T>,
  ): Promise<T> {
    const { db, clock, grants, signIns } = this.#context
    const codeHash = hashSecret(presented.code)
    const [row] = await db.query<LookUpRow>(LOOK_UP, [codeHash])
    // A code of another client counts as unknown, so that a third party who has seen it can't use it up.
    if (!row || row.client_id !== presented.clientId) throw new InvalidGrant('The code is not valid.')
    if (row.redeemed_at !== null) return this.#refuseReplay(codeHash)
    const now = clock.now()
    if (row.expires_at <= now.getTime()) throw new InvalidGrant('The code has expired.')
    if (row.redirect_uri !== presented.redirectUri) {
      throw new InvalidGrant('The redirect_uri is not the one of the authorization request.')
    }
    if (!verifierMatches(presented.codeVerifier, row.code_challenge)) {
      throw new InvalidGrant('The code_verifier does not match the code_challenge.')
    }
    mustBeFor(row.resource, presented.resource)

    const { consent_id: consentId, session_id: sessionId } = row
    const redeemed = { player: this.#playerOf(row), scope: row.scope.split(' '), consentId, sessionId }
    const grant = grantOf(codeHash, row)
    const given = await db.groupCommit(async (statements) => {
      await grants.checkPlayer(statements, row.player_id)
      const mine = await statements.execute(
        'update authorization_codes set redeemed_at = ? where code_hash = ? and redeemed_at is null',
        [now, codeHash],
      )
      return mine === 1 ? { value: await give(statements, redeemed, grant, row.nonce) } : null
    })
    if (!given) return this.#refuseReplay(codeHash)
    signIns.count(row.client_id, row.player_id)
    return given.value
  }

  #playerOf(row: LookUpRow): Player {
    return this.#context.players.describe({
      id: row.player_id,
      email: row.email,
      emailVerified: Boolean(row.email_verified),
      name: row.name,
      avatar: row.avatar,
      passwordHash: null,
      guest: Boolean(row.guest),
      isAdmin: Boolean(row.is_admin),
      moderator: Boolean(row.moderator),
      disabled: Boolean(row.disabled),
      epoch: row.epoch,
      createdAt: new Date(row.created_at),
    })
  }

  /** A replayed code may have been stolen, so its grant ends (RFC 6749 section 4.1.2). */
  async #refuseReplay(codeHash: string): Promise<never> {
    await this.#context.grants.end(codeHash)
    throw new InvalidGrant('The code has been used before; what it gave is revoked.')
  }
}

const grantOf = (grantId: string, row: LookUpRow): Grant => ({
  grantId,
  clientId: row.client_id,
  playerId: row.player_id,
  consentId: row.consent_id,
  scope: row.scope.split(' '),
  authTime: new Date(row.auth_time),
  resource: row.resource,
})
