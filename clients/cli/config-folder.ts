import { mkdtempSync } from 'node:fs'
import { mkdir, open, readlink, rename, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

/** Returns the home folder of this user; null where the system knows none, as in a container with a foreign user id. */
function homeFolder(): string | null {
  try {
    return homedir()
  } catch {
    return null
  }
}

/**
 * Returns the system's folder for configuration: XDG base directories, macOS's Library or Windows' AppData; null for a
 * user without a home.
 */
export function configFolder(env: NodeJS.ProcessEnv, platform = process.platform, home = homeFolder()): string | null {
  if (env.XDG_CONFIG_HOME) return join(env.XDG_CONFIG_HOME, 'gameyard')
  if (home === null) return null
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'gameyard')
  if (platform === 'win32') return join(env.APPDATA ?? join(home, 'AppData', 'Roaming'), 'gameyard')
  return join(home, '.config', 'gameyard')
}

/** Returns the system's folder for state that a program can lose; a temporary one for a user without a home. */
export function stateFolder(env: NodeJS.ProcessEnv, platform = process.platform, home = homeFolder()): string {
  if (env.XDG_STATE_HOME) return join(env.XDG_STATE_HOME, 'gameyard')
  if (home === null) return mkdtempSync(join(tmpdir(), 'gameyard-'))
  if (platform === 'darwin') return join(home, 'Library', 'Caches', 'gameyard')
  if (platform === 'win32') return join(env.LOCALAPPDATA ?? join(home, 'AppData', 'Local'), 'gameyard')
  return join(home, '.local', 'state', 'gameyard')
}

/**
 * Writes a file that only its owner may read. The file is complete or unchanged, even when the disk is full, the folder
 * is read-only or the machine stops midway. A file that is a link stays one; its target is written.
 */
export async function writePrivately(path: string, text: string): Promise<void> {
  const file = await targetOf(path)
  await makeFolder(dirname(file))
  const temporary = `${file}.${process.pid}.tmp`
  try {
    const handle = await open(temporary, 'w', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw error
  }
}

/** Returns the file that a link leads to, whether it exists or not; the path itself if it is no link. */
async function targetOf(path: string): Promise<string> {
  const target = await readlink(path).catch(() => null)
  return target === null ? path : targetOf(resolve(dirname(path), target))
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(async (error) => {
    if (error.code !== 'ENOENT') throw error
    // Node reports this error for a folder on a read-only file system. Single steps give the actual error.
    await makeFolder(dirname(folder))
    await mkdir(folder, { mode: 0o700 })
  })
}
