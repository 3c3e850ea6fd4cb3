import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { markOnce } from '../../../core/consume-once.ts'
import type { Database } from '../../../core/database.ts'
import { randomText } from '../../../core/ids.ts'
import { hashOf } from '../hash.ts'
import type { Players } from '../players/players.ts'
import type { Player } from '../players/schemas.ts'
import { ACCESS_TOKEN_SECONDS, type AccessTokens } from './access-tokens.ts'
import { AccessToken, AuthorizationCode } from './entities.ts'
import { InvalidGrant } from './errors.ts'
import { verifierMatches } from './pkce.ts'

const CODE_SECONDS = 60

/** What a code is bound to. */
export interface CodeBinding {
  clientId: string
  playerId: string
  redirectUri: string
  scope: string[]
  codeChallenge: string | null
}

/** What a client presents. */
export interface PresentedCode {
  clientId: string
  code: string
  redirectUri: string
  codeVerifier?: string | undefined
}

export interface Grant {
  player: Player
  scope: string[]
}

interface CodesContext {
  db: Database
  clock: Clock
  players: Players
  accessTokens: AccessTokens
}

/** Authorization codes (RFC 6749 section 4.1): 256 bits, stored hashed, good once and for a minute. */
export class Codes {
  readonly #context: CodesContext

  constructor(context: CodesContext) {
    this.#context = context
  }

  /** @returns the code, which is not kept */
  async issue({ clientId, playerId, redirectUri, scope, codeChallenge }: CodeBinding): Promise<string> {
    const code = randomText(32)
    await this.#context.db.em().insert(AuthorizationCode, {
      codeHash: hashOf(code),
      clientId,
      playerId,
      redirectUri,
      scope: scope.join(' '),
      codeChallenge,
      expiresAt: new Date(this.#context.clock.now().getTime() + CODE_SECONDS * 1000),
      redeemedAt: null,
    })
    return code
  }

  /**
   * Redeems a code within this process: for games that live here, whose server is this one. The same way as the token
   * endpoint, without a client secret and without an access token.
   *
   * @throws InvalidGrant
   */
  redeem(presented: PresentedCode): Promise<Grant> {
    return this.#take(presented, async (_em, grant) => grant)
  }

  /** Redeems a code for an access token; the caller has authenticated the client. @throws InvalidGrant */
  exchange(presented: PresentedCode): Promise<Grant & { accessToken: string }> {
    return this.#take(presented, async (em, grant, codeHash) => {
      const { clientId } = presented
      const accessToken = await this.#context.accessTokens.issue(em, { clientId, codeHash, ...grant })
      return { ...grant, accessToken }
    })
  }

  async #take<T>(
    presented: PresentedCode,
    give: (em: SqlEntityManager, grant: Grant, codeHash: string) => Promise<T>,
  ): Promise<T> {
    const { db, clock, players } = this.#context
    const codeHash = hashOf(presented.code)
    const code = await db.em().findOne(AuthorizationCode, { codeHash })
    // Another client's code is none, so that it can't be used up by whoever caught sight of it.
    if (!code || code.clientId !== presented.clientId) throw new InvalidGrant('The code is not valid.')
    if (code.redeemedAt) return this.#refuseReplay(codeHash)
    const now = clock.now()
    if (code.expiresAt <= now) throw new InvalidGrant('The code has expired.')
    if (code.redirectUri !== presented.redirectUri) {
      throw new InvalidGrant('The redirect_uri is not the one of the authorization request.')
    }
    if (!verifierMatches(presented.codeVerifier, code.codeChallenge ?? null)) {
      throw new InvalidGrant('The code_verifier does not match the code_challenge.')
    }
    const player = await players.find(code.playerId)
    if (!player || player.disabled) throw new InvalidGrant('The code is not valid.')

    const { disabled: _, epoch: __, ...profile } = player
    const grant = { player: profile, scope: code.scope.split(' ') }
    const given = await db.transaction(async (em) => {
      const mine = await markOnce(em, AuthorizationCode, { codeHash, redeemedAt: null }, { redeemedAt: now })
      return mine ? { value: await give(em, grant, codeHash) } : null
    })
    return given ? given.value : this.#refuseReplay(codeHash)
  }

  /** Somebody else may hold what the code gave: it ends (RFC 6749 section 4.1.2). */
  async #refuseReplay(codeHash: string): Promise<never> {
    await this.#context.db.em().nativeDelete(AccessToken, { codeHash })
    throw new InvalidGrant('The code has been used before; what it gave is revoked.')
  }

  /** Forgets codes that can neither be redeemed nor have given a token that still counts. */
  async sweep(): Promise<void> {
    const longAgo = new Date(this.#context.clock.now().getTime() - ACCESS_TOKEN_SECONDS * 1000)
    await this.#context.db.em().nativeDelete(AuthorizationCode, { expiresAt: { $lt: longAgo } })
  }
}
