import { access } from 'node:fs/promises'
import type { Command } from 'commander'
import type { DatabaseDriver } from '../../core/database.ts'
import { StartupError } from '../../core/errors.ts'
import type { Storage } from '../../drivers/storage/interface.ts'
import { type ConfigOptions, loadProgramConfig, withConfigOptions } from '../options.ts'

type Options = ConfigOptions & { json?: true }

export function configure(command: Command): void {
  withConfigOptions(command)
    .description('Copies the database, the blobs and the keys into one new file, also while the platform runs.')
    .argument('<file>', 'the file to write; it must not exist')
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
    const summary = await writeBackup({ driver, storage, dataDir }, file)
    console.log(options.json ? JSON.stringify({ file, ...summary }) : `Wrote ${file}: ${describeBackup(summary)}.`)
  } finally {
    await storage.close()
    await driver.close()
  }
}
