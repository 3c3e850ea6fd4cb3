import { createHmac } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../../core/clock.ts'
import { consumeOnce } from '../../../core/data/consume-once.ts'
import { type Database, deleteInBatches } from '../../../core/data/database.ts'
import type { Keys } from '../../../core/data/keys.ts'
import { newId, randomText } from '../../../core/ids.ts'
import { hashSecret } from '../secret-hash.ts'
import { codeOf, grouped, parseCode } from '../short-codes.ts'
import { OneTimeToken } from './entities.ts'

export type Purpose = 'reset' | 'sign-up' | 'verify' | 'new-email' | 'invite' | 'connect' | 'oauth-request'

/** With 52 bits nobody guesses one of a hundred invitations within their fourteen days. */
export const INVITATION_LETTERS = 12

export interface NewToken {
  /** A nonce of `newNonce`, if the token is derived again later. The default is a fresh one. */
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

  constructor({ db, clock, keys }: { db: Database; clock: Clock; keys: Keys }) {
    this.#db = db
    this.#clock = clock
    this.#key = keys.derive('oauth-idp/one-time-tokens')
  }

  newNonce(): string {
    return randomText(32)
  }

  /**
   * Derives the token of a nonce: 43 characters of `[A-Za-z0-9_-]`; of an invitation, which people may type, twelve letters
   * (`BCDF-GHJK-LMNP`).
   */
  tokenOf(purpose: Purpose, nonce: string): string {
    const derived = createHmac('sha256', this.#key).update(`${purpose}/${nonce}`).digest()
    return purpose === 'invite' ? grouped(codeOf(derived, INVITATION_LETTERS)) : derived.toString('base64url')
  }

  /**
   * Returns the hash under which a token is stored. A plain hash of a few letters can be reversed by brute force, so theirs
   * is keyed. Invitations of earlier versions have 43 characters.
   */
  hashOf(purpose: Purpose, token: string): string {
    const letters = purpose === 'invite' ? parseCode(token, INVITATION_LETTERS) : null
    return letters === null
      ? hashSecret(token)
      : createHmac('sha256', this.#key).update(`hash/${letters}`).digest('base64url')
  }

  /** Stores a token. Repeating it with the same nonce changes nothing, so that a job can be retried. */
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
        id: newId('ott', createdAt),
        tokenHash: this.hashOf(purpose, token),
        purpose,
        playerId,
        email,
        data,
        createdAt,
        expiresAt: new Date(createdAt.getTime() + lifeMs),
      },
      { onConflictFields: ['tokenHash'], onConflictAction: 'ignore' },
    )
    return token
  }

  /** Returns the data of a token without using it; null when it is used, expired, or has another purpose. */
  find(purpose: Purpose, token: string): Promise<OneTimeToken | null> {
    return this.#db.em().findOne(OneTimeToken, this.#valid(purpose, this.hashOf(purpose, token)))
  }

  /** Consumes a token. Of several concurrent callers, one gets true. */
  consume(em: SqlEntityManager, { purpose, tokenHash }: Pick<OneTimeToken, 'purpose' | 'tokenHash'>): Promise<boolean> {
    return consumeOnce(em, OneTimeToken, this.#valid(purpose, tokenHash))
  }

  /** Lists the valid tokens, the newest first. */
  list(purpose: Purpose): Promise<OneTimeToken[]> {
    const where = { purpose, expiresAt: { $gt: this.#clock.now() } }
    return this.#db.em().find(OneTimeToken, where, { orderBy: { id: 'desc' }, limit: 100 })
  }

  /** Revokes a token. @returns whether it existed */
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
