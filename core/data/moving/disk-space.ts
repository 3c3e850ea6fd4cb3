import { statfs } from 'node:fs/promises'
import { formatBytes } from '../../format-bytes.ts'
import type { DatabaseDriver } from '../database.ts'
import { MoveError } from './errors.ts'

/** Factor between the sizes of the same rows in the two databases, with room for the log of the last transactions. */
const MARGIN = 1.3

/**
 * Checks that the disk of the data folder has space for a database; the disk of a database server is not visible from here.
 *
 * @throws MoveError
 */
export async function assertDiskSpace(
  source: Pick<DatabaseDriver, 'dialect' | 'query'>,
  target: { database: DatabaseDriver; dataDir: string },
): Promise<void> {
  if (target.database.shared) return
  const sql =
    source.dialect === 'sqlite'
      ? 'select c.page_count * s.page_size as bytes from pragma_page_count() c, pragma_page_size() s'
      : 'select pg_database_size(current_database()) as bytes'
  const [size] = (await source.query(sql, [])) as { bytes: number }[]
  const needed = (size?.bytes ?? 0) * MARGIN
  const { bavail, bsize } = await statfs(target.dataDir)
  if (bavail * bsize >= needed) return
  throw new MoveError(
    `The target's database has no room: it takes about ${formatBytes(needed)}, and ${target.dataDir} has ${formatBytes(bavail * bsize)} free.`,
  )
}
