import { randomBytes } from 'node:crypto'
import type { LoadedConfig } from '../config/load.ts'
import { systemClock } from '../core/clock.ts'
import type { AnyDriver } from '../core/driver.ts'
import { formatBytes } from '../core/format-bytes.ts'
import { createLog } from '../core/observe/log.ts'

/**
 * Opens one driver of the configuration without starting the platform, to read or write its data.
 *
 * @param dataDir the data folder of the driver
 */
export async function openDriver<Instance>(loaded: LoadedConfig, family: string, dataDir: string): Promise<Instance> {
  const chosen = loaded.drivers[family]
  if (!chosen) throw new Error(`There is no driver family ${family}.`)
  return openDriverOf(chosen.driver, chosen.config, loaded, dataDir)
}

/** Opens any driver in the same way. @param options the complete configuration of the driver */
export async function openDriverOf<Instance>(
  driver: AnyDriver,
  options: unknown,
  { config }: LoadedConfig,
  dataDir = config.dataDir,
): Promise<Instance> {
  // Only the platform's own keys sign addresses for clients. No command does, so a random key suffices and the platform
  // creates its own.
  const throwaway = randomBytes(32)
  const context = {
    dataDir,
    portalUrl: config.portal.url,
    clock: systemClock,
    // Standard output is reserved for the result of the command.
    log: createLog('warn', process.stderr),
    secret: () => throwaway,
  }
  return (await driver.create(options as never, context)) as Instance
}

/** Formats a summary such as `3 blobs, 1.2 MiB`. */
export function describeBackup({ blobs, bytes }: { blobs: number; bytes: number }): string {
  return `the database, the keys and ${blobs} ${blobs === 1 ? 'blob' : 'blobs'}, ${formatBytes(bytes)}`
}
