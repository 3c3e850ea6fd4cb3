import { createHmac, pbkdf2, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { Clock } from '../../../core/clock.ts'
import { spendOnce } from '../../../core/data/consume-once.ts'
import type { Database } from '../../../core/data/database.ts'
import { newId } from '../../../core/ids.ts'
import { ChallengeInvalid, ChallengeRequired } from '../errors.ts'
import { hashSecret } from '../secret-hash.ts'
import { OneTimeToken } from './entities.ts'
import type { FairQueue } from './fair-queue.ts'
import type { Challenge } from './schemas.ts'

const derive = promisify(pbkdf2)

/** Iterations of PBKDF2 for one attempt. With fewer, browsers take longer for the calls than for the work. */
export const ITERATIONS = 10_000
/** The number of possible answers. A browser finds the right one after half of them, on average. */
export const ANSWERS = 200
const TARGET_BYTES = 32
const LIFE_MS = 10 * 60_000

interface ChallengeContext {
  db: Database
  clock: Clock
  /** The queue of password hashes, since attempts use the same threads. */
  hashing: FairQueue
  /** Signs challenges. */
  key: Buffer
  signUpChallenge: 'none' | 'work'
}

/** The signed part of a challenge. */
interface Claims {
  salt: string
  target: string
  iterations: number
  answers: number
  /** Milliseconds since 1970. */
  expiresAt: number
}

/**
 * The proof of work of a new account (`auth.signUpChallenge`). A challenge is a PBKDF2 hash of a small secret number;
 * the browser finds the number by attempts, through Web Crypto, whose speed is that of native code. The number of
 * attempts has a maximum, so that a slow phone waits for seconds at most.
 *
 * The server stores nothing for a challenge that it gives, only those that were used: their rows have the hash of the
 * salt as a unique key, until they would have expired.
 */
export class SignUpChallenge {
  readonly #context: ChallengeContext

  constructor(context: ChallengeContext) {
    this.#context = context
  }

  /** Whether a new account needs a proof of work. */
  get isRequired(): boolean {
    return this.#context.signUpChallenge === 'work'
  }

  /** The scripts of a page whose form makes a new account or guest. The form has `ProofOfWork` in it. */
  get scripts(): string[] {
    return this.isRequired ? ['sign-up-work.js'] : []
  }

  /**
   * Creates a challenge. It takes the server one attempt.
   *
   * @param address of the caller, who waits in turn
   * @throws RateLimited
   */
  async issue(address: string): Promise<Challenge> {
    const salt = randomBytes(16)
    const answer = randomInt(ANSWERS)
    const target = await this.#context.hashing.run(address, () => attempt(answer, salt, ITERATIONS))
    const expiresAt = this.#context.clock.now().getTime() + LIFE_MS
    const claims: Claims = {
      salt: salt.toString('base64url'),
      target: target.toString('base64url'),
      iterations: ITERATIONS,
      answers: ANSWERS,
      expiresAt,
    }
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
    return {
      algorithm: 'PBKDF2-SHA-256',
      ...claims,
      expiresAt: new Date(expiresAt).toISOString(),
      token: `${payload}.${this.#sign(payload).toString('base64url')}`,
    }
  }

  /**
   * Accepts a proof of work, once. Without `auth.signUpChallenge` it accepts everything.
   *
   * @param work the token of a challenge, a dot, and the answer
   * @param address of the caller, who waits in turn
   * @throws ChallengeRequired without a proof; RateLimited; ChallengeInvalid when it is forged, wrong, expired or used
   */
  async accept(work: string | undefined, address: string): Promise<void> {
    if (!this.isRequired) return
    if (!work) throw new ChallengeRequired()
    const [payload = '', signature = '', answer = '', ...rest] = work.split('.')
    const given = Buffer.from(signature, 'base64url')
    const right = this.#sign(payload)
    const isSigned = given.length === right.length && timingSafeEqual(given, right)
    if (!isSigned || rest.length > 0 || !/^(0|[1-9]\d{0,8})$/.test(answer)) throw new ChallengeInvalid()
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims
    const now = this.#context.clock.now()
    // A change of the difficulty invalidates the challenges from before it, also after a restart.
    const isCurrent = claims.iterations === ITERATIONS && claims.answers === ANSWERS && claims.expiresAt > now.getTime()
    if (!isCurrent || Number(answer) >= claims.answers) throw new ChallengeInvalid()
    // A wrong answer uses the challenge up. Otherwise the server would compute the attempts of a visitor who guesses.
    const isFirst = await spendOnce(this.#context.db.em(), OneTimeToken, {
      id: newId('ott', now),
      tokenHash: hashSecret(claims.salt),
      purpose: 'sign-up-work',
      playerId: null,
      email: null,
      data: null,
      createdAt: now,
      expiresAt: new Date(claims.expiresAt),
    })
    if (!isFirst) throw new ChallengeInvalid()
    const salt = Buffer.from(claims.salt, 'base64url')
    const found = await this.#context.hashing.run(address, () => attempt(Number(answer), salt, claims.iterations))
    if (!timingSafeEqual(found, Buffer.from(claims.target, 'base64url'))) throw new ChallengeInvalid()
  }

  #sign(payload: string): Buffer {
    return createHmac('sha256', this.#context.key).update(payload).digest()
  }
}

/** Computes one attempt in the thread pool. */
const attempt = (answer: number, salt: Buffer, iterations: number): Promise<Buffer> =>
  derive(String(answer), salt, iterations, TARGET_BYTES, 'sha256')
