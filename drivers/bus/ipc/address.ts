import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { StartupError } from '../../../core/errors.ts'

/** Where the processes of one data folder meet. */
export interface Address {
  /** The path of a Unix socket, or the name of a pipe. */
  path: string
  /** The file whose lock makes a process the hub; null for a named pipe. */
  lockFile: string | null
}

/** The longest path of a Unix socket, in bytes, that every system takes (sun_path of macOS). */
const LONGEST_PATH = 103

/** Keeps the folders open whose descriptors stand in paths. */
const folders: FileHandle[] = []

/**
 * Returns the address of the hub.
 *
 * @param file the socket, relative to the data folder
 * @throws StartupError when the path is too long for a socket
 */
export async function addressOf(dataDir: string, file: string, platform = process.platform): Promise<Address> {
  const path = resolve(dataDir, file)
  if (platform === 'win32') {
    const name = createHash('sha256').update(path.toLowerCase()).digest('hex').slice(0, 32)
    return { path: `\\\\.\\pipe\\gameyard-${name}`, lockFile: null }
  }
  const lockFile = `${path}.lock`
  if (Buffer.byteLength(path) <= LONGEST_PATH) return { path, lockFile }
  if (platform === 'linux') {
    // The system resolves this name to the folder, whatever its length.
    const folder = await open(dirname(path), 'r').catch((error) => {
      throw socketProblem(path, error)
    })
    folders.push(folder)
    return { path: `/proc/self/fd/${folder.fd}/${basename(path)}`, lockFile }
  }
  throw new StartupError(
    `The path ${path} is too long for a socket (${LONGEST_PATH} bytes): set bus.path to a shorter one.`,
  )
}

/** Explains why the socket can't be used. */
export const socketProblem = (path: string, error: Error): StartupError =>
  new StartupError(
    `The socket ${path} of the bus can't be used (${error.message}); set bus.path to a place where sockets can be made.`,
    { cause: error },
  )
