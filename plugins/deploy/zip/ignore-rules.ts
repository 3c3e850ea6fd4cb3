import ignore from 'ignore'

/** The file at the root of a build that lists what is not to be published, as `.gitignore` does. */
export const IGNORE_FILE = '.gameyardignore'

/** Files that operating systems and tools leave in folders. */
const JUNK = /(?:^|\/)(?:__MACOSX\/|\._[^/]*$|\.DS_Store$|Thumbs\.db$|desktop\.ini$)/
const NEVER = /(?:^|\/)(?:\.git|node_modules)(?:\/|$)|(?:^|\/)\.env[^/]*(?:\/|$)/i

/**
 * Returns a filter for the paths of a folder that are not published (contracts, section 6): secrets, histories,
 * dependencies, junk files, and the paths in its `.gameyardignore`.
 *
 * @param rules the text of that file
 */
export function ignoreFilter(rules: string): (path: string) => boolean {
  const listed = ignore().add(rules)
  return (path) => isJunkFile(path) || path === IGNORE_FILE || NEVER.test(path) || listed.ignores(path)
}

/** Whether nobody meant to have the file in the build. */
export const isJunkFile = (path: string): boolean => JUNK.test(path)
