import type { Database, Parameter } from '../../core/data/database.ts'
import type { Origins } from '../../core/origins/origins.ts'
import { type AssetRecord, COLUMNS, type PlainAsset, toRecord } from './record.ts'

/** The dependencies of `readAssets`. */
export interface AssetReader {
  db: Database
  origins: Origins
}

/**
 * Reads assets, newest first.
 *
 * @param where on the table `assets a`, values as `?`
 */
export async function readAssets(
  { db, origins }: AssetReader,
  { where, values, limit }: { where: string; values: readonly Parameter[]; limit: number },
): Promise<AssetRecord[]> {
  const rows = await db.query<PlainAsset>(`select ${COLUMNS} from assets a where ${where} order by a.id desc limit ?`, [
    ...values,
    limit,
  ])
  return rows.map((row) => toRecord(row, origins))
}
