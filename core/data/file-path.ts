const LONGEST_BYTES = 512

/**
 * Describes what is wrong with the path of a file in a build or pack, or returns null when it is valid.
 *
 * Paths are names in a list and never paths on the server's disk. The rules keep them unambiguous in URLs and on the
 * disks of people who download the files.
 */
export function pathProblem(path: string): string | null {
  if (path === '') return 'is empty'
  if (Buffer.byteLength(path) > LONGEST_BYTES) return `is longer than ${LONGEST_BYTES} bytes`
  if (!path.isWellFormed()) return 'is not valid Unicode'
  if (path !== path.normalize('NFC')) return 'is not in Unicode normalization form C'
  // Cc are control characters. Cf includes invisible characters and those that change the writing direction.
  if (/\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069\u200b\ufeff]/u.test(path)) return 'has a control character'
  if (path.includes('\\')) return 'has a backslash; separate folders by /'
  if (/^[a-z]:/i.test(path)) return 'begins with a drive letter'
  if (path.startsWith('/')) return 'is absolute; paths are relative to the build'
  const segments = path.split('/')
  if (segments.includes('')) return 'has an empty segment'
  if (segments.some((segment) => segment === '.' || segment === '..')) return 'has a . or .. segment'
  return null
}

/** Formats a path for a response: control characters visible, and cut when it is too long. */
export const printablePath = (path: string): string => {
  const text = path.toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, escaped)
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
const escaped = (character: string) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
