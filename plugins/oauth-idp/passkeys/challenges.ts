import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import { spendOnce } from '../../../core/data/consume-once.ts'
import type { Database } from '../../../core/data/database.ts'
import { newId } from '../../../core/ids.ts'
import { OneTimeToken } from '../players/entities.ts'
import { hashSecret } from '../secret-hash.ts'

/** The lifetime of a challenge in milliseconds. */
export const CHALLENGE_MS = 300_000
const NONCE_BYTES = 16
/** Milliseconds since 1970. */
const EXPIRY_BYTES = 6
const TAG_BYTES = 32

interface ChallengesContext {
  db: Database
  clock: Clock
  /** Authenticates the challenges. */
  key: Buffer
}

/**
 * The challenges of passkeys: a nonce, the time when it expires, and an HMAC of both and of the browser that may answer.
 * Each view of the sign-in page takes one, for the suggestions of the browser, so the server stores nothing for it. Only
 * those that were used have a row, until they would have expired.
 */
export class PasskeyChallenges {
  readonly #context: ChallengesContext

  constructor(context: ChallengesContext) {
    this.#context = context
  }

  /** @param holder who may answer: a browser, or the session of a player */
  issue(holder: string): Uint8Array<ArrayBuffer> {
    const claims = Buffer.alloc(NONCE_BYTES + EXPIRY_BYTES)
    randomBytes(NONCE_BYTES).copy(claims)
    claims.writeUIntBE(this.#context.clock.now().getTime() + CHALLENGE_MS, NONCE_BYTES, EXPIRY_BYTES)
    return new Uint8Array(Buffer.concat([claims, this.#tag(claims, holder)]))
  }

  /** Whether a challenge (base64url) is ours, for this holder, and has not expired. It may have been used. */
  isCurrent(challenge: string, holder: string): boolean {
    const bytes = Buffer.from(challenge, 'base64url')
    if (bytes.length !== NONCE_BYTES + EXPIRY_BYTES + TAG_BYTES) return false
    const claims = bytes.subarray(0, -TAG_BYTES)
    const isOurs = timingSafeEqual(bytes.subarray(-TAG_BYTES), this.#tag(claims, holder))
    return isOurs && expiryOf(bytes) > this.#context.clock.now().getTime()
  }

  /** Uses up a challenge that is current. Of several concurrent callers, one gets true. */
  spend(challenge: string): Promise<boolean> {
    const { db, clock } = this.#context
    const bytes = Buffer.from(challenge, 'base64url')
    const now = clock.now()
    return spendOnce(db.em(), OneTimeToken, {
      id: newId('ott', now),
      tokenHash: hashSecret(bytes.toString('base64url')),
      purpose: 'passkey',
      playerId: null,
      email: null,
      data: null,
      createdAt: now,
      expiresAt: new Date(expiryOf(bytes)),
    })
  }

  #tag(claims: Buffer, holder: string): Buffer {
    return createHmac('sha256', this.#context.key).update(claims).update(holder).digest()
  }
}

const expiryOf = (bytes: Buffer): number => bytes.readUIntBE(NONCE_BYTES, EXPIRY_BYTES)
