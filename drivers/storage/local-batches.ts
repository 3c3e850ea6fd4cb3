import { createHash, randomUUID } from 'node:crypto'
import { close, fsync, open } from 'node:fs'
import * as files from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncFolder } from '../../core/data/durability/fsync.ts'
import type { DriverContext } from '../../core/driver.ts'
import { DigestMismatch, type VerifiedBlob } from './interface.ts'
import { nullWhenAbsent, syncWhole, writeWhole } from './local-files.ts'
import { forEach, placeFiles } from './place-files.ts'

/** The folders of a storage, and the way from a key to its file. */
export interface BatchFolders {
  /** Holds the journals of batches whose blobs may not be durable on their own yet. */
  journals: string
  /** Holds incomplete files. */
  incoming: string
  pathOf(key: string): string
  /** Creates the folders of a key. @returns their paths up to the storage's, innermost first */
  makeFolders(key: string): Promise<string[]>
}

/**
 * The time after which the blobs of a batch are synced. By then the system has written most of them by itself, so that
 * the syncs wait for little and disturb nobody.
 */
const SETTLE_AFTER_MS = 30_000
/** When the journals have more bytes than this, the next batch waits until they are settled. */
const MAX_JOURNAL_BYTES = 512 * 1024 ** 2
/** Number of syncs that run at once, in the background. */
const SYNCS_AT_ONCE = 2
/** The number of folders that are remembered as present. A storage has 256 for the blobs of deploys. */
const MAX_MADE = 10_000

interface Batch {
  journal: string
  keys: string[]
  bytes: number
}

/**
 * Stores batches of small blobs with two waits for the disk for each batch instead of two for each blob.
 *
 * All bytes of a batch are written to one file, its journal, which is synced. The blobs are then written as files of
 * their own without a sync, and are durable nevertheless: after a power cut, `recover` restores them from the journal.
 * The journal is removed after its blobs were synced, some time later.
 */
