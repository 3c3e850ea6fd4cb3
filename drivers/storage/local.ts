import { randomUUID } from 'node:crypto'
import { constants, createReadStream, open as openWithCallback } from 'node:fs'
import {
  access,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  statfs,
  unlink,
} from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import Type from 'typebox'
import { syncFolder } from '../../core/data/durability/fsync.ts'
import { FolderError, makeFolder } from '../../core/data/folders/make-folder.ts'
import { type DriverContext, defineDriver } from '../../core/driver.ts'
import { isPlatformError, StartupError, StorageFull } from '../../core/errors.ts'
import {
  assertKey,
  assertPrefix,
  assertRoom,
  BlobNotFound,
  DigestMismatch,
  type Expected,
  InvalidKey,
  type PresignedPut,
  type Range,
  relaySignatures,
  type Storage,
  StorageUnavailable,
  type VerifiedBlob,
  verified,
} from './interface.ts'
import { LocalBatches } from './local-batches.ts'
import { nullWhenAbsent, syncWhole, writeWhole } from './local-files.ts'

/** Stores each blob as a file, whose path below the folder is its key. */
export default defineDriver({
  family: 'storage',
  name: 'local',
  config: Type.Object(
    {
      path: Type.String({
        default: 'blobs',
        pattern: '^[A-Za-z0-9_-][A-Za-z0-9._-]*$',
        description: 'Folder for the blobs, inside the data folder.',
      }),
      reserveBytes: Type.Integer({
        default: 2 * 1024 ** 3,
        minimum: 0,
        description:
          'Room on the disk that no upload takes, so that sign-in, play and payments go on; at most a twentieth of the disk.',
      }),
    },
    { additionalProperties: false },
  ),

  async create(config, context): Promise<Storage> {
    const folder = join(context.dataDir, config.path)
    try {
      await makeFolder(folder)
      const storage = new LocalStorage(await realpath(folder), config.reserveBytes, context)
      await storage.prepare()
      return storage
    } catch (cause) {
      const reason = cause instanceof FolderError ? `${cause.path}: ${cause.reason}` : (cause as Error).message
      throw new StartupError(`The storage folder ${folder} can't be used (${reason}); set dataDir or its permissions.`)
    }
  },
})

/** Keys never contain `~`, so uploads in progress can't collide with blobs. */
const INCOMING = '~incoming'
const JOURNALS = '~journals'
/**
 * Uses a plain file descriptor: a `FileHandle` in a stream that is never read would end the process at garbage
 * collection.
 */
const openDescriptor = promisify(openWithCallback)
const MAX_DURABLE = 10_000
/** The number of files of one folder whose sizes are read at once. */
const LISTED_AT_ONCE = 64
const ABANDONED_AFTER = 24 * 60 * 60 * 1000

class LocalStorage implements Storage {
  readonly #root: string
  readonly #reserveBytes: number
  /** Announced bytes of blobs that are being written. */
  #underWay = 0
  readonly #incoming: string
  readonly #clock: DriverContext['clock']
  readonly #signatures: ReturnType<typeof relaySignatures>
  /** Folders whose directory entries this process has synced, so that they need not be synced with each blob again. */
  readonly #durable = new Set<string>()
  readonly #batches: LocalBatches
  readonly #journals: string
  #closed = false

