import { createWriteStream } from 'node:fs'
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Config } from '../../config.ts'
import type { DatabaseDriver } from '../database.ts'
import { syncFile, syncFolder } from '../durability/fsync.ts'
import { makeFolder, notWritable } from '../folders/make-folder.ts'
import { Keys } from '../keys.ts'
import { Archive, BackupError, eachMember, type Member, mustBeReadable, verifiedMembers } from './archive.ts'
import { RestoreFolder } from './restore-folder.ts'
import { describePlatform, readSourcePlatform, type SourcePlatform } from './source-platform.ts'

/** The part of a storage driver that a backup uses (drivers/storage/interface.ts has the whole contract). */
export interface BlobSource {
  list(prefix: string): AsyncIterable<{ key: string; size: number }>
  get(key: string): Promise<Readable>
}

/** The part of a storage driver that a restore uses. */
export interface BlobTarget {
  put(key: string, body: Readable, expected: { sha256: string; size: number }): Promise<void>
  list(prefix: string): AsyncIterable<{ key: string }>
  close(): Promise<void>
}

export type { SourcePlatform } from './source-platform.ts'

export interface BackupSource {
  driver: Pick<DatabaseDriver, 'backup'>
  storage: BlobSource
  dataDir: string
  /** Configuration of the platform. The backup stores its addresses, for a restore on another machine. */
  config?: Config
}

export interface BackupSummary {
  blobs: number
  /** Total size of the content of the backup. */
  bytes: number
}

const DATABASE = 'gameyard.db'
const KEYS = 'keys/'
const BLOBS = 'blobs/'

/** How often the database is copied when blobs that the copy may need are removed. */
const COPIES = 3

/**
 * Writes the database, the blobs and the keys into a new tar file while the platform runs.
 *
 * The blobs are stored first, then the database is copied as of one moment, and then the blobs that are new. A blob that
 * was removed before the copy began has no row in it, since rows are removed before their blobs. Every blob that the
 * copy refers to existed at its moment, since rows are written after their blobs, and blobs never change. It is stored,
 * unless it was made while the others were and was then removed. Clean-ups spare blobs younger than 24 hours, but a
 * player may replace a picture. The blobs that exist when the copy begins are therefore recorded, and the database is
 * copied again when one of them is missing at the end. The file appears only when it is complete and on the disk.
 *
 * @throws BackupUnsupported by the driver of the database
 * @throws BackupError
 */
