import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { access, constants, lchown, lstat, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { StartupError } from '../core/errors.ts'

const run = promisify(execFile)

/** What a command makes in the data folder. Blobs are the server's. */
const MADE = /^(keys|backups|[^/]+\.db(-wal|-shm)?|lock.*)$/

/** Returns the owner of the data folder; of one that does not exist yet, that of the nearest folder above it. */
export function ownerOf(dataDir: string): { uid: number; gid: number } {
  return statSync(dataDir, { throwIfNoEntry: false }) ?? ownerOf(dirname(dataDir))
}

/** Gives what root's command made to the owner of the data folder. Otherwise the service could not read it. */
export async function giveToOwner(dataDir: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  if (process.getuid?.() !== 0 || uid === 0) return
  const give = async (path: string): Promise<void> => {
    const found = await lstat(path)
    if (found.isDirectory()) for (const name of await readdir(path)) await give(join(path, name))
    if (found.uid === 0) await lchown(path, uid, gid)
  }
  for (const name of await readdir(dataDir)) if (MADE.test(name)) await give(join(dataDir, name))
  if ((await lstat(dataDir)).uid === 0) await lchown(dataDir, uid, gid)
}

/** A data folder that belongs to another user than that of this command. */
export interface OtherOwner {
  message: string
  /** Who can run the command. */
  hint: string
  /** Whether this user can read the folder nevertheless. */
  readable: boolean
}

/**
 * Returns whose a data folder is, if this user is not its owner; null when it does not exist.
 *
 * @param rootMay whether root may run the command as well
 */
export async function otherOwnerOf(dataDir: string, rootMay = true): Promise<OtherOwner | null> {
  const uid = process.getuid?.()
  if (uid === undefined || (uid === 0 && rootMay)) return null
  const found = await stat(dataDir).catch((error: NodeJS.ErrnoException) => error)
  if (found instanceof Error) {
    if (found.code !== 'EACCES') return null
    const message = `${await nameOf(uid)} may not look into the folder of ${dataDir}`
    return { message, hint: 'Run the same command as the user of the platform, or as root.', readable: false }
  }
  if (found.uid === uid) return null
  const readable = await access(dataDir, constants.R_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  const [owner, me] = await Promise.all([nameOf(found.uid), nameOf(uid)])
  const message = `${dataDir} belongs to ${owner}, and this command runs as ${me}`
  const hint =
    found.uid === 0
      ? `Run it as root: sudo gameyard … Or, if the platform runs as ${me}: sudo chown -R ${me}: ${dataDir}`
      : `Run it as that user: sudo -u ${/^\d/.test(owner) ? `'#${owner}'` : owner} gameyard …${rootMay ? ' Root may run it as well.' : ''}`
  return { message, hint, readable }
}

/**
 * Refuses a command of a user who can't read the data folder, and would take it to be empty.
 *
 * @throws StartupError
 */
export async function mustReadData(dataDir: string): Promise<void> {
  const other = await otherOwnerOf(dataDir)
  if (other && !other.readable) throw new StartupError(`${other.message}. ${other.hint}`)
}

/**
 * Refuses a command of another user, root included, whose files the platform could not read.
 *
 * @throws StartupError
 */
export async function mustOwnData(dataDir: string): Promise<void> {
  const other = await otherOwnerOf(dataDir, false)
  if (other) throw new StartupError(`${other.message}. ${other.hint}`)
}

/** Returns the name of a user, or the number of one without a name. */
const nameOf = (uid: number): Promise<string> =>
  run('id', ['-nu', String(uid)]).then(
    ({ stdout }) => stdout.trim() || String(uid),
    () => String(uid),
  )
