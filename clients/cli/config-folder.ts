import { mkdir, open, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** Where the system wants programs to keep settings: the XDG base directories, macOS's Library, Windows' AppData. */
export function configFolder(env: NodeJS.ProcessEnv, platform = process.platform, home = homedir()): string {
  if (env.XDG_CONFIG_HOME) return join(env.XDG_CONFIG_HOME, 'gameyard')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'gameyard')
  if (platform === 'win32') return join(env.APPDATA ?? join(home, 'AppData', 'Roaming'), 'gameyard')
  return join(home, '.config', 'gameyard')
}

/** Where the system wants programs to keep what they can go on without. */
export function stateFolder(env: NodeJS.ProcessEnv, platform = process.platform, home = homedir()): string {
  if (env.XDG_STATE_HOME) return join(env.XDG_STATE_HOME, 'gameyard')
  if (platform === 'darwin') return join(home, 'Library', 'Caches', 'gameyard')
  if (platform === 'win32') return join(env.LOCALAPPDATA ?? join(home, 'AppData', 'Local'), 'gameyard')
  return join(home, '.local', 'state', 'gameyard')
}

/**
 * Writes a file that only its owner may read. The file is complete or unchanged, even when the disk is full, the folder
 * is read-only or the machine stops midway.
 */
export async function writePrivately(file: string, text: string): Promise<void> {
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

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(async (error) => {
    if (error.code !== 'ENOENT') throw error
    // Node says so when a folder above is on a read-only file system; the one step at a time says what is the matter.
    await makeFolder(dirname(folder))
    await mkdir(folder, { mode: 0o700 })
  })
}
