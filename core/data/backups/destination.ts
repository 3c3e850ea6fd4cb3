import { realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'

/** The folders of the data folder that may hold backups, because no backup contains them. */
const ALLOWED = ['backups', 'backup-under-way']

/**
 * Returns whether a backup may not be written to a place because it is in the data folder: in `blobs/` it would copy
 * itself until the disk is full, and elsewhere the platform owns the names.
 *
 * @param path a file or a folder, which need not exist
 */
export function isInsideData(path: string, dataDir: string): boolean {
  const inside = relative(real(dataDir), real(path))
  const [first = ''] = inside.split(sep)
  return first !== '..' && !isAbsolute(inside) && !ALLOWED.includes(first)
}

/** Resolves the links of a path, as far as it exists. */
function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(real(parent), basename(path))
  }
}
