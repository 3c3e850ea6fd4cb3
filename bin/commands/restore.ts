import type { Command } from 'commander'
import type { Storage } from '../../drivers/storage/interface.ts'
import { type ConfigOptions, loadProgramConfig, withConfigOptions } from '../options.ts'

type Options = ConfigOptions & { json?: true }

export function configure(command: Command): void {
  withConfigOptions(command)
    .description('Makes the data folder from a backup, after verifying the whole of it. The folder must not exist yet.')
    .argument('<file>', 'what `gameyard backup` wrote')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  gameyard restore /backups/gameyard-2026-11-21.tar --data ./data')
    .action(restore)
}

async function restore(file: string, options: Options): Promise<void> {
  const [{ restoreBackup }, { openDriver, describeBackup }] = await Promise.all([
    import('../../core/backup.ts'),
    import('../standalone.ts'),
  ])
  const loaded = await loadProgramConfig(options)
  const { dataDir } = loaded.config
  const summary = await restoreBackup(file, dataDir, (folder) => openDriver<Storage>(loaded, 'storage', folder))
  console.log(
    options.json ? JSON.stringify({ dataDir, ...summary }) : `Restored ${describeBackup(summary)} into ${dataDir}.`,
  )
}
