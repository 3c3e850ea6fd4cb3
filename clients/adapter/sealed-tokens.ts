import { EncryptJWT, type JWTPayload, jwtDecrypt } from 'jose'

/** Servers of one game may have clocks that differ by this much. */
const SKEW_SECONDS = 60

/**
 * Tokens that the browser stores for the game: encrypted and authenticated (JWE, `dir` with A256GCM), bound to one use,
 * one OAuth application and one host.
 */
export class SealedTokens {
  readonly #secret: string
  readonly #use: string
  readonly #clientId: string
  readonly #host: string
  #key: Promise<Uint8Array> | undefined

  /** @param use what these tokens are for: one use's are worth nothing for another */
  constructor(use: string, { secret, clientId, host }: { secret: string; clientId: string; host: string }) {
    this.#use = use
    this.#secret = secret
    this.#clientId = clientId
    this.#host = host
  }

  async seal(claims: JWTPayload, expiresAt: Date): Promise<string> {
    return new EncryptJWT(claims)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setIssuer(this.#use)
      .setAudience(this.#host)
      .setExpirationTime(Math.floor(expiresAt.getTime() / 1000))
      .encrypt(await this.#derived())
  }

  /** The claims of a token of ours that has not expired; null for anything else. */
  async open<Claims extends object>(token: string, now: Date): Promise<(Claims & JWTPayload) | null> {
    try {
      const { payload } = await jwtDecrypt<Claims>(token, await this.#derived(), {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        issuer: this.#use,
        audience: this.#host,
        currentDate: now,
        clockTolerance: SKEW_SECONDS,
        requiredClaims: ['exp'],
      })
      return payload
    } catch {
      return null
    }
  }

  /** A key of its own for each use and application (HKDF, RFC 5869), from the one session secret. */
  #derived(): Promise<Uint8Array> {
    this.#key ??= derive(this.#secret, `service-adapter/${this.#use}/${this.#clientId}`)
    return this.#key
  }
}

async function derive(secret: string, info: string): Promise<Uint8Array> {
  const text = new TextEncoder()
  const material = await crypto.subtle.importKey('raw', text.encode(secret), 'HKDF', false, ['deriveBits'])
  const how = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: text.encode(info) }
  return new Uint8Array(await crypto.subtle.deriveBits(how, material, 256))
}
