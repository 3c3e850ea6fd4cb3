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
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import Type from 'typebox'
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
  verified,
} from './interface.ts'

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
      await mkdir(folder, { recursive: true })
      const storage = new LocalStorage(await realpath(folder), config.reserveBytes, context)
      await storage.prepare()
      return storage
    } catch (cause) {
      const reason = (cause as Error).message
      throw new StartupError(`The storage folder ${folder} can't be used (${reason}); set dataDir or its permissions.`)
    }
  },
})

/** Keys never contain `~`, so uploads in progress can't collide with blobs. */
const INCOMING = '~incoming'
/**
 * Uses a plain file descriptor: a `FileHandle` in a stream that is never read would end the process at garbage
 * collection.
 */
const openDescriptor = promisify(openWithCallback)
const MAX_DURABLE = 10_000
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
  #closed = false

  /** @param root real path of the folder, which exists */
  constructor(root: string, reserveBytes: number, context: DriverContext) {
    this.#root = root
    this.#reserveBytes = reserveBytes
    this.#incoming = join(root, INCOMING)
    this.#clock = context.clock
    this.#signatures = relaySignatures(context.secret('storage/local/presign'), context.clock)
  }

  /** Creates the folder for uploads and removes the remains of a process that died. */
  async prepare(): Promise<void> {
    await mkdir(this.#incoming, { recursive: true })
    await syncFolder(dirname(this.#root))
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
        for await (const chunk of verified(key, body, expected)) await this.#run(key, () => writeWhole(file, chunk))
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

  /** Renames a complete and synced file to its key, durably. */
  async #publish(temporary: string, path: string, key: string, expected: Expected): Promise<void> {
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
    for (const name of names) {
      if (name.endsWith('/')) {
        yield* this.#walk(name, prefix)
        continue
      }
      const status = await this.#run(name, () => lstat(join(this.#root, name)).catch(nullWhenAbsent))
      if (status) yield { key: name, size: status.size, modifiedAt: status.mtime }
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
  }

  #path(key: string): string {
    assertKey(key)
    return join(this.#root, ...key.split('/'))
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

/** Writes a whole chunk. The system may write only a part of it without an error, as with a full disk. */
async function writeWhole(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    const { bytesWritten } = await file.write(chunk, written)
    if (bytesWritten === 0) throw new StorageFull()
    written += bytesWritten
  }
}

async function syncWhole(file: FileHandle, size: number): Promise<void> {
  await file.sync()
  if ((await file.stat()).size !== size) throw new StorageFull()
}

/** Makes the directory entries of a folder durable. Windows has no such operation, and does not open folders. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path, constants.O_RDONLY)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

function nullWhenAbsent(error: NodeJS.ErrnoException): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code ?? '')) return null
  throw error
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
