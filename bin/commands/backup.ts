import { existsSync } from 'node:fs'
import { link, rename } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { LoadedConfig } from '../../config/load.ts'
import type { BlobTarget } from '../../core/data/backups/backup.ts'
import type { Storage } from '../../drivers/storage/interface.ts'
import { printResult, withJson } from '../json-output.ts'
import { type ConfigOptions, loadPlatformConfig, withConfigOptions } from '../options.ts'

type Options = ConfigOptions & { json?: true; verify?: true }

export function configure(command: Command): void {
  withJson(withConfigOptions(command))
    .description(
      'Copies the database, the blobs and the keys into one new file, also while the platform runs: from SQLite or PostgreSQL, from a folder or a bucket. The file has the same form in each case, and restores into any of them.',
    )
    .argument('<file>', 'the file to write; it must not exist')
    .option('--verify', 'test the backup: restore it into a scratch folder beside it and read all of it')
    .addHelpText('after', '\nExample:\n  gameyard backup /backups/gameyard-$(date +%F).tar')
    .action(backup)
}

async function backup(file: string, options: Options): Promise<void> {
  const [
    { BackupError },
    { writeBackup },
    { isInsideData },
    { WorkingFolder },
    { notWritable },
    { openDriver, describeBackup },
    { openBackedUpDatabase },
    { mustHavePlatform },
  ] = await Promise.all([
    import('../../core/data/backups/archive.ts'),
    import('../../core/data/backups/backup.ts'),
    import('../../core/data/backups/destination.ts'),
    import('../../core/data/backups/working-folder.ts'),
    import('../../core/data/folders/make-folder.ts'),
    import('../open-driver.ts'),
    import('../backup-database.ts'),
    import('../open-database.ts'),
  ])
  const loaded = await loadPlatformConfig(options)
  const { dataDir } = loaded.config
  await mustHavePlatform(loaded)
  const target = resolve(file)
  if (existsSync(target)) throw new BackupError(`${target} exists; choose another name.`)
  if (isInsideData(target, dataDir))
    throw new BackupError(
      `${target} is in the data folder, which it would be a copy of; name a file on another disk, or below ${join(dataDir, 'backups')}.`,
    )
  const database = await openBackedUpDatabase(loaded)
  const storage = await openDriver<Storage>(loaded, 'storage', dataDir)
  try {
    const work = await WorkingFolder.create(`${target}-`, console.error).catch((error: NodeJS.ErrnoException) => {
      throw new BackupError(`${notWritable(dirname(target), error)}: make it writable, or name another place.`)
    })
    try {
      const archive = join(work.path, 'backup.tar')
      const summary = await writeBackup({ driver: database, storage, dataDir, config: loaded.config }, archive)
      if (options.verify) await verify(loaded, archive, join(work.path, 'restored'))
      await publish(archive, target)
      printResult(options, { file, ...summary }, () => {
        const tested = options.verify ? ' Its test restore passed.' : ''
        return `Wrote ${file}: ${describeBackup(summary)}.${tested}`
      })
    } finally {
      await work.remove()
    }
  } finally {
    await storage.close()
    await database.close()
  }
}

/**
 * Restores a backup into a scratch folder, and reads the whole database. Blobs of a remote storage are compared with their
 * digests, and not stored: neither in the bucket of the platform, nor a second time on this disk.
 *
 * @throws BackupError
 */
async function verify(loaded: LoadedConfig, archive: string, dataDir: string): Promise<void> {
  const [{ BackupError }, { restoreBackup }, { openDriver }, { openSqliteFile }, { verified }] = await Promise.all([
    import('../../core/data/backups/archive.ts'),
    import('../../core/data/backups/backup.ts'),
    import('../open-driver.ts'),
    import('../backup-database.ts'),
    import('../../drivers/storage/interface.ts'),
  ])
  const openStorage = async (folder: string): Promise<BlobTarget> => {
    const storage = await openDriver<Storage>(loaded, 'storage', folder)
    if (!storage.remote) return storage
    await storage.close()
    return {
      async put(key, body, expected) {
        for await (const _ of verified(key, body, expected));
      },
      async *list() {},
      async close() {},
    }
  }
  const databaseFile = 'gameyard.db'
  await restoreBackup(archive, { dataDir, openStorage, databaseFile, secret: loaded.config.secret })
  const driver = await openSqliteFile(loaded, dataDir, databaseFile)
  const damage = await driver.findDamage?.()
  await driver.close()
  if (damage) throw new BackupError(`The database is damaged (${damage}): restore an earlier backup.`)
}

/** Gives a finished archive its name. Unlike a rename, a link does not replace a file that was created meanwhile. */
async function publish(archive: string, file: string): Promise<void> {
  const { syncFolder } = await import('../../core/data/durability/fsync.ts')
  await link(archive, file)
    .catch((error: NodeJS.ErrnoException) => {
      // Some file systems, such as those of memory sticks, have no links.
      if (error.code === 'EEXIST' || existsSync(file)) throw error
      return rename(archive, file)
    })
    .catch(async (error: NodeJS.ErrnoException) => {
      const { BackupError } = await import('../../core/data/backups/archive.ts')
      const { folderReason } = await import('../../core/data/folders/make-folder.ts')
      throw new BackupError(`${file} can't be made (${folderReason(error.code ?? '') ?? error.code}).`)
    })
  await syncFolder(dirname(file))
}
