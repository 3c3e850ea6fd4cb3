import { createHash } from 'node:crypto'
import { createLocalJWKSet, errors, type JWK, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../../../core/clock.ts'
import type { Player } from '../players/schemas.ts'
import { SIGNING_ALGORITHMS, type SigningAlgorithm, type SigningKeys } from './signing-keys.ts'
import { userInfoOf } from './user.ts'

const ID_TOKEN_SECONDS = 3600

interface IdTokenSubject {
  clientId: string
  algorithm: SigningAlgorithm
  player: Player
  scope: string[]
  nonce: string | null
  authTime: Date
  /** The access token that is issued with it. */
  accessToken: string
}

/** Id tokens (OpenID Connect Core section 2), which tell one client who signed in. */
export class IdTokens {
  readonly #keys: Record<SigningAlgorithm, SigningKeys>
  readonly #clock: Clock
  readonly #issuer: string

  constructor({
    keys,
    clock,
    issuer,
  }: {
    keys: Record<SigningAlgorithm, SigningKeys>
    clock: Clock
    issuer: string
  }) {
    this.#keys = keys
    this.#clock = clock
    this.#issuer = issuer
  }

  async issue({ clientId, algorithm, player, scope, nonce, authTime, accessToken }: IdTokenSubject): Promise<string> {
    const { kid, privateKey } = await this.#keys[algorithm].current()
    const now = Math.floor(this.#clock.now().getTime() / 1000)
    return new SignJWT({
      ...userInfoOf(player, new Set(scope)),
      ...(nonce === null ? {} : { nonce }),
      auth_time: Math.floor(authTime.getTime() / 1000),
      at_hash: createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url'),
    })
      .setProtectedHeader({ alg: algorithm, kid, typ: 'JWT' })
      .setIssuer(this.#issuer)
      .setSubject(player.id)
      .setAudience(clientId)
      .setIssuedAt(now)
      .setExpirationTime(now + ID_TOKEN_SECONDS)
      .sign(privateKey)
  }

  /** Returns the keys with which clients verify id tokens, as JWKs. */
  async published(): Promise<JWK[]> {
    const all = await Promise.all(SIGNING_ALGORITHMS.map((algorithm) => this.#keys[algorithm].published()))
    return all.flat().map(({ publicJwk }) => publicJwk)
  }

  /**
   * Reads an id token that is passed as a hint (RP-Initiated Logout section 2): one that this platform issued for one
   * client, expired or not. Null for any other token.
   */
  async readHint(token: string): Promise<{ playerId: string; clientId: string } | null> {
    const keys = await this.published()
    try {
      const { payload } = await jwtVerify(token, createLocalJWKSet({ keys }), {
        issuer: this.#issuer,
        algorithms: [...SIGNING_ALGORITHMS],
        currentDate: new Date(0), // accepts expired tokens
      })
      return subjectOf(payload)
    } catch (error) {
      if (error instanceof errors.JOSEError) return null
      throw error
    }
  }
}

const subjectOf = ({ sub, aud }: JWTPayload) =>
  typeof sub === 'string' && typeof aud === 'string' ? { playerId: sub, clientId: aud } : null
