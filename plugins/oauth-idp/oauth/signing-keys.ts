import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import type { KeyRings } from '../../../core/data/key-rings.ts'

const DAY_MS = 86_400_000
/** The time for which one key signs. */
const PERIOD_MS = 30 * DAY_MS
/** The time for which an earlier key stays published. Its last id tokens live for one hour. */
const LEFTOVER_MS = DAY_MS
/** The step of an immediate rotation. The next key exists already, so it may have been stolen with the current one. */
const BEYOND_NEXT = 2

/** The algorithms of id tokens. OpenID Connect Discovery requires RS256, and some libraries know nothing else. */
export const SIGNING_ALGORITHMS = ['RS256', 'ES256'] as const
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

/** The table of each algorithm's keys. */
const TABLES: Record<SigningAlgorithm, string> = { RS256: 'oauth_rsa_signing_keys', ES256: 'oauth_signing_keys' }

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
 * The keys of one algorithm that sign id tokens, shared by all nodes through the database. Each key signs for thirty days. The next key
 * is published from the start, so that a client which caches the key set for days has it before its first use; the
 * previous key stays for a day. A rotation (`KeyRings`) makes the next key sign at once; an immediate rotation uses a
 * new key, and publishes none of the earlier ones. Private keys are encrypted (AES-256-GCM) under a key that the
 * database does not hold.
 */
export class SigningKeys {
  readonly algorithm: SigningAlgorithm
  readonly #table: string
  readonly #db: Database
  readonly #clock: Clock
  readonly #wrappingKey: Buffer
  readonly #keyRings: Pick<KeyRings, 'rotations'>
  readonly #known = new Map<number, Promise<SigningKeyPair>>()

  /** @param context `wrappingKey`: 32 bytes */
  constructor(
    algorithm: SigningAlgorithm,
    {
      db,
      clock,
      wrappingKey,
      keyRings,
    }: {
      db: Database
      clock: Clock
      wrappingKey: Buffer
      keyRings: Pick<KeyRings, 'rotations'>
    },
  ) {
    this.algorithm = algorithm
    this.#table = TABLES[algorithm]
    this.#db = db
    this.#clock = clock
    this.#wrappingKey = wrappingKey
    this.#keyRings = keyRings
  }

  /** Returns the key that signs now. */
  async current(): Promise<SigningKeyPair> {
    return this.#key((await this.#periods()).current)
  }

  /** Returns the keys for verification: the current, the next, and for one day the previous keys. */
  async published(): Promise<SigningKeyPair[]> {
    const { oldest, current } = await this.#periods()
    const keys = [await this.#key(current), await this.#key(current + 1)]
    for (let period = current - 1; period >= oldest; period--) {
      const key = await this.#read(period)
      if (key) keys.push(key)
    }
    return keys
  }

  /** Deletes keys that have expired. */
  async sweep(): Promise<void> {
    const { oldest } = await this.#periods()
    await this.#db.execute(`delete from ${this.#table} where period < ?`, [oldest])
    for (const known of this.#known.keys()) if (known < oldest) this.#known.delete(known)
  }

  /** Returns the numbers of the current key and the oldest valid key. Each rotation increases the numbers. */
  async #periods(): Promise<{ oldest: number; current: number }> {
    const rotations = await this.#keyRings.rotations('signing')
    const at = (time: number) =>
      rotations
        .filter(({ rotatedAt }) => rotatedAt.getTime() <= time)
        .reduce((period, { immediate }) => period + (immediate ? BEYOND_NEXT : 1), Math.floor(time / PERIOD_MS))
    const now = this.#clock.now().getTime()
    const ended = rotations.findLast(({ immediate, rotatedAt }) => immediate && rotatedAt.getTime() <= now)
    return { oldest: Math.max(at(now - LEFTOVER_MS), ended ? at(ended.rotatedAt.getTime()) : 0), current: at(now) }
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
    const { privateKey } = await generateKeyPair(this.algorithm, { extractable: true })
    const privateJwk = await exportJWK(privateKey)
    const { kty, crv, x, y, n, e } = privateJwk
    const publicJwk = kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y }
    const use = { use: 'sig', alg: this.algorithm, kid: await calculateJwkThumbprint(publicJwk as JWK) }
    const sealed = seal(JSON.stringify(privateJwk), this.#wrappingKey, this.#rowOf(period))
    // When nodes start concurrently, one key wins.
    await this.#db.execute(
      `insert into ${this.#table} (period, sealed, public_jwk) values (?, ?, ?) on conflict (period) do nothing`,
      [period, sealed, { ...publicJwk, ...use }],
    )
    const made = await this.#read(period)
    if (!made) throw new Error('The signing key that was just written is not there.')
    return made
  }

  async #read(period: number): Promise<SigningKeyPair | null> {
    const [row] = await this.#db.query<Row>(`select period, sealed, public_jwk from ${this.#table} where period = ?`, [
      period,
    ])
    if (!row) return null
    const publicJwk = JSON.parse(row.public_jwk) as JWK
    const privateJwk = JSON.parse(unseal(row.sealed, this.#wrappingKey, this.#rowOf(period)))
    const privateKey = (await importJWK(privateJwk, this.algorithm)) as CryptoKey
    return { kid: publicJwk.kid as string, privateKey, publicJwk }
  }

  /** The name of a row, to which its key is bound. */
  #rowOf(period: number): string {
    return this.algorithm === 'ES256' ? String(period) : `${this.algorithm}/${period}`
  }
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encrypts a key: nonce, ciphertext and tag in base64url. The result is bound to its row, so rows can't be swapped. */
function seal(text: string, key: Buffer, row: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(row))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url')
}

function unseal(sealed: string, key: Buffer, row: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(row))
    .setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch (error) {
    throw new Error(
      'A key that signs id tokens was encrypted under another secret; give the platform that secret back, or empty the tables oauth_signing_keys and oauth_rsa_signing_keys.',
      { cause: error },
    )
  }
}
