import { pathProblem } from '../../../core/data/file-path.ts'

/** First path segments that the platform reserves on every game's origin. */
const RESERVED = ['auth/service', 'mp', '__service']

/**
 * Describes what is wrong with the path of a file in a deploy, or returns null when it is valid.
 * Beyond the rules for every path, it refuses secrets and version histories, which nobody publishes on purpose.
 */
export function problemOf(path: string): string | null {
  const fault = pathProblem(path)
  if (fault) return fault
  const compared = `${path.toLowerCase()}/`
  if (RESERVED.some((prefix) => compared.startsWith(`${prefix}/`))) return 'is reserved for the platform'
  for (const segment of path.split('/')) {
    const name = segment.toLowerCase()
    if (name === '.git') return 'belongs to a Git repository, which is not to be published'
    if (name.startsWith('.env')) return 'is an environment file, which holds secrets'
  }
  return null
}
