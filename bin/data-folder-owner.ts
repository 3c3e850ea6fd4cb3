import { statSync } from 'node:fs'
import { lchown, lstat, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

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
