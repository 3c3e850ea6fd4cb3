import { existsSync } from 'node:fs'
import { access, constants, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from '../clock.ts'
import { StartupError, StorageFull } from '../errors.ts'
import { FolderError, folderReason, makeFolder } from './folders/make-folder.ts'

/** Clock deviation that refuses a start: more than any drift, less than any time zone offset. */
const CLOCK_OFF_MS = 10 * 60_000

/** Begins the name of the working folder of a restore into a data folder that exists (backups/restore-folder.ts). */
export const RESTORE_PREFIX = '.restore-'
/** In the working folder: the names that are being moved into the data folder. */
export const MOVED_FILE = 'moved.json'

/** Free space below which a start would fail in its middle. */
const START_BYTES = 4 * 1024 * 1024

/**
 * Refuses to start on a full disk, before anything is written.
 *
 * @throws StartupError
 */
export async function assertRoom(dataDir: string): Promise<void> {
  if ((await freeBytes(dataDir)) < START_BYTES) throw folderProblem(new StorageFull(), dataDir)
}

/** Returns the free space for a folder, which need not exist yet. Whatever else is wrong with it is found later. */
async function freeBytes(folder: string): Promise<number> {
  const disk = await statfs(folder).catch(() => null)
  // File systems that keep nothing, such as /proc, have no size.
  if (disk) return disk.blocks === 0 ? Number.POSITIVE_INFINITY : disk.bavail * disk.bsize
  return dirname(folder) === folder ? Number.POSITIVE_INFINITY : freeBytes(dirname(folder))
}

/**
 * Creates the data folder, or checks that it is writable.
 *
 * @throws StartupError
 */
export async function openDataFolder(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir)
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
    const restores = (await readdir(dataDir)).filter((name) => name.startsWith(RESTORE_PREFIX))
    if (restores.some((name) => existsSync(join(dataDir, name, MOVED_FILE))))
      throw new StartupError(`A restore into ${dataDir} was interrupted: run the same command again, then start.`)
  } catch (error) {
    throw folderProblem(error as NodeJS.ErrnoException, dataDir)
  }
}

/** Explains an error of the start that the data folder causes; returns any other error unchanged. */
export function folderProblem(error: NodeJS.ErrnoException, dataDir: string): Error {
  if (error instanceof FolderError) return unmade(error, dataDir)
  const full = error instanceof StorageFull
  const code = full ? 'ENOSPC' : (error.code ?? '')
  // A failed write names no path.
  const isOurs = full || error.path?.startsWith(dataDir) || (error.syscall === 'write' && !error.path)
  const reason = isOurs ? folderReason(code) : undefined
  return reason ? unusable(dataDir, { code, reason, cause: error }) : error
}

/** The folder itself, or one above or in it, can't be made. */
function unmade(cause: FolderError, dataDir: string): Error {
  const { path, code, reason } = cause
  return unusable(dataDir, { code, cause, reason: path === dataDir ? reason : `${path}: ${reason}` })
}

function unusable(dataDir: string, { code, reason, cause }: { code: string; reason: string; cause: Error }): Error {
  const fix = code === 'ENOSPC' ? `make room on it (df -h ${dataDir} shows it)` : 'repair it'
  return new StartupError(
    `The data folder ${dataDir} can't be used (${reason}); ${fix} or choose another with --data.`,
    { cause },
  )
}

/**
 * Refuses to start when the clock is behind the latest time recorded in the data folder. Otherwise expired sessions
 * would become valid again, and ids would no longer sort by creation time.
 *
 * @throws StartupError
 */
export async function assertClockNotBehind(dataDir: string, clock: Clock): Promise<void> {
  const entries = await readdir(dataDir, { withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(dataDir, name))
  const times = await Promise.all(files.map(async (file) => (await stat(file).catch(() => null))?.mtimeMs ?? 0))
  const written = Math.max(0, ...times)
  const now = clock.now().getTime()
  if (written - now < CLOCK_OFF_MS) return
  throw new StartupError(
    `This machine's clock says ${formatTime(now)}, but ${dataDir} was written at ${formatTime(written)}: set the clock. If it is right now and was wrong then, run: touch ${join(dataDir, '*')}`,
  )
}

/**
 * Refuses to start when the clocks of this machine and of the database server, which all nodes share, differ.
 *
 * @throws StartupError
 */
export function assertClocksAgree(server: Date, clock: Clock): void {
  const now = clock.now().getTime()
  if (Math.abs(now - server.getTime()) < CLOCK_OFF_MS) return
  throw new StartupError(
    `This machine's clock says ${formatTime(now)}, the database server's says ${formatTime(server.getTime())}: set the one that is wrong.`,
  )
}

const formatTime = (time: number) => `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`
