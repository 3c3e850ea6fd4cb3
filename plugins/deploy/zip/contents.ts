import { printablePath } from '../../../core/data/file-path.ts'
import type { Archive, ArchivedFile } from '../../../core/data/zip/zip-archive.ts'
import { InvalidRequest, PayloadTooLarge } from '../../../core/errors.ts'
import { formatBytes } from '../../../core/format-bytes.ts'
import type { Note } from '../builds/notes.ts'
import { insteadOfStartPage, onlyPage, START_PAGE } from '../manifest/start-page.ts'
import type { DeployLimits } from '../schemas.ts'
import { IGNORE_FILE, type IgnoreRules, isJunkFile, isNeverPublished } from './ignore-rules.ts'
import { PROJECT_FILE, roomNamedIn } from './project-file.ts'

/** The number of entries for each file that a deploy may have. Folders and junk files count as entries too. */
const ENTRIES_PER_FILE = 2
/** The most bytes of a file that the platform itself reads. */
const OWN_FILE_BYTES = 65_536
/** The most names that a note lists. */
const NAMED = 10

/** What is published of an archive. */
export interface ArchiveContents {
  /** Relative to the folder with the start page, which is named `index.html` here. */
  files: ArchivedFile[]
  /** The number of files that are not published. */
  skipped: number
  /** The folder with the start page; empty for the archive itself. */
  folder: string
  /** The path of the room script that its `gameyard.json` names, if any. */
  room: string | null
  /** What its maker may not expect. */
  notes: Note[]
}

/**
 * Lists the files of an archive to publish.
 *
 * Secrets and the platform's reserved prefixes are checked when the deploy is announced, because only then the root
 * folder is known.
 *
 * @throws InvalidRequest, PayloadTooLarge saying what is wrong with the archive
 */
export async function contentsOf(
  archive: Archive,
  limits: DeployLimits,
  ignoreRules: IgnoreRules,
): Promise<ArchiveContents> {
  const all = await archive.files({ most: limits.filesPerDeploy * ENTRIES_PER_FILE, isJunkFile })
  const root = rootOf(all.map(({ path }) => path))
  const inside = all.filter(({ path }) => path.startsWith(root))
  const listed = inside.find(({ path }) => path === root + IGNORE_FILE)
  const relative = inside.map((file) => ({ ...file, path: file.path.slice(root.length) }))
  const publishable = relative.filter(({ path }) => !isNeverPublished(path))
  const named = listed ? await ignoreRules.published(await textOf(archive, listed), publishable) : publishable
  const page = onlyPage(named.map(({ path }) => path))
  const files = named.map((file) => (file.path === page ? { ...file, path: START_PAGE } : file))
  if (!files.some(({ path }) => path === START_PAGE)) {
    const instead = insteadOfStartPage(named.map(({ path }) => path))
    throw new InvalidRequest(`There is no ${START_PAGE} at the root of the archive. ${instead}.`)
  }
  if (files.length > limits.filesPerDeploy) {
    throw new PayloadTooLarge(`A deploy has at most ${limits.filesPerDeploy} files, not ${files.length}.`)
  }
  for (const { size, path } of files) {
    if (size > limits.deployFileBytes) {
      throw new PayloadTooLarge(
        `${printablePath(path)} is larger than ${formatBytes(limits.deployFileBytes)}, the most that a file may have.`,
      )
    }
  }
  archive.checkTotal(files, { what: 'a deploy', mostBytes: limits.deployBytes })
  const project = relative.find(({ path }) => path === PROJECT_FILE)
  const room = project ? roomNamedIn(await textOf(archive, project)) : null
  const notes = [...startPageNote(page), ...guessedNames(files)]
  return { files, skipped: all.length - files.length, folder: root.slice(0, -1), room, notes }
}

/** Says that a page is published under another name. */
export const startPageNote = (page: string | null): Note[] =>
  page === null
    ? []
    : [
        {
          level: 'info',
          code: 'start_page',
          path: START_PAGE,
          message: `${printablePath(page)} is published as ${START_PAGE}, the page that the address of the game opens.`,
        },
      ]

function guessedNames(files: readonly ArchivedFile[]): Note[] {
  const guessed = files.filter((file) => file.guessed).map(({ path }) => path)
  if (guessed.length === 0) return []
  const named = guessed.slice(0, NAMED).map(printablePath).join(', ')
  const all = guessed.length > NAMED ? `${named} and ${guessed.length - NAMED} more` : named
  const message = `The archive does not say in which encoding these names are, so they may be wrong: ${all}. Pack it with names in UTF-8.`
  return [{ level: 'warning', code: 'guessed_name', path: guessed[0] as string, message }]
}

async function textOf(archive: Archive, file: ArchivedFile): Promise<string> {
  if (file.size > OWN_FILE_BYTES) throw new InvalidRequest(`${printablePath(file.path)} is larger than 64 KiB.`)
  return Buffer.concat(await archive.read(file).toArray()).toString()
}

/**
 * Returns the folder with the start page, since users often zip the folder and not its contents: the first one that holds
 * all files and has a start page, or only one page.
 */
function rootOf(paths: readonly string[]): string {
  const meant = paths.filter((path) => !isJunkFile(path))
  const [first = ''] = meant
  for (let root = ''; meant.every((path) => path.startsWith(root)); ) {
    const inside = meant.map((path) => path.slice(root.length))
    if (inside.includes(START_PAGE) || onlyPage(inside) !== null) return root
    const end = first.indexOf('/', root.length) + 1
    if (end === 0) return ''
    root = first.slice(0, end)
  }
  return ''
}
