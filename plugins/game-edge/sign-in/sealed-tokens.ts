import { decodeProtectedHeader, EncryptJWT, type JWTPayload, jwtDecrypt } from 'jose'
import type { KeyRing } from '../../../core/data/key-rings.ts'
import { isId } from '../../../core/ids.ts'

/** The number of opened tokens that are kept, of about 2 KB each. */
const KEPT = 4096

/**
 * Tokens that the browser stores for the platform: encrypted and authenticated (JWE, `dir` with A256GCM), bound to one
 * use and one exact host, so that a sibling game's token is invalid here. Each names the key that sealed it (`kid`),
 * except those of the first key.
 */
export class SealedTokens {
  readonly #keys: KeyRing
  readonly #use: string
  /**
   * The contents of tokens that were opened lately, by token. Decryption takes longer than all else that a request of a
   * game's page needs. Whether the key holds and the token has expired is still decided each time.
   */
  readonly #opened = new Map<string, { host: string; keyId: string; key: Uint8Array; payload: JWTPayload }>()

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
    const opened = this.#opened.get(token)
    const known = opened?.host === host ? opened : undefined
    const keyId = known?.keyId ?? keyIdOf(token)
    const key = await this.#keys.find(keyId)
    if (!key) return null
    if (known?.key === key) {
      const isOver = (known.payload.exp as number) <= Math.floor(now.getTime() / 1000)
      return isOver ? null : ({ ...known.payload, keyId } as Claims & JWTPayload & { keyId: string })
    }
    try {
      const { payload } = await jwtDecrypt<Claims>(token, key, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        issuer: this.#use,
        audience: host,
        currentDate: now,
        requiredClaims: ['exp'],
      })
      if (this.#opened.size >= KEPT) this.#opened.clear()
      this.#opened.set(token, { host, keyId, key, payload })
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
