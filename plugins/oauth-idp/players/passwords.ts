import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { isCommon } from './common-passwords.ts'
import { FairQueue } from './fair-queue.ts'
import { fieldError } from './profile.ts'

/** The cost of one hash: memory in KiB, and the number of passes over it. */
export interface HashingCost {
  memory: number
  passes: number
}

/** The minimum of OWASP's table: five passes over 7 MiB, or equal work with more memory. */
const LEAST_WORK = 7168 * 5
const PARALLELISM = 1
const TAG_LENGTH = 32
const LONGEST = 256

const derive = promisify(argon2)

/**
 * Hashes run in the thread pool of libuv, which has four threads, and files need it too. So two hashes run at once. A
 * hash takes 45 ms, and a full queue six seconds.
 */
export const newHashingQueue = (): FairQueue => new FairQueue({ atOnce: 2, perCaller: 64, waiting: 256 })

/** Passwords are normalised (NFC), because keyboards enter the same text in different forms. */
const messageOf = (password: string) => Buffer.from(password.normalize('NFC'))

/** Hashes passwords by Argon2id (RFC 9106) into PHC strings, which contain their parameters and salt. */
export class PasswordHasher {
  readonly #cost: HashingCost
  readonly #queue: FairQueue
  /**
   * The hash to compare with when there is no account. It has the cost of real hashes, so the response takes as long.
   */
  readonly #nobody: string

  constructor({ memory, passes }: HashingCost, queue = newHashingQueue()) {
    this.#cost = { memory, passes }
    this.#queue = queue
    this.#nobody = this.#phc(randomBytes(16), randomBytes(TAG_LENGTH))
  }

  /** Whether a brute-force attack on stolen hashes is cheaper than OWASP recommends. */
  get isWeak(): boolean {
    return this.#cost.memory * this.#cost.passes < LEAST_WORK
  }

  /**
   * @param caller the player or address that waits in turn
   * @throws RateLimited when too many hashes wait
   */
  async hash(password: string, caller: string): Promise<string> {
    const nonce = randomBytes(16)
    const parameters = { ...this.#cost, parallelism: PARALLELISM, tagLength: TAG_LENGTH }
    const message = messageOf(password)
    return this.#phc(nonce, await this.#queue.run(caller, () => derive('argon2id', { ...parameters, message, nonce })))
  }

  /**
   * Whether a password matches its hash. It takes the same time when `hash` is null because there is no such account.
   *
   * @param caller the player or address that waits in turn
   * @throws RateLimited when too many hashes wait
   */
  async verify(password: string, hash: string | null, caller: string): Promise<boolean> {
    const { memory, passes, parallelism, salt, tag } = parametersOf(hash ?? this.#nobody)
    // Composed first: the parts of its letters may be many more than the password has characters.
    const message = messageOf([...password.normalize('NFC')].slice(0, LONGEST + 1).join(''))
    const parameters = { memory, passes, parallelism, tagLength: tag.length }
    const actual = await this.#queue.run(caller, () => derive('argon2id', { ...parameters, message, nonce: salt }))
    return timingSafeEqual(actual, tag) && hash !== null
  }

  /** Whether a hash has another cost than new hashes. */
  isOutdated(hash: string): boolean {
    const { memory, passes } = parametersOf(hash)
    return memory !== this.#cost.memory || passes !== this.#cost.passes
  }

  #phc(nonce: Buffer, tag: Buffer): string {
    const { memory, passes } = this.#cost
    return `$argon2id$v=19$m=${memory},t=${passes},p=${PARALLELISM}$${base64(nonce)}$${base64(tag)}`
  }
}

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

function parametersOf(hash: string) {
  const [, memory, passes, parallelism, salt, tag] = PHC.exec(hash) ?? []
  if (!salt || !tag) throw new Error('A stored password hash is not one of ours.')
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

/**
 * Checks a new password. It must be long enough, and not one of the common ones. There are no rules about digits and
 * signs: those make people choose worse passwords (NIST SP 800-63B).
 *
 * @param known name and email address of the player, which may not be the password
 * @returns what is wrong, as a sentence, or null
 */
export function passwordProblem(
  password: string,
  { minLength, known }: { minLength: number; known: string[] },
): string | null {
  const length = [...password.normalize('NFC')].length
  if (length < minLength) return `Use at least ${minLength} characters; a few words in a row are fine.`
  if (length > LONGEST) return `Use at most ${LONGEST} characters.`
  const lower = password.normalize('NFC').toLowerCase()
  if (known.some((value) => value.toLowerCase() === lower)) return 'Do not use your name or email address.'
  if (isCommon(lower)) return 'This is a common password; choose another one.'
  return null
}

/** Returns a new password that meets the rules. @throws InvalidRequest with a detail for the field `password` */
export function acceptedPassword(
  password: string,
  { minLength, player }: { minLength: number; player: { email: string | null; name: string } },
): string {
  const { email, name } = player
  const known = [...(email ? [email, email.slice(0, email.lastIndexOf('@'))] : []), name]
  const problem = passwordProblem(password, { minLength, known })
  if (problem) throw fieldError('password', problem)
  return password
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
