import { domainToASCII } from 'node:url'
import { InvalidRequest, isPlatformError, type PlatformError } from '../../../core/errors.ts'
import type { Role } from '../../../core/http/auth.ts'
import { visibleLength, visibleText } from '../../../core/visible-text.ts'

/** Returns the role of a player. `moderator` is ignored if `isAdmin` is set. */
export const roleOf = ({ isAdmin, moderator = false }: { isAdmin: boolean; moderator?: boolean }): Role =>
  isAdmin ? 'admin' : moderator ? 'moderator' : 'player'

/**
 * Normalises an email address, so that an account is found again and an address can't be taken twice.
 *
 * @throws InvalidRequest when it can't be an address
 */
export function normaliseEmail(email: string): string {
  const text = email.normalize('NFC').trim().toLowerCase()
  const at = text.lastIndexOf('@')
  const host = at > 0 ? domainToASCII(text.slice(at + 1)) : ''
  const address = `${text.slice(0, at)}@${host}`
  if (address.length > 254 || !EMAIL.test(address)) throw fieldError('email', 'Enter a whole email address.')
  return address
}

/** Returns an empty string for an address that no account can have, so that both are looked up the same way. */
export function addressOrNothing(email: string): string {
  try {
    return normaliseEmail(email)
  } catch {
    return ''
  }
}

const EMAIL =
  /^[^\s@"(),:;<>[\]\\\p{C}]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/u

/** The longest name in characters as people see them, and in UTF-16 units: a letter may have many accents. */
const LONGEST_NAME = { characters: 60, units: 240 }

/**
 * Normalises a name for display: what people see of it, without control characters and those that change the direction
 * of the text around it.
 *
 * @throws InvalidRequest when nothing of it is visible, or it is over 60 characters
 */
export function normaliseName(name: string): string {
  if (/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(name.replace(/\s/g, ' '))) {
    throw fieldError('name', "The name has characters that can't be shown.")
  }
  const text = visibleText(name)
  const { characters, units } = LONGEST_NAME
  if (text === '' || text.length > units || visibleLength(text) > characters) {
    throw fieldError('name', `Enter a name of at most ${characters} characters.`)
  }
  return text
}

/** Creates the error for a refused field. The message states the remedy, and the detail names the field. */
export const fieldError = (path: string, message: string) =>
  new InvalidRequest(message).with({ details: [{ path, message }] })

/**
 * Reads the fields of a form one after another, so that all errors are reported together.
 *
 * @param reads each may use the fields that the ones before it have read
 * @throws InvalidRequest with a detail for each field that is refused
 */
export function readFields<Fields extends object>(
  reads: {
    [Name in keyof Fields]: (read: Partial<Fields>) => Fields[Name]
  },
): Fields {
  const fields: Partial<Fields> = {}
  const refusals: PlatformError[] = []
  for (const name of Object.keys(reads) as (keyof Fields)[]) {
    try {
      fields[name] = reads[name](fields)
    } catch (error) {
      if (!isPlatformError(error) || !error.details) throw error
      refusals.push(error)
    }
  }
  const [refusal] = refusals
  if (!refusal) return fields as Fields
  if (refusals.length === 1) throw refusal
  const details = refusals.flatMap((one) => one.details ?? [])
  throw new InvalidRequest(refusals.map(({ message }) => message).join(' ')).with({ details })
}

/** The path of a player's picture. It never changes; the query parameter `v` distinguishes versions of the picture. */
export const avatarPath = (playerId: string, avatar: string | null): string =>
  avatar ? `/avatars/${playerId}?v=${avatar.slice(0, 12)}` : `/avatars/${playerId}`