export class LocalBatches {
  readonly #folders: BatchFolders
  readonly #log: DriverContext['log']
  readonly #settleAfterMs: number
  #unsettled: Batch[] = []
  /** Folders that exist, since this process has made or seen them. */
  readonly #made = new Set<string>()
  #settling: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(folders: BatchFolders, log: DriverContext['log'], settleAfterMs = SETTLE_AFTER_MS) {
    this.#folders = folders
    this.#log = log
    this.#settleAfterMs = settleAfterMs
  }

  /** Stores blobs; all are durable when it resolves. @throws DigestMismatch, StorageFull, or the system's error */
  async store(blobs: readonly VerifiedBlob[]): Promise<void> {
    if (this.#unsettled.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_JOURNAL_BYTES) await this.#settle()
    const journal = await this.#writeJournal(blobs)
    try {
      await this.#place(blobs, temporaryNames(journal))
    } catch (error) {
      await files.unlink(journal).catch(() => {})
      throw error
    }
    const bytes = blobs.reduce((sum, blob) => sum + blob.bytes.length, 0)
    this.#unsettled.push({ journal, keys: blobs.map(({ key }) => key), bytes })
    this.#timer ??= setTimeout(() => void this.#settle(), this.#settleAfterMs).unref()
  }

  /** Restores the blobs of the journals that a stopped or crashed process has left. */
  async recover(): Promise<void> {
    for (const name of await files.readdir(this.#folders.journals)) {
      const journal = join(this.#folders.journals, name)
      // Another process of the same folder may have been faster.
      const bytes = await files.readFile(journal).catch(nullWhenAbsent)
      if (bytes === null) continue
      const blobs = readJournal(bytes)
      const lost: VerifiedBlob[] = []
      for (const blob of blobs) if (!(await this.#isWhole(blob))) lost.push(blob)
      const base = join(this.#folders.incoming, randomUUID())
      await this.#place(lost, (_path, index) => `${base}-${index}`, { replace: true })
      const temporaryOf = temporaryNames(journal)
      for (const [index, { key }] of blobs.entries())
        await files.unlink(temporaryOf(this.#folders.pathOf(key), index)).catch(nullWhenAbsent)
      await this.#sync(blobs.map(({ key }) => key))
      await files.unlink(journal).catch(nullWhenAbsent)
      if (lost.length > 0) this.#log.info({ blobs: lost.length }, 'restored blobs of an interrupted batch')
    }
  }

  /** Stops settling; the next `recover` goes on with the journals that are left. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#settling
  }

  /** Only complete and synced journals are in their folder, so that `recover` never sees one that is being written. */
  async #writeJournal(blobs: readonly VerifiedBlob[]): Promise<string> {
    const { journals, incoming } = this.#folders
    const name = randomUUID()
    const temporary = join(incoming, name)
    const parts = blobs.flatMap(({ key, bytes, sha256 }) => [Buffer.from(headOf(key, bytes.length, sha256)), bytes])
    const whole = Buffer.concat(parts)
    try {
      const file = await files.open(temporary, 'wx')
      try {
        await writeWhole(file, whole)
        await syncWhole(file, whole.length)
      } finally {
        await file.close()
      }
      await files.rename(temporary, join(journals, name))
      await syncFolder(journals)
      return join(journals, name)
    } catch (error) {
      await files.unlink(temporary).catch(() => {})
      throw error
    }
  }

  /** Writes blobs as files, atomically and without a sync. */
  async #place(
    blobs: readonly VerifiedBlob[],
    temporaryOf: (path: string, index: number) => string,
    { replace = false } = {},
  ): Promise<void> {
    await this.#makeFolders(blobs)
    const files = blobs.map(({ key, bytes }, index) => {
      const path = this.#folders.pathOf(key)
      return { key, path, temporary: temporaryOf(path, index), bytes }
    })
    const refused = await placeFiles(files, { replace }).catch(async (error) => {
      if (error.code !== 'ENOENT') throw error
      // Somebody has removed a folder.
      this.#made.clear()
      await this.#makeFolders(blobs)
      return placeFiles(files, { replace })
    })
    if (refused) throw new DigestMismatch(files.find(({ path }) => path === refused.path)?.key ?? '')
  }

  async #makeFolders(blobs: readonly VerifiedBlob[]): Promise<void> {
    for (const { key } of blobs) {
      const folder = key.slice(0, key.lastIndexOf('/') + 1)
      if (this.#made.has(folder)) continue
      await this.#folders.makeFolders(key)
      if (this.#made.size >= MAX_MADE) this.#made.clear()
      this.#made.add(folder)
    }
  }

  async #isWhole({ key, bytes, sha256 }: VerifiedBlob): Promise<boolean> {
    const path = this.#folders.pathOf(key)
    const status = await files.lstat(path).catch(nullWhenAbsent)
    if (!status?.isFile() || status.size !== bytes.length) return false
    return digestOf(await files.readFile(path)) === sha256
  }

  /** Syncs the blobs of all batches, and removes their journals. Calls run one after another. */
  #settle(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#settling = this.#settling.then(async () => {
      while (this.#unsettled.length > 0 && !this.#closed) {
        const batch = this.#unsettled[0] as Batch
        try {
          await this.#sync(batch.keys)
          if (!this.#closed) await files.unlink(batch.journal).catch(nullWhenAbsent)
        } catch (err) {
          // A second sync could succeed without the bytes being on the disk. The next start compares them.
          this.#log.error({ err }, 'a batch of blobs could not be synced; its journal is kept')
        }
        if (!this.#closed) this.#unsettled.shift()
      }
    })
    return this.#settling
  }

  async #sync(keys: string[]): Promise<void> {
    const folders = new Set<string>()
    for (const key of keys) {
      let folder = dirname(this.#folders.pathOf(key))
      while (!folders.has(folder) && folder.startsWith(dirname(this.#folders.incoming))) {
        folders.add(folder)
        folder = dirname(folder)
      }
    }
    await forEach(SYNCS_AT_ONCE, keys, async (key) => {
      if (!this.#closed) await syncFile(this.#folders.pathOf(key))
    })
    await forEach(SYNCS_AT_ONCE, [...folders], async (folder) => {
      if (!this.#closed) await syncFolder(folder)
    })
  }
}

/**
 * Names the incomplete files of a batch. Each is beside its blob, since a rename within one folder takes half the time of
 * one between two. `recover` removes those that a process has left. Keys never contain `~`.
 */
const temporaryNames = (journal: string) => (path: string, index: number) =>
  join(dirname(path), `~${basename(journal)}-${index}`)

const headOf = (key: string, size: number, sha256: string) => `${sha256} ${size} ${key}\n`

/** Reads the blobs of a journal, without those whose bytes are damaged. */
function readJournal(journal: Buffer): VerifiedBlob[] {
  const blobs: VerifiedBlob[] = []
  for (let at = 0; at < journal.length; ) {
    const end = journal.indexOf('\n', at)
    const [, sha256, size, key] = /^([0-9a-f]{64}) (\d+) (\S+)$/.exec(journal.toString('latin1', at, end)) ?? []
    if (sha256 === undefined || key === undefined) break
    const bytes = journal.subarray(end + 1, end + 1 + Number(size))
    at = end + 1 + Number(size)
    if (digestOf(bytes) === sha256) blobs.push({ key, bytes, sha256 })
  }
  return blobs
}

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** Syncs a file; one that was deleted meanwhile needs none. */
const syncFile = (path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    // Windows syncs only what is open for writing.
    open(path, process.platform === 'win32' ? 'r+' : 'r', (openError, fd) => {
      if (openError) return openError.code === 'ENOENT' ? resolve() : reject(openError)
      fsync(fd, (error) => close(fd, () => (error ? reject(error) : resolve())))
    })
  })
