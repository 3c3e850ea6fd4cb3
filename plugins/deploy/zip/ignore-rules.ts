import ignore from 'ignore'

/** The file at the root of a build that lists unpublished paths in the format of `.gitignore`. */
export const IGNORE_FILE = '.gameyardignore'

/** Junk files that operating systems and tools create. */
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

/** Whether a file is in the build by accident. */
export const isJunkFile = (path: string): boolean => JUNK.test(path)