  /** @param root real path of the folder, which exists */
  constructor(root: string, reserveBytes: number, context: DriverContext) {
    this.#root = root
    this.#reserveBytes = reserveBytes
    this.#incoming = join(root, INCOMING)
    this.#clock = context.clock
    this.#signatures = relaySignatures(context.secret('storage/local/presign'), context.clock)
    this.#journals = join(root, JOURNALS)
    const folders = { journals: this.#journals, incoming: this.#incoming }
    this.#batches = new LocalBatches(
      { ...folders, pathOf: (key) => this.#path(key), makeFolders: (key) => this.#makeFolders(key) },
      context.log,
    )
  }

  /** Creates the folders for uploads, and finishes or removes what a process that died has left. */
  async prepare(): Promise<void> {
    await makeFolder(this.#incoming)
    await makeFolder(this.#journals)
    await syncFolder(this.#root)
    await syncFolder(dirname(this.#root))
    await this.#batches.recover()
    for (const name of await readdir(this.#incoming)) {
      const path = join(this.#incoming, name)
      const status = await lstat(path).catch(() => null)
      if (status?.isFile() && this.#clock.now().getTime() - status.mtimeMs > ABANDONED_AFTER) await unlink(path)
    }
    await this.ping()
  }

  async put(key: string, body: Readable, expected: Expected): Promise<void> {
    const path = this.#path(key)
    const temporary = join(this.#incoming, randomUUID())
    // Counted before the check, so that concurrent uploads include each other.
    this.#underWay += expected.size
    try {
      await this.#run(key, () => assertRoom(this))
      const file = await this.#run(key, () => open(temporary, 'wx'))
      try {
        await writeVerified(verified(key, body, expected), (chunk) => this.#run(key, () => writeWhole(file, chunk)))
        await this.#run(key, () => syncWhole(file, expected.size))
      } finally {
        await file.close()
      }
      await this.#run(key, () => this.#publish(temporary, path, key, expected))
    } finally {
      this.#underWay -= expected.size
      await unlink(temporary).catch(() => {})
    }
  }

  async putAll(blobs: readonly VerifiedBlob[]): Promise<void> {
    // The bytes are on the disk twice until they are settled.
    const bytes = 2 * blobs.reduce((sum, blob) => sum + blob.bytes.length, 0)
    this.#underWay += bytes
    try {
      for (const { key } of blobs) assertKey(key)
      await this.#run('', async () => {
        await assertRoom(this)
        await this.#batches.store(blobs)
      })
    } finally {
      this.#underWay -= bytes
    }
  }

  /** Creates the folders of a key. @returns their paths up to the root, innermost first */
  async #makeFolders(key: string): Promise<string[]> {
    const folders = [this.#root]
    for (const segment of key.split('/').slice(0, -1)) {
      const folder = join(folders[0] as string, segment)
      await mkdir(folder).catch((error) => {
        if (error.code !== 'EEXIST') throw error
      })
      // The path is a blob, or a symbolic link that leads elsewhere.
      if (!(await lstat(folder)).isDirectory()) throw new InvalidKey(key)
      folders.unshift(folder)
    }
    return folders
  }

  /** Renames a complete and synced file to its key, durably. */
  async #publish(temporary: string, path: string, key: string, expected: Expected): Promise<void> {
    const folders = await this.#makeFolders(key)
    const size = await this.#size(key)
    if (size === null) await rename(temporary, path)
    else if (size !== expected.size) throw new DigestMismatch(key)
    // This also happens for an existing blob, since the put that renamed it may not have synced yet.
    await syncFolder(folders[0] as string)
    for (const [index, folder] of folders.slice(0, -1).entries()) {
      if (this.#durable.has(folder)) continue
      await syncFolder(folders[index + 1] as string)
      if (this.#durable.size >= MAX_DURABLE) this.#durable.clear()
      this.#durable.add(folder)
    }
  }

  async get(key: string, range?: Range): Promise<Readable> {
    const path = this.#path(key)
    return this.#run(key, async () => {
      if ((await this.#size(key)) === null) throw new BlobNotFound(key)
      const fd = await openDescriptor(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch(nullWhenAbsent)
      if (fd === null) throw new BlobNotFound(key)
      return createReadStream(path, { fd, ...range })
    })
  }

  async openFile(key: string): Promise<FileHandle> {
    const path = this.#path(key)
    return this.#run(key, async () => {
      if ((await this.#size(key)) === null) throw new BlobNotFound(key)
      const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch(nullWhenAbsent)
      if (file === null) throw new BlobNotFound(key)
      return file
    })
  }

  async copy(from: string, to: string, expected: Expected): Promise<void> {
    this.#path(to)
    const body = await this.get(from)
    try {
      await this.put(to, body, expected)
    } finally {
      body.destroy()
    }
  }

  async head(key: string): Promise<{ size: number } | null> {
    assertKey(key)
    return this.#run(key, async () => {
      const size = await this.#size(key)
      return size === null ? null : { size }
    })
  }

  async delete(key: string): Promise<void> {
    const path = this.#path(key)
    await this.#run(key, async () => {
      if ((await this.#size(key)) !== null) await unlink(path).catch(nullWhenAbsent)
    })
  }

  /** Returns the size of a blob, or null. The target of a symbolic link is not a blob. */
  async #size(key: string): Promise<number | null> {
    const path = this.#path(key)
    const folder = dirname(path)
    if ((await realpath(folder).catch(nullWhenAbsent)) !== folder) return null
    const status = await lstat(path).catch(nullWhenAbsent)
    return status?.isFile() ? status.size : null
  }

  async *list(prefix: string): AsyncGenerator<{ key: string; size: number; modifiedAt: Date }> {
    assertPrefix(prefix)
    const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1)
    const path = join(this.#root, folder, '.')
    if ((await this.#run(folder, () => realpath(path).catch(nullWhenAbsent))) === path)
      yield* this.#walk(folder, prefix)
  }

  /** Yields the keys below `base` (empty, or ending in `/`) that begin with `prefix`, one folder in memory at a time. */
  async *#walk(base: string, prefix: string): AsyncGenerator<{ key: string; size: number; modifiedAt: Date }> {
    const entries = await this.#run(base, () =>
      readdir(join(this.#root, base), { withFileTypes: true }).catch(nullWhenAbsent),
    )
    // A folder sorts by the keys in it: `a-b` and `a.b` precede `a/b`, and `a0` follows it.
    const names = (entries ?? [])
      .filter((entry) => /^[A-Za-z0-9._-]+$/.test(entry.name) && (entry.isDirectory() || entry.isFile()))
      .map((entry) => base + entry.name + (entry.isDirectory() ? '/' : ''))
      .filter((name) => name.startsWith(prefix))
      .sort((a, b) => (a < b ? -1 : 1))
    const statusOf = (name: string) =>
      name.endsWith('/') ? null : this.#run(name, () => lstat(join(this.#root, name)).catch(nullWhenAbsent))
    for (let start = 0; start < names.length; start += LISTED_AT_ONCE) {
      const part = names.slice(start, start + LISTED_AT_ONCE)
      const found = await Promise.all(part.map(statusOf))
      for (const [index, name] of part.entries()) {
        if (name.endsWith('/')) yield* this.#walk(name, prefix)
        const status = found[index]
        if (status) yield { key: name, size: status.size, modifiedAt: status.mtime }
      }
    }
  }

  async presignPut(
    key: string,
    expected: Expected,
    options: { expiresAt: Date; relay: string },
  ): Promise<PresignedPut> {
    this.#assertOpen()
    assertKey(key)
    return this.#signatures.presign(expected, options)
  }

  verifyRelay(url: string, expected: Expected): boolean {
    return this.#signatures.verify(url, expected)
  }

  /** The relay stores by `put`, which has verified the bytes, so this only checks that the blob exists. */
  async commitPut(key: string, expected: Expected): Promise<void> {
    const blob = await this.head(key)
    if (!blob) throw new BlobNotFound(key)
    if (blob.size !== expected.size) throw new DigestMismatch(key)
  }

  async room(): Promise<{ free: number; reserve: number }> {
    const { bavail, bsize, blocks } = await this.#run('', () => statfs(this.#root))
    // Uploads in progress are partly on the disk already. They count in full, so that many at once do not all pass.
    const free = Math.max(0, bavail * bsize - this.#underWay)
    return { free, reserve: Math.min(this.#reserveBytes, Math.floor((blocks * bsize) / 20)) }
  }

  async ping(): Promise<void> {
    await this.#run('', () => access(this.#incoming, constants.R_OK | constants.W_OK | constants.X_OK))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#batches.close()
  }

  #path(key: string): string {
    assertKey(key)
    // A key has nothing to normalize, and `join` took a tenth of the memory of a batch of small files.
    return `${this.#root}${sep}${sep === '/' ? key : key.replaceAll('/', sep)}`
  }

  #assertOpen(): void {
    if (this.#closed) throw new StorageUnavailable()
  }

  /** Runs one operation and translates the file system's errors. */
  async #run<Result>(key: string, operation: () => Promise<Result>): Promise<Result> {
    this.#assertOpen()
    try {
      return await operation()
    } catch (error) {
      throw translate(error, key)
    }
  }
}

/** Writes chunks one after another. While one is written, the next is received and hashed. */
async function writeVerified(chunks: AsyncIterable<Buffer>, write: (chunk: Buffer) => Promise<void>): Promise<void> {
  let writing = Promise.resolve()
  try {
    for await (const chunk of chunks) {
      await writing
      writing = write(chunk)
      // The error is thrown where the write is awaited.
      writing.catch(() => {})
    }
  } finally {
    // The file is closed next, so no write may be under way.
    await writing
  }
}

function translate(error: unknown, key: string): unknown {
  if (isPlatformError(error)) return error
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EISDIR':
      return new InvalidKey(key)
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return new StorageFull().with({ cause: error })
    default:
      return new StorageUnavailable().with({ cause: error })
  }
}
