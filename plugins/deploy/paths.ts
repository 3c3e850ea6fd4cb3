import { Buffer } from 'node:buffer'

const LONGEST_BYTES = 512

/** First segments that belong to the platform on every game's origin. */
const RESERVED = ['auth/service', 'mp', '__service']

/**
 * What is wrong with the path of a file in a deploy, or null when nothing is (contracts, section 6).
 *
 * Paths name entries of a manifest and never anything on a disk; the rules keep them unambiguous in URLs and on the
 * disks of those who download, and keep secrets and version histories from being published by mistake.
 */
export function problemOf(path: string): string | null {
  if (path === '') return 'is empty'
  if (Buffer.byteLength(path) > LONGEST_BYTES) return `is longer than ${LONGEST_BYTES} bytes`
  if (!path.isWellFormed()) return 'is not valid Unicode'
  if (path !== path.normalize('NFC')) return 'is not in Unicode normalization form C'
  // Cc are control characters; Cf hold invisible ones and those that turn the direction of writing.
  if (/\p{Cc}|[\u2028\u2029\u202a-\u202e\u2066-\u2069\u200b\ufeff]/u.test(path)) return 'has a control character'
  if (path.includes('\\')) return 'has a backslash; separate folders by /'
  if (/^[a-z]:/i.test(path)) return 'begins with a drive letter'
  if (path.startsWith('/')) return 'is absolute; paths are relative to the build'
  const segments = path.split('/')
  if (segments.includes('')) return 'has an empty segment'
  if (segments.some((segment) => segment === '.' || segment === '..')) return 'has a . or .. segment'
  const compared = `${path.toLowerCase()}/`
  if (RESERVED.some((prefix) => compared.startsWith(`${prefix}/`))) return 'is reserved for the platform'
  for (const segment of segments) {
    const name = segment.toLowerCase()
    if (name === '.git') return 'belongs to a Git repository, which is not to be published'
    if (name.startsWith('.env')) return 'is an environment file, which holds secrets'
  }
  return null
}
