import { EncryptJWT, type JWTPayload, jwtDecrypt } from 'jose'

/** The accepted clock difference between the servers of one game. */
const SKEW_SECONDS = 60

/**
 * Tokens that the browser stores for the game. They are encrypted and authenticated (JWE, `dir` with A256GCM), and
 * bound to one use, one OAuth application and one host.
 */
export class SealedTokens {
  readonly #secret: string
  readonly #use: string
  readonly #clientId: string
  readonly #host: string
  #key: Promise<Uint8Array> | undefined

  /** @param use the purpose of the tokens; a token is invalid for any other use */
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

  /** Returns the claims of a valid token that has not expired; null for anything else. */
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

  /** Derives a separate key for each use and application from the session secret (HKDF, RFC 5869). */
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
