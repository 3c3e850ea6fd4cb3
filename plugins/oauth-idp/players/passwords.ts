import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { isCommon } from './common-passwords.ts'

/** Argon2id as OWASP recommends it: 19 MiB, two passes, one lane; 45 ms on the thread pool. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const
const LONGEST = 256

const derive = promisify(argon2)

/** Passwords are compared in one normal form (NFC), whatever keyboard they were typed on. */
const messageOf = (password: string) => Buffer.from(password.normalize('NFC'))

/** Hashes a password into a PHC string, which carries its parameters and salt. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16)
  const tag = await derive('argon2id', { ...PARAMETERS, message: messageOf(password), nonce })
  const { memory, passes, parallelism } = PARAMETERS
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(nonce)}$${base64(tag)}`
}

/** Whether a password is the hashed one. Takes the same time when `hash` is null: there is no such account. */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const [, memory, passes, parallelism, salt, tag] = PHC.exec(hash ?? NOBODY) ?? []
  if (!salt || !tag) throw new Error('A stored password hash is not one of ours.')
  const expected = Buffer.from(tag, 'base64')
  const actual = await derive('argon2id', {
    message: messageOf(password.slice(0, LONGEST * 2)),
    nonce: Buffer.from(salt, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  })
  return timingSafeEqual(actual, expected) && hash !== null
}

const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
const NOBODY = `$argon2id$v=19$m=${PARAMETERS.memory},t=${PARAMETERS.passes},p=${PARAMETERS.parallelism}$${base64(randomBytes(16))}$${base64(randomBytes(32))}`

/**
 * What is wrong with a new password, as a sentence, or null. Length and not being one that everybody tries first is all
 * that is asked; rules about digits and signs only make people choose worse ones (NIST SP 800-63B).
 *
 * @param known what others know of the player: neither may be the password
 */
export function passwordTrouble(
  password: string,
  { minLength, known }: { minLength: number; known: string[] },
): string | null {
  const length = [...password.normalize('NFC')].length
  if (length < minLength) return `Use at least ${minLength} characters; a few words in a row are fine.`
  if (length > LONGEST) return `Use at most ${LONGEST} characters.`
  const lower = password.normalize('NFC').toLowerCase()
  if (known.some((value) => value.toLowerCase() === lower)) return 'Use something else than your name or email address.'
  if (isCommon(lower)) return 'This is one of the passwords that are tried first; choose another one.'
  return null
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
