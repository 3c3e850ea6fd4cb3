import {
  close,
  closeSync,
  lstat,
  lstatSync,
  open,
  openSync,
  rename,
  renameSync,
  unlink,
  write,
  writeSync,
} from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { StorageFull } from '../../core/errors.ts'

/** A file to write under a temporary name in the same file system, and then to rename. */
export interface PlacedFile {
  path: string
  temporary: string
  bytes: Buffer
}

/** Files up to this size are written at once. */
const AT_ONCE_BYTES = 64 * 1024
/** Files are written at once for this long. Then whatever else waits has its turn. */
const TURN_MS = 4
/** A file that takes longer shows that the disk is busy, so that waiting for it would keep all others waiting. */
const SLOW_MS = 20
/** After a slow file, this many are written by the thread pool. */
const AFTER_SLOW = 256
/** The number of files that are written at once by the thread pool, which has four threads. */
const CONCURRENCY = 16

/**
 * Writes files atomically and without a sync. A file that exists already is left as it is, unless it is replaced.
 *
 * Writing a small file takes the system a few dozen microseconds, and handing its five steps to the thread pool several
 * times as long. So small files are written by this thread, for a few milliseconds at a time, as long as the disk is
 * fast.
 *
 * @returns a file that exists with another size; the files after it may be missing
 */
export async function placeFiles(
  files: readonly PlacedFile[],
  { replace = false } = {},
): Promise<PlacedFile | undefined> {
  const isSmall = ({ bytes }: PlacedFile) => bytes.length <= AT_ONCE_BYTES
  const small = files.filter(isSmall)
  for (let index = 0; index < small.length; ) {
    const turnEnds = performance.now() + TURN_MS
    let took = 0
    for (let now = performance.now(); now < turnEnds && index < small.length; ) {
      const file = small[index++] as PlacedFile
      if (!placeAtOnce(file, replace)) return file
      took = performance.now() - now
      now += took
    }
    await nextTurn()
    if (took < SLOW_MS) continue
    const refused = await placeInPool(small.slice(index, index + AFTER_SLOW), replace)
    if (refused) return refused
    index += AFTER_SLOW
  }
  const large = files.filter((file) => !isSmall(file))
  return placeInPool(large, replace)
}

/** @returns false when there is a file of another size */
function placeAtOnce({ path, temporary, bytes }: PlacedFile, replace: boolean): boolean {
  const present = replace ? undefined : lstatSync(path, { throwIfNoEntry: false })
  // The target of a symbolic link is not a blob.
  if (present) return present.isFile() && present.size === bytes.length
  const fd = openSync(temporary, 'wx')
  try {
    try {
      if (writeSync(fd, bytes) !== bytes.length) throw new StorageFull()
    } finally {
      closeSync(fd)
    }
    renameSync(temporary, path)
    return true
  } catch (error) {
    if (isPlaced(error, { path, bytes })) return true
    unlink(temporary, () => {})
    throw error
  }
}

/** Whether a process that began meanwhile has written the file from the journal, and removed the temporary one. */
const isPlaced = (error: unknown, { path, bytes }: Pick<PlacedFile, 'path' | 'bytes'>): boolean =>
  (error as NodeJS.ErrnoException).code === 'ENOENT' &&
  lstatSync(path, { throwIfNoEntry: false })?.size === bytes.length

async function placeInPool(files: readonly PlacedFile[], replace: boolean): Promise<PlacedFile | undefined> {
  let refused: PlacedFile | undefined
  await forEach(CONCURRENCY, files, async (file) => {
    const size = replace ? null : await sizeOf(file.path)
    if (size === null) await writeInPool(file)
    else if (size !== file.bytes.length) refused = file
  })
  return refused
}

// The functions below use callbacks: for a file of a few KB, promises would take longer than the system's work.

/** @returns null when there is no file */
const sizeOf = (path: string): Promise<number | null> =>
  new Promise((resolve, reject) => {
    lstat(path, (error, status) => {
      if (error) return error.code === 'ENOENT' ? resolve(null) : reject(error)
      // The target of a symbolic link is not a blob.
      resolve(status.isFile() ? status.size : -1)
    })
  })

const writeInPool = ({ path, temporary, bytes }: PlacedFile): Promise<void> =>
  new Promise((resolve, reject) => {
    const fail = (error: Error) => unlink(temporary, () => reject(error))
    open(temporary, 'wx', (openError, fd) => {
      if (openError) return reject(openError)
      write(fd, bytes, 0, bytes.length, null, (writeError, written) => {
        close(fd, (closeError) => {
          const error = writeError ?? closeError ?? (written === bytes.length ? null : new StorageFull())
          if (error) return fail(error)
          rename(temporary, path, (renameError) =>
            renameError && !isPlaced(renameError, { path, bytes }) ? fail(renameError) : resolve(),
          )
        })
      })
    })
  })

/** Calls `work` for all items, `limit` at a time, and throws the first failure after the running calls have ended. */
export async function forEach<Item>(limit: number, items: readonly Item[], work: (item: Item) => Promise<void>) {
  let next = 0
  let failed = false
  const worker = async () => {
    while (next < items.length && !failed) {
      await work(items[next++] as Item).catch((error) => {
        failed = true
        throw error
      })
    }
  }
  const results = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, worker))
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
