import { open } from 'node:fs/promises'

/**
 * Makes the names in a folder survive a power cut: new, renamed and removed files. Windows has no such operation, and
 * does not open folders.
 */
export async function syncFolder(path: string, platform: NodeJS.Platform = process.platform): Promise<void> {
  if (platform !== 'win32') await sync(path, 'r')
}

/** Makes the bytes of a file survive a power cut. Windows does this only for a file that is open for writing. */
export async function syncFile(path: string, platform: NodeJS.Platform = process.platform): Promise<void> {
  await sync(path, platform === 'win32' ? 'r+' : 'r')
}

async function sync(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags)
  await handle.sync().finally(() => handle.close())
}