export async function writeBackup(
  { driver, storage, dataDir, config }: BackupSource,
  file: string,
): Promise<BackupSummary> {
  const target = resolve(file)
  if (await exists(target)) throw new BackupError(`${target} exists; choose another name.`)
  const work = await mkdtemp(`${target}-`).catch((error: NodeJS.ErrnoException) => {
    throw new BackupError(`${notWritable(dirname(target), error)}: make it writable, or name another place.`)
  })
  try {
    const about = config ? await describePlatform(config) : null
    const archive = new Archive(join(work, 'backup.tar'))
    await archive.during(async () => {
      const copy = await addBlobsAndCopy({ archive, driver, storage, work })
      await archive.addFile(DATABASE, copy)
      for (const name of await keyFiles(dataDir)) await archive.addFile(KEYS + name, join(dataDir, 'keys', name))
    }, about)
    await rename(archive.file, target)
    await syncFolder(dirname(target))
    return summaryOf(archive.members)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Adds the blobs. @returns a copy of the database that refers to no others */
async function addBlobsAndCopy({
  archive,
  driver,
  storage,
  work,
}: Pick<BackupSource, 'driver' | 'storage'> & { archive: Archive; work: string }): Promise<string> {
  const added = new Set<string>()
  /** Adds the blobs that were not added yet. @returns those that were removed meanwhile */
  const addNew = async (): Promise<string[]> => {
    const removed: string[] = []
    for await (const { key, size } of storage.list('')) {
      if (added.has(key)) continue
      const content = await storage.get(key).catch(nullWhenRemoved)
      if (!content) removed.push(key)
      else {
        await archive.add(BLOBS + key, size, content)
        added.add(key)
      }
    }
    return removed
  }
  await addNew()
  const copy = join(work, DATABASE)
  for (let copies = 1; ; copies++) {
    const expected: string[] = []
    for await (const { key } of storage.list('')) if (!added.has(key)) expected.push(key)
    await driver.backup(copy)
    const [missing] = [...(await addNew()), ...expected.filter((key) => !added.has(key))]
    if (missing === undefined) return copy
    if (copies === COPIES)
      throw new BackupError(
        `The blob ${missing} was removed while the backup ran, as others were in ${COPIES - 1} attempts before; nothing was written. Run it again.`,
      )
    await rm(copy)
  }
}

/** The target and the options of a restore. */
export interface RestoreTarget {
  /** Must be absent or empty; `lost+found` counts as nothing. It may be a mount point, or a link to a folder. */
  dataDir: string
  /** Opens the storage driver on a data folder, to restore the blobs there. */
  openStorage: (dataDir: string) => Promise<BlobTarget>
  /** Path of the database in the data folder, by default `gameyard.db`. */
  databaseFile?: string
  /** Called with the restored database file; rejects when the platform would not start on it. */
  checkDatabase?: (file: string) => Promise<void>
  /** The secret of the configuration, if it has one. */
  secret?: string | undefined
  /**
   * Stores the restored database file in a database server, for a platform that has one. The file is removed afterwards.
   *
   * @param dataDir the folder that has the file, and room for temporary files
   * @returns `release` is called when everything else is in place: from then on a platform can start on the server
   */
  intoServer?: (file: string, dataDir: string) => Promise<{ release(): Promise<void>; close(): Promise<void> }>
  /**
   * Called last, with the source platform if the backup names it. If it fails, what was restored is removed again.
   */
  ready?: (source: SourcePlatform | null) => Promise<void>
}

/**
 * Creates a data folder from a backup. The whole file is verified before anything is written, and the folder appears
 * only when it is complete. A bucket that receives the blobs must be empty otherwise. An interrupted restore can be run
 * again.
 *
 * @throws BackupError
 */
export async function restoreBackup(
  file: string,
  { dataDir, openStorage, databaseFile = DATABASE, checkDatabase, secret, intoServer, ready }: RestoreTarget,
): Promise<BackupSummary> {
  await mustBeReadable(file)
  const place = await RestoreFolder.open(dataDir)
  try {
    const { members, about } = await verifiedMembers(file, isOurs)
    if (intoServer && secret === undefined) throw lackingSecret(file, members)
    const source = readSourcePlatform(about)
    const work = place.folder
    const database = relative(work, resolve(work, databaseFile))
    if (database.startsWith('..') || isAbsolute(database) || databaseFile === ':memory:')
      throw new BackupError(`A backup is restored into the data folder, and ${databaseFile} is not in it.`)
    const storage = await openStorage(work)
    try {
      await refuseForeignBlobs(storage, members)
      await extract(file, members, work, { storage, database })
    } finally {
      await storage.close()
    }
    if (source) await refuseOtherSecret(source, { dataDir: work, secret })
    await checkDatabase?.(join(work, database))
    await syncFile(join(work, database))
    const server = await intoServer?.(join(work, database), work)
    try {
      if (server) await rm(join(work, database))
      await place.publish(database, async () => {
        await ready?.(source)
        await server?.release()
      })
    } finally {
      await server?.close()
    }
    return summaryOf(members)
  } finally {
    await place.close()
  }
}

/** A bucket may contain blobs of an interrupted restore of this backup, but no others. */
async function refuseForeignBlobs(storage: BlobTarget, members: Member[]): Promise<void> {
  const ours = new Set(members.map(({ name }) => name))
  for await (const { key } of storage.list(''))
    if (!ours.has(BLOBS + key))
      throw new BackupError(`The storage is not empty: it holds ${key}. Restore into another bucket or prefix.`)
}

/** The secret must match that of the backup, because sessions and signing keys are derived from it. */
async function refuseOtherSecret(
  { keyCheck }: SourcePlatform,
  place: { dataDir: string; secret: string | undefined },
): Promise<void> {
  if (keyCheck === null || (await Keys.open(place)).check() === keyCheck) return
  throw new BackupError(
    place.secret === undefined
      ? 'The platform of this backup had a `secret` in its configuration: give this machine the same one. Nothing was restored.'
      : 'The `secret` of this configuration is not that of the platform that was backed up: give it the same one, or leave it out if that had none. Nothing was restored.',
  )
}

/** Each machine that shares a database needs the secret. A new one would make sessions and signing keys unreadable. */
function lackingSecret(file: string, members: Member[]): BackupError {
  const hasFile = members.some(({ name }) => name === `${KEYS}secret`)
  const where = hasFile
    ? `secret: "base64:…" with the output of: tar -xOf ${file} ${KEYS}secret | base64 -w0`
    : 'the same `secret` as there'
  return new BackupError(
    `Several machines can share the database of this configuration, so it needs the secret of the platform that was backed up: give it ${where}. Nothing was restored.`,
  )
}

async function extract(
  file: string,
  members: Member[],
  folder: string,
  { storage, database }: { storage: BlobTarget; database: string },
): Promise<void> {
  let index = 0
  await mkdir(join(folder, KEYS), { mode: 0o700 })
  await makeFolder(dirname(join(folder, database)))
  await eachMember(file, async (name, size, content) => {
    const expected = members[index++]
    if (!expected) return content.resume()
    if (name !== expected.name) throw new BackupError(`${file} changed while it was restored.`)
    if (name.startsWith(BLOBS)) return storage.put(name.slice(BLOBS.length), content, { sha256: expected.sha256, size })
    const path = join(folder, name === DATABASE ? database : name)
    await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }))
  })
  await syncFolder(join(folder, KEYS))
}

/** Key files have no extension, except the certificate authority of a LAN, which guests have installed. */
const KEY_FILE = /^keys\/(?:[A-Za-z0-9_-]+|authority\.pem)$/

const isOurs = (name: string) => name === DATABASE || KEY_FILE.test(name) || name.startsWith(BLOBS)

function nullWhenRemoved(error: { code?: string }): null {
  if (error.code !== 'blob_not_found') throw error
  return null
}

const summaryOf = (members: Member[]): BackupSummary => ({
  blobs: members.filter(({ name }) => name.startsWith(BLOBS)).length,
  bytes: members.reduce((sum, { size }) => sum + size, 0),
})

/** Lists the complete files in the keys folder; empty when the secret comes from the configuration. */
async function keyFiles(dataDir: string): Promise<string[]> {
  const names = await readdir(join(dataDir, 'keys')).catch(() => [])
  return names.filter((name) => isOurs(KEYS + name))
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )
