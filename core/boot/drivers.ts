import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { DatabaseDriver } from '../data/database.ts'
import type { Keys } from '../data/keys.ts'
import type { ChosenDriver } from '../driver.ts'
import { StartupError } from '../errors.ts'
import type { Bus } from '../events.ts'
import type { WorkerPrograms } from '../jobs/worker-programs.ts'
import type { Plugin } from '../plugin.ts'
import type { CleanupStack } from './cleanup-stack.ts'

/** The methods of every driver that the kernel itself uses. */
export interface OpenedDriver {
  ping?(): Promise<void>
  close?(): Promise<void>
}

export interface OpenedDrivers {
  database: DatabaseDriver
  bus: Bus
  /** The other driver families, by the name of their decorator on the app. */
  families: Record<string, OpenedDriver>
}

/**
 * Opens the chosen driver of each family.
 *
 * @throws StartupError from a driver, or for a shared database without a `secret`
 */
export async function openDrivers(
  chosen: Record<string, ChosenDriver>,
  {
    config,
    keys,
    plugins,
    clock,
    log,
    workerPrograms,
  }: {
    config: Config
    keys: Keys
    plugins: Plugin[]
    clock: Clock
    log: FastifyBaseLogger
    workerPrograms: WorkerPrograms
  },
  cleanups: CleanupStack,
): Promise<OpenedDrivers> {
  const instances: Record<string, unknown> = {}
  for (const [family, { driver, config: options }] of Object.entries(chosen)) {
    const instance = (await driver.create(options as never, {
      dataDir: config.dataDir,
      portalUrl: config.portal.url,
      clock,
      log: log.child({ driver: `${family}/${driver.name}` }) as never,
      secret: (purpose) => keys.derive(`drivers/${purpose}`),
      workerProgram: (name) => workerPrograms.text(name),
    })) as OpenedDriver
    cleanups.add(() => instance.close?.())
    // A built-in plugin of the same name owns the decorator: `ai` is the plugin's, `aiDriver` the driver's.
    const isOwned = plugins.some(({ name, module }) => name === family && !module)
    instances[isOwned ? `${family}Driver` : family] = instance
  }
  const { database, bus, ...families } = instances as { database: DatabaseDriver; bus: Bus } & Record<
    string,
    OpenedDriver
  >
  if (database.shared && !config.secret) {
    throw new StartupError(
      'Several machines can share this database, so each needs the same `secret` in its configuration: that of the platform, or for a new one: openssl rand -base64 32',
    )
  }
  return { database, bus, families }
}
