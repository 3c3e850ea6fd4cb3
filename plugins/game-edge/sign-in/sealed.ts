import { EncryptJWT, type JWTPayload, jwtDecrypt } from 'jose'

/**
 * Tokens that the browser keeps for us: encrypted and authenticated (JWE, `dir` with A256GCM), bound to one use and
 * one exact host, so that a sibling game's token is worth nothing here.
 */
export class SealedTokens {
  readonly #key: Uint8Array
  readonly #use: string

  /** @param key 32 bytes; @param use names what these tokens are for */
  constructor(key: Uint8Array, use: string) {
    this.#key = key
    this.#use = use
  }

  seal(claims: JWTPayload, host: string, expiresAt: Date): Promise<string> {
    return new EncryptJWT(claims)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setIssuer(this.#use)
      .setAudience(host)
      .setExpirationTime(Math.floor(expiresAt.getTime() / 1000))
      .encrypt(this.#key)
  }

  /** The claims of a token of ours for this host that has not expired; null for anything else. */
  async open<Claims extends object>(token: string, host: string, now: Date): Promise<(Claims & JWTPayload) | null> {
    try {
      const { payload } = await jwtDecrypt<Claims>(token, this.#key, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        issuer: this.#use,
        audience: host,
        currentDate: now,
        requiredClaims: ['exp'],
      })
      return payload
    } catch {
      return null
    }
  }
}
