import { printablePath } from '../../../core/data/file-path.ts'
import type { Archive, ArchivedFile } from '../../../core/data/zip-archive.ts'
import { InvalidRequest, PayloadTooLarge } from '../../../core/errors.ts'
import type { DeployLimits } from '../schemas.ts'
import { IGNORE_FILE, type IgnoreRules, isJunkFile, isNeverPublished } from './ignore-rules.ts'
import { PROJECT_FILE, roomNamedIn } from './project-file.ts'

/** The number of entries for each file that a deploy may have. Folders and junk files count as entries too. */
const ENTRIES_PER_FILE = 2
/** The most bytes of a file that the platform itself reads. */
const OWN_FILE_BYTES = 65_536

/**
 * Lists the files of an archive to publish, relative to the folder with the `index.html`, counts the skipped ones, and
 * returns the path of the room script that its `gameyard.json` names, if any. `folder` is the name of the folder with the
 * `index.html`; empty for the archive itself.
 * Secrets and the platform's reserved prefixes are checked when the deploy is announced, because only then the root
 * folder is known.
 *
 * @throws InvalidRequest, PayloadTooLarge saying what is wrong with the archive
 */
export async function contentsOf(
  archive: Archive,
  limits: DeployLimits,
  ignoreRules: IgnoreRules,
): Promise<{ files: ArchivedFile[]; skipped: number; folder: string; room: string | null }> {
  const all = await archive.files({ most: limits.filesPerDeploy * ENTRIES_PER_FILE, isJunkFile })
  const root = rootOf(all.map(({ path }) => path))
  const inside = all.filter(({ path }) => path.startsWith(root))
  const listed = inside.find(({ path }) => path === root + IGNORE_FILE)
  const relative = inside.map((file) => ({ ...file, path: file.path.slice(root.length) }))
  const publishable = relative.filter(({ path }) => !isNeverPublished(path))
  const files = listed ? await ignoreRules.published(await textOf(archive, listed), publishable) : publishable
  if (files.length > limits.filesPerDeploy) {
    throw new PayloadTooLarge(`A deploy has at most ${limits.filesPerDeploy} files, not ${files.length}.`)
  }
  for (const { size, path } of files) {
    if (size > limits.deployFileBytes) {
      throw new PayloadTooLarge(
        `${printablePath(path)} has ${size} bytes; a file has at most ${limits.deployFileBytes}.`,
      )
    }
  }
  archive.checkTotal(files, { what: 'a deploy', mostBytes: limits.deployBytes })
  const project = relative.find(({ path }) => path === PROJECT_FILE)
  const room = project ? roomNamedIn(await textOf(archive, project)) : null
  return { files, skipped: all.length - files.length, folder: root.slice(0, -1), room }
}

async function textOf(archive: Archive, file: ArchivedFile): Promise<string> {
  if (file.size > OWN_FILE_BYTES) throw new InvalidRequest(`${printablePath(file.path)} is larger than 64 KiB.`)
  return Buffer.concat(await archive.read(file).toArray()).toString()
}

/** Returns the single top folder with the `index.html`, since users often zip the folder and not its contents. */
function rootOf(paths: readonly string[]): string {
  const meant = paths.filter((path) => !isJunkFile(path))
  if (meant.includes('index.html')) return ''
  const [first = ''] = meant
  const root = first.slice(0, first.indexOf('/') + 1)
  return root && meant.includes(`${root}index.html`) && meant.every((path) => path.startsWith(root)) ? root : ''
}
