import { decodeProtectedHeader, EncryptJWT, type JWTPayload, jwtDecrypt } from 'jose'
import type { KeyRing } from '../../../core/data/key-rings.ts'
import { isId } from '../../../core/ids.ts'

/**
 * Tokens that the browser stores for the platform: encrypted and authenticated (JWE, `dir` with A256GCM), bound to one
 * use and one exact host, so that a sibling game's token is invalid here. Each names the key that sealed it (`kid`),
 * except those of the first key.
 */
export class SealedTokens {
  readonly #keys: KeyRing
  readonly #use: string

  /** @param use the purpose of these tokens */
  constructor(keys: KeyRing, use: string) {
    this.#keys = keys
    this.#use = use
  }

  async seal(claims: JWTPayload, host: string, expiresAt: Date): Promise<string> {
    const { id, key } = await this.#keys.current()
    return new EncryptJWT(claims)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', ...(id === '' ? {} : { kid: id }) })
      .setIssuer(this.#use)
      .setAudience(host)
      .setExpirationTime(Math.floor(expiresAt.getTime() / 1000))
      .encrypt(key)
  }

  /**
   * Returns the claims of an unexpired token of this platform for this host, and the key that sealed it; null for any
   * other token.
   *
   * @throws DatabaseUnavailable when the keys can't be read
   */
  async open<Claims extends object>(
    token: string,
    host: string,
    now: Date,
  ): Promise<(Claims & JWTPayload & { keyId: string }) | null> {
    const keyId = keyIdOf(token)
    const key = await this.#keys.find(keyId)
    if (!key) return null
    try {
      const { payload } = await jwtDecrypt<Claims>(token, key, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        issuer: this.#use,
        audience: host,
        currentDate: now,
        requiredClaims: ['exp'],
      })
      return { ...payload, keyId }
    } catch {
      return null
    }
  }
}

/** Returns the key id of a token; empty for the first key and for an invalid token. */
function keyIdOf(token: string): string {
  try {
    const { kid } = decodeProtectedHeader(token)
    return typeof kid === 'string' && isId('rot', kid) ? kid : ''
  } catch {
    return ''
  }
}
