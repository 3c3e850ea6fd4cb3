import { link, mkdtemp, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { LoadedConfig } from '../../config/load.ts'
import type { DatabaseDriver } from '../../core/data/database.ts'
import type { Storage } from '../../drivers/storage/interface.ts'
import { type ConfigOptions, loadPlatformConfig, withConfigOptions } from '../options.ts'

type Options = ConfigOptions & { json?: true; verify?: true }

export function configure(command: Command): void {
  withConfigOptions(command)
    .description('Copies the database, the blobs and the keys into one new file, also while the platform runs.')
    .argument('<file>', 'the file to write; it must not exist')
    .option('--verify', 'test the backup: restore it into a scratch folder beside it and read all of it')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  gameyard backup /backups/gameyard-$(date +%F).tar')
    .action(backup)
}

async function backup(file: string, options: Options): Promise<void> {
  const [{ writeBackup }, { openDriver, describeBackup }, { mustHavePlatform }] = await Promise.all([
    import('../../core/data/backups/backup.ts'),
    import('../open-driver.ts'),
    import('../open-database.ts'),
  ])
  const loaded = await loadPlatformConfig(options)
  const { dataDir } = loaded.config
  await mustHavePlatform(loaded)
  const driver = await openDriver<DatabaseDriver>(loaded, 'database', dataDir)
  const storage = await openDriver<Storage>(loaded, 'storage', dataDir)
  try {
    const target = options.verify ? `${file}.unverified` : file
    if (options.verify) await rm(target, { force: true }) // removes the remains of an interrupted run
    const summary = await writeBackup({ driver, storage, dataDir, config: loaded.config }, target)
    if (options.verify) await verify(loaded, target, file)
    console.log(options.json ? JSON.stringify({ file, ...summary }) : `Wrote ${file}: ${describeBackup(summary)}.`)
  } finally {
    await storage.close()
    await driver.close()
  }
}

/**
 * Restores a backup into a scratch folder, reads the whole database, and gives the file its name only after success.
 */
async function verify(loaded: LoadedConfig, unverified: string, file: string): Promise<void> {
  const [{ BackupError }, { restoreBackup }, { openDriver, databaseFileOf }] = await Promise.all([
    import('../../core/data/backups/archive.ts'),
    import('../../core/data/backups/backup.ts'),
    import('../open-driver.ts'),
  ])
  const scratch = await mkdtemp(join(dirname(resolve(file)), `.${basename(file)}-`))
  try {
    const dataDir = join(scratch, 'data')
    const databaseFile = databaseFileOf(loaded)
    const openStorage = (folder: string) => openDriver<Storage>(loaded, 'storage', folder)
    await restoreBackup(unverified, { dataDir, openStorage, databaseFile, secret: loaded.config.secret })
    const driver = await openDriver<DatabaseDriver>(loaded, 'database', dataDir)
    const damage = await driver.findDamage?.()
    await driver.close()
    if (damage) throw new BackupError(`The database is damaged (${damage}): restore an earlier backup.`)
    // Unlike a rename, a link does not replace a file that another process created meanwhile.
    await link(unverified, file).catch((error: NodeJS.ErrnoException) => {
      throw new BackupError(`${file} can't be made (${error.code}).`)
    })
  } finally {
    await rm(unverified, { force: true })
    await rm(scratch, { recursive: true, force: true })
  }
}
