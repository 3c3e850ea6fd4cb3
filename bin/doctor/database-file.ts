import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { LoadedConfig } from '../../config/load.ts'

/**
 * Returns whether there is a database to open. A file that doctor made would belong to the user who runs it, and the
 * service might not be able to read it.
 */
export async function hasDatabase({ config }: LoadedConfig, { shared }: { shared: boolean }): Promise<boolean> {
  const { file = '' } = config.database as { file?: string }
  return shared || (await stat(resolve(config.dataDir, file)).catch(() => null)) !== null
}
