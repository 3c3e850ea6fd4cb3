import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/database.ts'

const DAY_MS = 86_400_000
/** How long one key signs. */
const PERIOD_MS = 30 * DAY_MS
/** How long an earlier one stays published: its last id tokens live an hour. */
const LEFTOVER_MS = DAY_MS

export const SIGNING_ALGORITHM = 'ES256'

export interface SigningKeyPair {
  kid: string
  privateKey: CryptoKey
  publicJwk: JWK
}

interface Row {
  period: number
  sealed: string
  public_jwk: string
}

/**
 * The keys that sign id tokens, shared by all nodes through the database. Each signs for thirty days. The next one is
 * published from the start, so that a client which keeps the set for days knows it before it is used; the last one stays
 * for a day. Private keys are encrypted (AES-256-GCM) under a key that the database does not hold.
 */
export class SigningKeys {
  readonly #db: Database
  readonly #clock: Clock
  readonly #wrappingKey: Buffer
  readonly #known = new Map<number, Promise<SigningKeyPair>>()

  /** @param context `wrappingKey`: 32 bytes */
  constructor({ db, clock, wrappingKey }: { db: Database; clock: Clock; wrappingKey: Buffer }) {
    this.#db = db
    this.#clock = clock
    this.#wrappingKey = wrappingKey
  }

  /** The key that signs now. */
  current(): Promise<SigningKeyPair> {
    return this.#key(this.#period())
  }

  /** What clients verify with: the key of now, the next one, and for a day the last one. */
  async published(): Promise<SigningKeyPair[]> {
    const period = this.#period()
    const keys = [await this.#key(period), await this.#key(period + 1)]
    if (this.#clock.now().getTime() - period * PERIOD_MS > LEFTOVER_MS) return keys
    const last = await this.#read(period - 1)
    return last ? [...keys, last] : keys
  }

  /** Forgets keys whose time is long over. */
  async sweep(): Promise<void> {
    const period = this.#period()
    await this.#db.execute('delete from oauth_signing_keys where period < ?', [period - 1])
    for (const known of this.#known.keys()) if (known < period - 1) this.#known.delete(known)
  }

  #period(): number {
    return Math.floor(this.#clock.now().getTime() / PERIOD_MS)
  }

  #key(period: number): Promise<SigningKeyPair> {
    const known = this.#known.get(period) ?? this.#readOrMake(period)
    this.#known.set(period, known)
    known.catch(() => this.#known.delete(period))
    return known
  }

  async #readOrMake(period: number): Promise<SigningKeyPair> {
    const existing = await this.#read(period)
    if (existing) return existing
    const { privateKey } = await generateKeyPair(SIGNING_ALGORITHM, { extractable: true })
    const { d, ...rest } = await exportJWK(privateKey)
    const use = { use: 'sig', alg: SIGNING_ALGORITHM, kid: await calculateJwkThumbprint(rest) }
    const sealed = seal(JSON.stringify({ ...rest, d }), this.#wrappingKey, period)
    // Of nodes that start at once one key wins.
    await this.#db.execute(
      'insert into oauth_signing_keys (period, sealed, public_jwk) values (?, ?, ?) on conflict (period) do nothing',
      [period, sealed, { ...rest, ...use }],
    )
    const made = await this.#read(period)
    if (!made) throw new Error('The signing key that was just written is not there.')
    return made
  }

  async #read(period: number): Promise<SigningKeyPair | null> {
    const [row] = await this.#db.query<Row>(
      'select period, sealed, public_jwk from oauth_signing_keys where period = ?',
      [period],
    )
    if (!row) return null
    const publicJwk = JSON.parse(row.public_jwk) as JWK
    const privateJwk = JSON.parse(unseal(row.sealed, this.#wrappingKey, period))
    const privateKey = (await importJWK(privateJwk, SIGNING_ALGORITHM)) as CryptoKey
    return { kid: publicJwk.kid as string, privateKey, publicJwk }
  }
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Nonce, ciphertext and tag in base64url; bound to its row, so that rows can't be swapped. */
function seal(text: string, key: Buffer, period: number): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(String(period)))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url')
}

function unseal(sealed: string, key: Buffer, period: number): string {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(String(period)))
    .setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch (error) {
    throw new Error(
      'A key that signs id tokens was encrypted under another secret; give the platform that secret back, or empty the table oauth_signing_keys.',
      { cause: error },
    )
  }
}
