import { access, link, mkdtemp, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { LoadedConfig } from '../../config/load.ts'
import type { DatabaseDriver } from '../../core/database.ts'
import { StartupError } from '../../core/errors.ts'
import type { Storage } from '../../drivers/storage/interface.ts'
import { type ConfigOptions, loadProgramConfig, withConfigOptions } from '../options.ts'

type Options = ConfigOptions & { json?: true; verify?: true }

export function configure(command: Command): void {
  withConfigOptions(command)
    .description('Copies the database, the blobs and the keys into one new file, also while the platform runs.')
    .argument('<file>', 'the file to write; it must not exist')
    .option('--verify', 'restore it into a scratch folder beside it and read all of it before it counts')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  gameyard backup /backups/gameyard-$(date +%F).tar')
    .action(backup)
}

async function backup(file: string, options: Options): Promise<void> {
  const [{ writeBackup }, { openDriver, describeBackup }] = await Promise.all([
    import('../../core/backup.ts'),
    import('../standalone.ts'),
  ])
  const loaded = await loadProgramConfig(options)
  const { dataDir } = loaded.config
  await access(dataDir).catch(() => {
    throw new StartupError(`There is no data folder ${dataDir} to back up; name another with --data or --config.`)
  })
  const driver = await openDriver<DatabaseDriver>(loaded, 'database', dataDir)
  const storage = await openDriver<Storage>(loaded, 'storage', dataDir)
  try {
    const target = options.verify ? `${file}.unverified` : file
    if (options.verify) await rm(target, { force: true }) // what a run that was cut off left
    const summary = await writeBackup({ driver, storage, dataDir }, target)
    if (options.verify) await verify(loaded, target, file)
    console.log(options.json ? JSON.stringify({ file, ...summary }) : `Wrote ${file}: ${describeBackup(summary)}.`)
  } finally {
    await storage.close()
    await driver.close()
  }
}

/** Restores a backup as one would in need, reads the whole database, and gives the file its name only if all is well. */
async function verify(loaded: LoadedConfig, unverified: string, file: string): Promise<void> {
  const [{ BackupError }, { restoreBackup }, { openDriver }] = await Promise.all([
    import('../../core/backup-archive.ts'),
    import('../../core/backup.ts'),
    import('../standalone.ts'),
  ])
  const scratch = await mkdtemp(join(dirname(resolve(file)), `.${basename(file)}-`))
  try {
    const dataDir = join(scratch, 'data')
    await restoreBackup(unverified, dataDir, (folder) => openDriver<Storage>(loaded, 'storage', folder))
    const driver = await openDriver<DatabaseDriver>(loaded, 'database', dataDir)
    const damage = await driver.findDamage?.()
    await driver.close()
    if (damage) throw new BackupError(`The database is damaged (${damage}): restore an earlier backup.`)
    // Unlike a rename, a link does not replace a file that came in the meantime.
    await link(unverified, file).catch((error: NodeJS.ErrnoException) => {
      throw new BackupError(`${file} can't be made (${error.code}).`)
    })
  } finally {
    await rm(unverified, { force: true })
    await rm(scratch, { recursive: true, force: true })
  }
}
