import type { Database, Parameter } from '../../core/data/database.ts'
import type { Origins } from '../../core/origins/origins.ts'
import { type AssetRecord, COLUMNS, type PlainAsset, toRecord } from './record.ts'

/** The dependencies of `readAssets`. */
export interface AssetReader {
  db: Database
  origins: Origins
}

interface ReadOptions {
  /** On the table `assets a`, values as `?`. */
  where: string
  values: readonly Parameter[]
  limit: number
  /** False leaves `files` empty, of which a pack may have a thousand. */
  files?: boolean
}

/** Reads assets, newest first. */
export async function readAssets(
  { db, origins }: AssetReader,
  { where, values, limit, files = true }: ReadOptions,
): Promise<AssetRecord[]> {
  const columns = files ? COLUMNS : COLUMNS.replace('a.files', "'[]' as files")
  const rows = await db.query<PlainAsset>(`select ${columns} from assets a where ${where} order by a.id desc limit ?`, [
    ...values,
    limit,
  ])
  return rows.map((row) => toRecord(row, origins))
}
