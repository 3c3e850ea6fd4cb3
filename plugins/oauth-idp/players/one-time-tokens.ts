import { createHmac } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { consumeOnce } from '../../../core/data/consume-once.ts'
import { type Database, deleteInBatches } from '../../../core/data/database.ts'
import { newId, randomText } from '../../../core/ids.ts'
import { hashSecret } from '../secret-hash.ts'
import { OneTimeToken } from './entities.ts'

export type Purpose = 'reset' | 'sign-up' | 'verify' | 'new-email' | 'invite' | 'passkey' | 'connect'

export interface NewToken {
  /** Of `newNonce`, where the token is needed again later; by default a fresh one. */
  nonce?: string
  playerId?: string | null
  email?: string | null
  data?: Record<string, unknown> | null
  lifeMs: number
}

/**
 * Short-lived, single-use tokens. A token is derived from a nonce and a key outside of the database, which holds only
 * the token's hash. A job that sends the link can therefore wait in the database with the nonce, and neither reveals
 * the token.
 */
export class OneTimeTokens {
  readonly #db: Database
  readonly #clock: Clock
  readonly #key: Buffer

  constructor({ db, clock, key }: { db: Database; clock: Clock; key: Buffer }) {
    this.#db = db
    this.#clock = clock
    this.#key = key
  }

  newNonce(): string {
    return randomText(32)
  }

  /** The token of a nonce: 43 characters of `[A-Za-z0-9_-]`. */
  tokenOf(purpose: Purpose, nonce: string): string {
    return createHmac('sha256', this.#key).update(`${purpose}/${nonce}`).digest('base64url')
  }

  /** Writes a token down. With a nonce that was issued before it changes nothing, so that a job can repeat it. */
  async issue(
    em: SqlEntityManager,
    purpose: Purpose,
    { nonce = this.newNonce(), ...fields }: NewToken,
  ): Promise<string> {
    const token = this.tokenOf(purpose, nonce)
    const { playerId = null, email = null, data = null, lifeMs } = fields
    const createdAt = this.#clock.now()
    await em.upsert(
      OneTimeToken,
      {
        ...{ id: newId('ott', createdAt), tokenHash: hashSecret(token), purpose, playerId, email, data, createdAt },
        expiresAt: new Date(createdAt.getTime() + lifeMs),
      },
      { onConflictFields: ['tokenHash'], onConflictAction: 'ignore' },
    )
    return token
  }

  /** The data of a token, or null when it is used, expired, or has another purpose. Does not use it. */
  find(purpose: Purpose, token: string): Promise<OneTimeToken | null> {
    return this.#db.em().findOne(OneTimeToken, this.#valid(purpose, hashSecret(token)))
  }

  /** Uses a token: of any number of callers at once one gets true. */
  consume(em: SqlEntityManager, { purpose, tokenHash }: Pick<OneTimeToken, 'purpose' | 'tokenHash'>): Promise<boolean> {
    return consumeOnce(em, OneTimeToken, this.#valid(purpose, tokenHash))
  }

  /** Those that are still good, the newest first. */
  list(purpose: Purpose): Promise<OneTimeToken[]> {
    const where = { purpose, expiresAt: { $gt: this.#clock.now() } }
    return this.#db.em().find(OneTimeToken, where, { orderBy: { id: 'desc' }, limit: 100 })
  }

  /** Takes one back. @returns whether it was there */
  async revoke(purpose: Purpose, id: string, em = this.#db.em()): Promise<boolean> {
    return (await em.nativeDelete(OneTimeToken, { id, purpose })) > 0
  }

  async sweep(signal?: AbortSignal): Promise<void> {
    const parameters = [this.#clock.now()]
    const over = { table: 'one_time_tokens', key: ['id'], where: 'expires_at <= ?', parameters }
    await deleteInBatches(this.#db, over, signal)
  }

  #valid(purpose: string, tokenHash: string) {
    return { tokenHash, purpose, expiresAt: { $gt: this.#clock.now() } }
  }
}
