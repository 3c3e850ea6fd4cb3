import { setImmediate as nextTurn } from 'node:timers/promises'
import { printablePath } from '../../../core/data/file-path.ts'
import type { Archive, ArchivedFile } from '../../../core/data/zip-archive.ts'
import { InvalidRequest, PayloadTooLarge } from '../../../core/errors.ts'
import { isTimeout, runWithTimeout } from '../../../core/jobs/sync-timeout.ts'
import type { DeployLimits } from '../schemas.ts'
import { IGNORE_FILE, ignoreFilter, isJunkFile } from './ignore-rules.ts'

/** Folders and litter count too: so many entries for each file that a deploy may have. */
const ENTRIES_PER_FILE = 2
const IGNORE_FILE_BYTES = 65_536
/** How long matching a build's files against its patterns may take in all; a few `**` can take for ever. */
const MATCHING_MS = 5000
/** How many files are matched, and for how long, until others have their turn. */
const SLICE_FILES = 200
const SLICE_MS = 250

/**
 * Lists the files of an archive to publish, relative to the folder with the `index.html`, and counts the skipped ones.
 * Secrets and the platform's reserved prefixes are checked when the deploy is announced, because only then the root
 * folder is known.
 *
 * @throws InvalidRequest, PayloadTooLarge saying what is wrong with the archive
 */
export async function contentsOf(
  archive: Archive,
  limits: DeployLimits,
): Promise<{ files: ArchivedFile[]; skipped: number }> {
  const all = await archive.files({ most: limits.filesPerDeploy * ENTRIES_PER_FILE, isJunkFile })
  const root = rootOf(all.map(({ path }) => path))
  const inside = all.filter(({ path }) => path.startsWith(root))
  const listed = inside.find(({ path }) => path === root + IGNORE_FILE)
  const relative = inside.map((file) => ({ ...file, path: file.path.slice(root.length) }))
  const isLeftOut = ignoreFilter(listed ? await textOf(archive, listed) : '')
  // Our own patterns take no time; those of strangers may.
  const files = listed ? await published(relative, isLeftOut) : relative.filter(({ path }) => !isLeftOut(path))
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
  return { files, skipped: all.length - files.length }
}

/** @throws InvalidRequest when the patterns take too long */
async function published(files: ArchivedFile[], isLeftOut: (path: string) => boolean): Promise<ArchivedFile[]> {
  const kept: ArchivedFile[] = []
  let leftMs = MATCHING_MS
  for (let at = 0; at < files.length; at += SLICE_FILES) {
    const began = performance.now()
    const slice = files.slice(at, at + SLICE_FILES)
    try {
      kept.push(...runWithTimeout(Math.min(leftMs, SLICE_MS), () => slice.filter(({ path }) => !isLeftOut(path))))
    } catch (error) {
      if (!isTimeout(error)) throw error
      throw new InvalidRequest(`The patterns in ${IGNORE_FILE} take too long to match; write them with fewer \`**\`.`)
    }
    leftMs -= performance.now() - began
    await nextTurn()
  }
  return kept
}

async function textOf(archive: Archive, file: ArchivedFile): Promise<string> {
  if (file.size > IGNORE_FILE_BYTES) throw new InvalidRequest(`${IGNORE_FILE} is larger than 64 KiB.`)
  return Buffer.concat(await archive.read(file).toArray()).toString()
}

/** The one folder that everything is in, when the `index.html` is in there: people zip the folder, not what it holds. */
function rootOf(paths: readonly string[]): string {
  const meant = paths.filter((path) => !isJunkFile(path))
  if (meant.includes('index.html')) return ''
  const [first = ''] = meant
  const root = first.slice(0, first.indexOf('/') + 1)
  return root && meant.includes(`${root}index.html`) && meant.every((path) => path.startsWith(root)) ? root : ''
}
