import { basename, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Override } from '../../config/environment.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { SourcePlatform } from '../../core/data/backups/backup.ts'
import { StartupError } from '../../core/errors.ts'
import type { Storage } from '../../drivers/storage/interface.ts'
import { printResult, withJson } from '../json-output.ts'
import { type ConfigOptions, loadProgramConfig, withConfigOptions } from '../options.ts'

type Options = ConfigOptions & { json?: true; database?: string; url?: string; games?: string }

export function configure(command: Command): void {
  withJson(withConfigOptions(command))
    .description(
      'Makes the data folder from a backup, after verifying all of it. The folder must not exist yet, or be empty, and so must a PostgreSQL database and a bucket of the configuration. Interrupted, the same command goes on where it stopped. With --url the platform gets another address, on another machine for instance: the configuration is changed accordingly, and what leads to the address that it had goes on to work. Or, with --database, goes back to the copy of the database that an upgrade made.',
    )
    .argument('[file]', 'what `gameyard backup` wrote')
    .option('--url <address>', 'the address of the portal from now on')
    .option('--games <domain>', 'with --url: what games live below from now on (games.domain)')
    .option('--database <copy>', 'a file of backups/ in the data folder; the database there now is kept beside it')
    .addHelpText(
      'after',
      `
Examples:
  gameyard restore /backups/gameyard-2026-11-21.tar --data ./data
  gameyard restore gameyard.tar --url https://source.example.org --games example-games.net
  gameyard restore --database ./data/backups/before-0.2.0-from-0.1.0-20261121T120000Z.db --data ./data`,
    )
    .action((file: string | undefined, options: Options) => {
      if ((file === undefined) === (options.database === undefined))
        command.error('error: name a backup, or a copy of the database with --database', { exitCode: 2 })
      if (options.url === undefined && options.games !== undefined)
        command.error('error: --games goes with --url', { exitCode: 2 })
      if (options.database !== undefined && options.url !== undefined)
        command.error('error: --url goes with a backup; for a database alone, change the configuration', {
          exitCode: 2,
        })
      return file === undefined ? goBack(options) : restore(file, options)
    })
}

async function restore(file: string, { url, games, ...options }: Options): Promise<void> {
  const [{ restoreBackup }, { openDriver, describeBackup }, { restoredDatabase }] = await Promise.all([
    import('../../core/data/backups/backup.ts'),
    import('../open-driver.ts'),
    import('../backup-database.ts'),
  ])
  // Validates the new addresses first, so that invalid ones leave everything unchanged.
  const loaded = await loadProgramConfig(options, addressesOf(url, games))
  const { config } = loaded
  if (url !== undefined && config.portal.url !== url)
    throw new StartupError(`In the LAN mode the portal is at ${config.portal.url}: turn that off, or leave out --url.`)
  const { dataDir } = config
  const notes: string[] = []
  const summary = await restoreBackup(file, {
    dataDir,
    openStorage: (folder) => openDriver<Storage>(loaded, 'storage', folder),
    ...restoredDatabase(loaded),
    secret: config.secret,
    ready: async (source) => {
      if (url !== undefined) notes.push(await moveTo(loaded, { url, games, source }))
      else if (source && source.portal !== config.portal.url)
        notes.push(
          `It was at ${source.portal}, and is at ${config.portal.url} now: list what it was under portal.formerUrls, and ${source.gamesDomain} under games.formerDomains.`,
        )
    },
  })
  printResult(options, { dataDir, ...summary, portalUrl: config.portal.url }, () =>
    [`Restored ${describeBackup(summary)} into ${placesOf(config)}.`, ...notes, NOT_RESTORED].join('\n'),
  )
  if (url === undefined) return
  // Excludes the command-line options, so that this is the configuration that the next start reads.
  const { portal } = (await loadProgramConfig(options)).config
  if (portal.url !== config.portal.url)
    console.error(
      `The environment or the LAN mode says that the portal is at ${portal.url}: take SERVICE_PORTAL__URL away.`,
    )
}

