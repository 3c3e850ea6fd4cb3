import { access, readdir, rename, rm, statfs } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Clock } from '../../clock.ts'
import { StartupError } from '../../errors.ts'
import { formatBytes } from '../../format-bytes.ts'
import type { DatabaseDriver } from '../database.ts'
import { syncFile, syncFolder } from '../durability/fsync.ts'
import { makeFolder } from '../folders/make-folder.ts'
import { lastVersion } from '../program-versions.ts'

/** Number of the latest copies to keep. */
const KEPT = 3
/** Stands for a version that did not record its name in the database. */
const UNKNOWN = 'earlier'
const OURS = /^before-.+-\d{8}T\d{6}Z\.db$/
/** Free space required in addition to the copy, for the migration itself and its write-ahead log. */
const SPARE_BYTES = 16 * 1024 * 1024

/** The source of a copy, and its reason. */
export interface MigrationBackup {
  driver: Pick<DatabaseDriver, 'shared' | 'backup' | 'query'>
  dataDir: string
  /** Version of the program that is about to migrate. */
  version: string
  clock: Clock
  log: { info(message: string): void }
}

/**
 * Copies a database before it is migrated, so that an operator can return to the previous version. The copy is
 * `backups/before-<version>-from-<previous version>-<time>.db` in the data folder, and it is verified before the
 * migration begins. For a database server this logs a reference to the server's own backup tools instead.
 *
 * @returns the file; null where there is none
 * @throws StartupError when there is no room for the copy, or it is damaged; the database is then unchanged
 */
export async function backUpBeforeMigration({
  driver,
  dataDir,
  version,
  clock,
  log,
}: MigrationBackup): Promise<string | null> {
  const from = (await lastVersion(driver)) ?? UNKNOWN
  if (driver.shared) {
    log.info(
      `The database is brought up to ${version}. It is not copied here: the way back is a dump, pg_dump --format=custom --file=before-${version}-from-${from}.dump`,
    )
    return null
  }
  const folder = join(dataDir, 'backups')
  await makeFolder(folder)
  await removePartial(folder)
  const trouble = await missingRoom(driver, dataDir)
  if (trouble !== null) throw new StartupError(`T${trouble.slice(1)}. Make room there; nothing was changed.`)
  const time = clock.now().toISOString().slice(0, 19).replace(/[-:]/g, '')
  const file = join(folder, `before-${version}-from-${from}-${time}Z.db`)
  const partial = `${file}.partial`
  try {
    await driver.backup(partial)
    await makeWhole(partial)
    const damage = await findDamage(partial)
    if (damage !== null) {
      throw new StartupError(
        `The copy of the database that is made before it is brought up to ${version} is damaged (${damage}), and so the database may be: run gameyard doctor. Nothing was changed.`,
      )
    }
    await syncFile(partial)
    await rename(partial, file)
    await syncFolder(folder)
  } finally {
    await removePartial(folder)
  }
  const copies = (await readdir(folder)).filter((name) => OURS.test(name))
  for (const name of copies.sort(byTime).slice(0, -KEPT)) await rm(join(folder, name), { force: true })
  log.info(`the copy of the database from before ${version} is ${file}`)
  return file
}

/**
 * Describes the damage of a database file that no process has open; null when it is intact.
 *
 * @throws when the file is missing
 */
export async function findDamage(file: string): Promise<string | null> {
  await access(file)
  const { DatabaseSync } = await import('node:sqlite')
  try {
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      const [found] = database.prepare('pragma integrity_check(1)').all() as { integrity_check: string }[]
      if (found?.integrity_check !== 'ok') return found?.integrity_check.replaceAll('\n', ' ') ?? 'unknown'
      database.prepare('select name from schema_migrations limit 1').get()
      return null
    } finally {
      database.close()
    }
  } catch (error) {
    return (error as Error).message
  }
}

/**
 * Replaces a database that no process uses by a copy. The replaced database is kept beside the copies.
 *
 * @param database the file that the platform uses
 * @param check called with a file that has the content of the copy, before anything is replaced; rejects to refuse it
 * @returns the new path of the replaced database; null when there was none
 * @throws StartupError when the copy is damaged
 */
export async function restoreDatabaseCopy(
  copy: string,
  {
    database,
    dataDir,
    clock,
    check,
  }: { database: string; dataDir: string; clock: Clock; check?: (file: string) => Promise<void> },
): Promise<string | null> {
  const damage = await findDamage(copy).catch(() => 'there is no such file')
  if (damage !== null) throw new StartupError(`${copy} is no database to go back to (${damage}). Nothing was changed.`)
  const time = clock.now().toISOString().slice(0, 19).replace(/[-:]/g, '')
  const aside = join(dataDir, 'backups', `replaced-${time}Z.db`)
  // The whole copy is complete before the first rename.
  const ready = `${database}.restored`
  await copyDatabase(copy, ready)
  try {
    await check?.(ready)
    await syncFile(ready)
  } catch (error) {
    await rm(ready, { force: true })
    throw error
  }
  await makeFolder(join(dataDir, 'backups'))
  await foldLog(database)
  let replaced = false
  // The write-ahead log belongs to the database, because it has changes that are not in the file yet.
  for (const suffix of ['-wal', '-shm', '']) {
    const moved = await rename(database + suffix, aside + suffix).then(
      () => true,
      () => false,
    )
    replaced ||= moved && suffix === ''
  }
  await rename(ready, database)
  await syncFolder(join(database, '..'))
  return replaced ? aside : null
}

/** Converts a copy to a single file, without the write-ahead log that readers of the original use. */
async function makeWhole(file: string): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(file)
  try {
    database.exec('pragma journal_mode = delete')
  } catch {
    // The integrity check reports a damaged file.
  } finally {
    database.close()
  }
}

/** Merges the write-ahead log of a database into its file. Leaves a damaged database unchanged. */
async function foldLog(file: string): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite')
  try {
    await access(file)
    const database = new DatabaseSync(file)
    database.exec('pragma wal_checkpoint(truncate)')
    database.close()
  } catch {
    // The caller then moves the log together with the file.
  }
}

async function copyDatabase(from: string, to: string): Promise<void> {
  await rm(to, { force: true })
  const { DatabaseSync, backup } = await import('node:sqlite')
  const source = new DatabaseSync(from, { readOnly: true })
  try {
    await backup(source, to)
  } finally {
    source.close()
  }
  await syncFile(to)
}

/** Explains that the data folder has too little space for a copy of the database; null when there is enough. */
export async function missingRoom(driver: Pick<DatabaseDriver, 'query'>, dataDir: string): Promise<string | null> {
  const [size] = (await driver.query(
    'select c.page_count * s.page_size as bytes from pragma_page_count() c, pragma_page_size() s',
    [],
  )) as { bytes: number }[]
  const needed = (size?.bytes ?? 0) + SPARE_BYTES
  const { bavail, bsize } = await statfs(dataDir)
  const free = bavail * bsize
  if (free >= needed) return null
  return `there is no room for the copy of the database that is made before it is brought up to date: ${dataDir} has ${formatBytes(free)} free, and ${formatBytes(needed)} are needed`
}

/** Removes the remains of a process that died during a copy. */
async function removePartial(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.includes('.db.partial')) await rm(join(folder, name), { force: true })
}

/** Sorts by the time at the end of the name, since versions do not sort as text. */
const byTime = (a: string, b: string): number => (timeOf(a) < timeOf(b) ? -1 : 1)
const timeOf = (name: string): string => basename(name, '.db').slice(-16)
