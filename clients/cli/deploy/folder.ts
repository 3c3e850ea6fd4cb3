import type { Stats } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { CliError, fileReason } from '../errors.ts'
import { PROJECT_FILE } from '../project.ts'

/** The file in the build folder that lists unpublished paths, in the syntax of .gitignore. */
const IGNORE_FILE = '.gameyardignore'

/** The page that the address of a game opens. */
const START_PAGE = 'index.html'
const PAGE = /\.html?$/i

/** A file of a build. */
export interface BuildFile {
  /** The published path: relative, separated by `/`, in Unicode normalization form C. */
  path: string
  /** The path on this disk. */
  file: string
  /** The size in bytes. */
  size: number
}

export interface Build {
  files: BuildFile[]
  /** Describes the skipped files of the folder: `.git`, `node_modules`, `3 files by …`. */
  leftOut: string[]
  /** The name of the only page, which is published as `index.html`. */
  startPage?: string
}

/**
 * Matches secrets, histories and dependencies, which are never published in any folder. The platform refuses the first
 * two.
 */
const NEVER = /^(?:\.git|node_modules|\.env.*)$/i
/** Matches files of operating systems and editors, which are skipped without a notice. */
const LITTER = /^(?:__MACOSX|\._.*|\.DS_Store|Icon\r|Thumbs\.db|desktop\.ini)$/

/**
 * Lists the files of a build: of a folder, or of a single HTML file.
 *
 * @throws CliError when the folder does not exist or holds no playable file
 */
export async function readBuild(folder: string): Promise<Build> {
  const root = await realpath(folder).catch((error) => {
    throw new CliError(`${folder} can't be deployed: ${fileReason(error)}.`, { code: 'no_build' })
  })
  const top = await stat(root)
  if (!top.isDirectory()) {
    if (top.isFile() && PAGE.test(root))
      return withStartPage([{ path: basename(root), file: root, size: top.size }], [])
    throw new CliError(`${folder} is no folder; deploy the folder with index.html in it.`, { code: 'no_build' })
  }
  const listed = await ignoreRules(root)
  const files: BuildFile[] = []
  const leftOut = new Set<string>()
  let ignored = 0

  /** @param above the real paths of this folder and of those around it, by which links in a circle end */
  const visit = async (at: string, above: readonly string[]): Promise<void> => {
    const entries = await readdir(at, { withFileTypes: true }).catch((error) => {
      throw new CliError(`${at} can't be read: ${fileReason(error)}.`, { code: 'unreadable' })
    })
    for (const entry of entries) {
      const file = join(at, entry.name)
      const path = relative(root, file).split(sep).join('/').normalize('NFC')
      if (LITTER.test(entry.name) || path === IGNORE_FILE || path === PROJECT_FILE) continue
      if (NEVER.test(entry.name)) leftOut.add(path)
      else if (listed(entry.isDirectory() ? `${path}/` : path)) ignored++
      else if (entry.isDirectory()) await visit(file, [...above, join(above.at(-1) as string, entry.name)])
      else if (entry.isFile()) files.push({ path, file, size: (await statOf(file)).size })
      else if (!entry.isSymbolicLink()) leftOut.add(`${path} (${kindOf(entry)})`)
      else {
        const { reason, target, found } = await follow(root, file, above)
        if (reason !== null) leftOut.add(`${path} (a link to ${reason})`)
        else if (found.isDirectory()) await visit(file, [...above, target])
        else files.push({ path, file, size: found.size })
      }
    }
  }
  await visit(root, [root])
  if (ignored > 0) leftOut.add(`${ignored} ${ignored === 1 ? 'entry' : 'entries'} by ${IGNORE_FILE}`)
  const build = withStartPage(files, [...leftOut].sort())
  if (!build.files.some(({ path }) => path === START_PAGE)) throw withoutIndex(folder, files)
  build.files.sort((a, b) => (a.path < b.path ? -1 : 1))
  return build
}

/** Publishes the only page at the top as the start page, if there is none of that name. */
function withStartPage(files: BuildFile[], leftOut: string[]): Build {
  const [page, other] = files.filter(({ path }) => !path.includes('/') && PAGE.test(path))
  if (!page || other || page.path === START_PAGE) return { files, leftOut }
  return {
    files: files.map((file) => (file === page ? { ...file, path: START_PAGE } : file)),
    leftOut,
    startPage: page.path,
  }
}

async function ignoreRules(root: string): Promise<(path: string) => boolean> {
  const file = join(root, IGNORE_FILE)
  // Reading a pipe would wait for ever.
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  )
  const text = isFile ? await readFile(file, 'utf8').catch(() => null) : null
  if (text === null) return () => false
  const { default: ignore } = await import('ignore')
  const rules = ignore().add(text)
  return (path) => rules.ignores(path)
}

const kindOf = (entry: { isFIFO(): boolean; isSocket(): boolean }): string =>
  entry.isFIFO() ? 'a pipe' : entry.isSocket() ? 'a socket' : 'a device'

type Followed = { reason: string; target?: never; found?: never } | { reason: null; target: string; found: Stats }

/** Follows a link to what it leads to, or returns the reason why that is not published. */
async function follow(root: string, link: string, above: readonly string[]): Promise<Followed> {
  const target = await realpath(link).catch(() => null)
  if (target === null) return { reason: 'nothing' }
  if (target !== root && !target.startsWith(root + sep)) return { reason: 'what lies outside of the build' }
  // A link must not publish a private file under another name.
  const names = relative(root, target).split(sep)
  if (names.some((name) => NEVER.test(name))) return { reason: 'what is never published' }
  const found = await statOf(target)
  if (found.isFile()) return { reason: null, target, found }
  if (!found.isDirectory()) return { reason: kindOf(found) }
  const isAround = above.some((folder) => folder === target || folder.startsWith(target + sep))
  return isAround ? { reason: 'a folder around it' } : { reason: null, target, found }
}

async function statOf(file: string): Promise<Stats> {
  return stat(file).catch((error) => {
    throw new CliError(`${file} can't be read: ${fileReason(error)}.`, { code: 'unreadable' })
  })
}

function withoutIndex(folder: string, files: BuildFile[]): CliError {
  return new CliError(
    files.length === 0
      ? `There is nothing in ${folder} to deploy.`
      : `There is no ${START_PAGE} in ${folder}, so nothing would open.`,
    { code: 'no_build', hint: insteadOfIndex(folder, files) },
  )
}

function insteadOfIndex(folder: string, files: BuildFile[]): string {
  const paths = files.map(({ path }) => path).sort((a, b) => a.split('/').length - b.split('/').length)
  const nested = paths.find((path) => path.endsWith(`/${START_PAGE}`))
  if (nested !== undefined)
    return `Did you mean: gameyard deploy ${join(folder, nested.slice(0, -START_PAGE.length - 1))}`
  const pages = paths.filter((path) => PAGE.test(path))
  if (pages.length > 0) {
    return `There is ${pages.slice(0, 3).join(', ')}. Rename the page that opens first to ${START_PAGE}, in lower case.`
  }
  return 'Name the folder of the finished build, often dist or build: gameyard deploy dist'
}
