import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { CliError, fileReason } from '../errors.ts'
import { PROJECT_FILE } from '../project.ts'

/** The file in the build folder that lists unpublished paths, in the syntax of .gitignore. */
const IGNORE_FILE = '.gameyardignore'

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
}

/**
 * Matches secrets, histories and dependencies, which are never published in any folder. The platform refuses the first
 * two.
 */
const NEVER = /^(?:\.git|node_modules|\.env.*)$/i
/** Matches files of operating systems and editors, which are skipped without a notice. */
const LITTER = /^(?:__MACOSX|\._.*|\.DS_Store|Thumbs\.db|desktop\.ini)$/

/**
 * Lists the files of a build.
 *
 * @throws CliError when the folder does not exist or holds no playable file
 */
export async function readBuild(folder: string): Promise<Build> {
  const root = await realpath(folder).catch((error) => {
    throw new CliError(`${folder} can't be deployed: ${fileReason(error)}.`, { code: 'no_build' })
  })
  if (!(await stat(root)).isDirectory()) {
    throw new CliError(`${folder} is a file; deploy the folder with index.html in it.`, { code: 'no_build' })
  }
  const listed = await ignoreRules(root)
  const files: BuildFile[] = []
  const leftOut = new Set<string>()
  let ignored = 0

  const visit = async (at: string): Promise<void> => {
    const entries = await readdir(at, { withFileTypes: true }).catch((error) => {
      throw new CliError(`${at} can't be read: ${fileReason(error)}.`, { code: 'unreadable' })
    })
    for (const entry of entries) {
      const file = join(at, entry.name)
      const path = relative(root, file).split(sep).join('/').normalize('NFC')
      if (LITTER.test(entry.name) || path === IGNORE_FILE || path === PROJECT_FILE) continue
      if (NEVER.test(entry.name)) leftOut.add(path)
      else if (listed(entry.isDirectory() ? `${path}/` : path)) ignored++
      else if (entry.isDirectory()) await visit(file)
      else if (entry.isSymbolicLink() && !(await isInside(root, file)))
        leftOut.add(`${path} (a link to what is not published)`)
      else files.push({ path, file, size: await sizeOf(file) })
    }
  }
  await visit(root)
  if (ignored > 0) leftOut.add(`${ignored} ${ignored === 1 ? 'entry' : 'entries'} by ${IGNORE_FILE}`)
  if (!files.some(({ path }) => path === 'index.html')) throw await withoutIndex(folder, files)
  files.sort((a, b) => (a.path < b.path ? -1 : 1))
  return { files, leftOut: [...leftOut].sort() }
}

async function ignoreRules(root: string): Promise<(path: string) => boolean> {
  const text = await readFile(join(root, IGNORE_FILE), 'utf8').catch(() => null)
  if (text === null) return () => false
  const { default: ignore } = await import('ignore')
  const rules = ignore().add(text)
  return (path) => rules.ignores(path)
}

/** Returns whether a link leads to a file inside the build that is not private. */
async function isInside(root: string, link: string): Promise<boolean> {
  const target = await realpath(link).catch(() => null)
  if (!target?.startsWith(root + sep)) return false
  // A link must not publish a private file under another name.
  if (
    relative(root, target)
      .split(sep)
      .some((name) => NEVER.test(name))
  )
    return false
  return (await lstat(target)).isFile()
}

async function sizeOf(file: string): Promise<number> {
  const { size } = await stat(file).catch((error) => {
    throw new CliError(`${file} can't be read: ${fileReason(error)}.`, { code: 'unreadable' })
  })
  return size
}

async function withoutIndex(folder: string, files: BuildFile[]): Promise<CliError> {
  const nested = files
    .filter(({ path }) => /^[^/]+\/index\.html$/.test(path))
    .map(({ path }) => join(folder, path.slice(0, path.indexOf('/'))))
  return new CliError(
    files.length === 0
      ? `There is nothing in ${folder} to deploy.`
      : `There is no index.html in ${folder}, so nothing would open.`,
    {
      code: 'no_build',
      hint:
        nested.length > 0
          ? `Did you mean: gameyard deploy ${nested[0]}`
          : 'Name the folder of the finished build, often dist or build: gameyard deploy dist',
    },
  )
}
