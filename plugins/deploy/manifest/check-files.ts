import { setImmediate as nextTurn } from 'node:timers/promises'
import { printablePath } from '../../../core/data/file-path.ts'
import type { ErrorDetail } from '../../../core/errors.ts'
import { InvalidRequest, PayloadTooLarge } from '../../../core/errors.ts'
import { formatBytes } from '../../../core/format-bytes.ts'
import type { DeployLimits, NewFile } from '../schemas.ts'
import { isMediaType } from './media-type.ts'
import { problemOf } from './paths.ts'
import { insteadOfStartPage, START_PAGE } from './start-page.ts'

/** The maximum number of errors in a response. */
const SHOWN = 20

/** The number of files that are checked in one turn of the event loop. */
const FILES_AT_ONCE = 2000

/** The maximum size of a room script in bytes. */
export const ROOM_SCRIPT_BYTES = 1024 ** 2

/**
 * Checks the announced files of a deploy.
 *
 * @param room the path of the room script, if there is one
 * @throws PayloadTooLarge over a limit
 * @throws InvalidRequest naming the paths that are not allowed
 */
export async function checkFiles(files: readonly NewFile[], limits: DeployLimits, room?: string): Promise<void> {
  if (files.length > limits.filesPerDeploy) {
    throw new PayloadTooLarge(`A deploy has at most ${limits.filesPerDeploy} files, not ${files.length}.`)
  }
  const details: ErrorDetail[] = []
  const paths = new Set<string>()
  const sizes = new Map<string, number>()
  let total = 0
  for (const [index, { path, size, sha256, contentType }] of files.entries()) {
    if (index % FILES_AT_ONCE === FILES_AT_ONCE - 1) await nextTurn()
    const refuse = (message: string) => void details.push({ path, message })
    const problem = problemOf(path)
    if (problem) refuse(problem)
    if (paths.has(path)) refuse('is there twice')
    if (contentType !== undefined && !isMediaType(contentType)) refuse('has a contentType that is no media type')
    if ((sizes.get(sha256) ?? size) !== size) refuse('has the digest of another file and another size')
    if (size > limits.deployFileBytes) {
      throw new PayloadTooLarge(
        `${path} is larger than ${formatBytes(limits.deployFileBytes)}, the most that a file may have.`,
      )
    }
    paths.add(path)
    sizes.set(sha256, size)
    total += size
  }
  if (total > limits.deployBytes) {
    throw new PayloadTooLarge(
      `The files are larger than ${formatBytes(limits.deployBytes)} together, the most that a deploy may have.`,
    )
  }
  if (!paths.has(START_PAGE)) {
    const instead = insteadOfStartPage([...paths])
    details.push({ path: START_PAGE, message: `is missing at the root of the build. ${instead}` })
  }
  if (room !== undefined) checkRoomScript(files, room, details)
  const [first] = details
  if (first) {
    const more = details.length > 1 ? ` (and ${details.length - 1} more)` : ''
    throw new InvalidRequest(`The file ${printablePath(first.path)} ${first.message}${more}.`).with({
      details: details.slice(0, SHOWN).map((detail) => ({ ...detail, path: printablePath(detail.path) })),
    })
  }
}

function checkRoomScript(files: readonly NewFile[], room: string, details: ErrorDetail[]): void {
  const file = files.find(({ path }) => path === room)
  if (!file) details.push({ path: room, message: 'is named as the room script, and is not among the files' })
  else if (room === 'index.html') details.push({ path: room, message: 'is the page of the game, and no room script' })
  else if (file.size > ROOM_SCRIPT_BYTES) {
    throw new PayloadTooLarge(
      `${room} is larger than ${formatBytes(ROOM_SCRIPT_BYTES)}, the most that a room script may have.`,
    )
  }
}