/** Names what a restore has written to. */
function placesOf({ dataDir, database, storage }: LoadedConfig['config']): string {
  const families = { database, storage } as Record<string, { driver?: string }>
  const others = Object.entries({ database: 'sqlite', storage: 'local' }).filter(
    ([family, local]) => families[family]?.driver !== local,
  )
  return [dataDir, ...others.map(([family]) => `the ${family} of the configuration`)].join(', ')
}

/** What a platform may have had that is in no backup. */
const NOT_RESTORED =
  'Not in a backup: the rest of the configuration (who may sign up and publish, mail, sign-in providers, payments, AI, limits, scheduled backups), certificates and DNS records. Look through it before the first start.'

/** Returns the new addresses as configuration overrides of the command line. */
function addressesOf(url: string | undefined, games: string | undefined): Override[] {
  if (url === undefined) return []
  const overrides: Override[] = [{ source: '--url', path: ['portal', 'url'], value: url }]
  if (games !== undefined) overrides.push({ source: '--games', path: ['games', 'domain'], value: games })
  return overrides
}

/** Writes the new addresses into the configuration, and the previous ones as former addresses. @returns a summary */
async function moveTo(
  { config, file, configDir }: LoadedConfig,
  { url, games, source }: { url: string; games: string | undefined; source: SourcePlatform | null },
): Promise<string> {
  const { editConfig } = await import('../../config/edit.ts')
  const others = (former: string[], now: string[]) => [...new Set(former)].filter((one) => !now.includes(one))
  // A Studio that shares the portal's origin moves with the portal; a Studio with its own origin stays.
  const studioMoves = source !== null && source.studio === source.portal && config.studio.url === source.studio
  const studio = studioMoves ? url : config.studio.url
  const present = [url, studio]
  const formerUrls = others(
    [...config.portal.formerUrls, ...(source ? [...source.formerUrls, source.portal, source.studio] : [])],
    present,
  )
  const formerDomains = others(
    [...config.games.formerDomains, ...(source ? [...source.formerDomains, source.gamesDomain] : [])],
    [config.games.domain],
  )
  const target = resolve(configDir, file === null ? 'gameyard.yaml' : basename(file))
  await editConfig(target, [
    { path: ['portal', 'url'], value: url },
    { path: ['portal', 'formerUrls'], value: formerUrls },
    ...(studioMoves ? [{ path: ['studio', 'url'], value: url }] : []),
    ...(games === undefined ? [] : [{ path: ['games', 'domain'], value: games }]),
    { path: ['games', 'formerDomains'], value: formerDomains },
  ])
  const former = [...formerUrls, ...formerDomains].join(', ')
  return `${target} has portal.url: ${url}${games === undefined ? '' : ` and games.domain: ${games}`} now${former && `; what leads to ${former} goes on to work where those names still reach this machine`}.`
}

/** Restores the database copy from before an upgrade. No server may use the folder meanwhile. */
async function goBack({ database: copy = '', ...options }: Options): Promise<void> {
  const [{ restoreDatabaseCopy }, { mustOpen }, { DataLock }, { systemClock: clock }] = await Promise.all([
    import('../../core/data/backups/migration-backup.ts'),
    import('../backup-database.ts'),
    import('../../core/data/data-lock.ts'),
    import('../../core/clock.ts'),
  ])
  const loaded = await loadProgramConfig(options)
  const { config } = loaded
  const { dataDir, portal } = config
  const { driver, file } = config.database as { driver: string; file?: string }
  if (driver !== 'sqlite' || file === undefined || file === ':memory:')
    throw new StartupError(
      '--database is for SQLite in the data folder; restore a backup into an empty database, or a dump with pg_restore.',
    )
  const lock = await DataLock.acquire(dataDir, {
    address: portal.url,
    clock,
    warn: (message) => console.error(message),
  })
  try {
    const database = resolve(dataDir, file)
    const replaced = await restoreDatabaseCopy(resolve(copy), {
      database,
      dataDir,
      clock,
      check: (restored) => mustOpen(loaded, restored),
    })
    const kept = replaced === null ? '' : ` The one that was there is ${replaced}.`
    printResult(options, { database, replaced }, () => `${database} is as it was in ${resolve(copy)} again.${kept}`)
  } finally {
    lock.release()
  }
}
