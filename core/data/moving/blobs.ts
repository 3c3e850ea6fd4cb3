import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { formatBytes } from '../../format-bytes.ts'
import { MoveError } from './errors.ts'
import { guarded } from './rows.ts'

/** The part of a storage driver that a move uses (drivers/storage/interface.ts has the whole contract). */
export interface MovedStorage {
  list(prefix: string): AsyncIterable<{ key: string; size: number }>
  get(key: string): Promise<Readable>
  head(key: string): Promise<{ size: number } | null>
  put(key: string, body: Readable, expected: { sha256: string; size: number }): Promise<void>
  delete(key: string): Promise<void>
  room?(): Promise<{ free: number; reserve: number }>
}

/** The blobs of both storages. */
export interface BlobPair {
  source: MovedStorage
  target: MovedStorage
  /**
   * The blobs up to this key were copied and compared by an earlier run of the same move; the empty text for none. A
   * blob never changes, so they need not be read again.
   */
  comparedUpTo: string
  /** Called in the order of the keys: all blobs up to this one are copied and compared. */
  compared: (key: string) => void
  /** Called with the size of each blob that is done. */
  progress: (bytes: number) => void
}

/** The result of a pass over all blobs. */
export interface BlobSummary {
  blobs: number
  bytes: number
  /** The number of blobs that this pass copied. */
  copied: number
}

/** Number of blobs that are copied at once; a small blob costs one or two round trips to a bucket. */
const AT_ONCE = 8
/** A blob up to this size is kept in memory while it is copied. */
const KEPT_BYTES = 128 * 1024

/**
 * Copies the blobs that the target lacks and compares the digest of each by reading it back. Both lists are in the order
 * of the keys, so they are compared without being kept in memory.
 *
 * @param final whether the source no longer changes: blobs of the target that the source does not have are deleted
 */
export async function copyBlobs(pair: BlobPair, final: boolean): Promise<BlobSummary> {
  const { source, target } = pair
  const summary: BlobSummary = { blobs: 0, bytes: 0, copied: 0 }
  const underWay: { key: string; work: Promise<void> }[] = []
  const finishOne = async () => {
    const first = underWay.shift()
    await first?.work
    if (first && first.key > pair.comparedUpTo) pair.compared(first.key)
  }
  try {
    for await (const { ours, theirs } of merged(source.list(''), target.list(''))) {
      if (!ours) {
        if (final && theirs && (await isAbsent(source, theirs.key)))
          await guarded('target', () => target.delete(theirs.key))
        continue
      }
      const { key, size } = ours
      summary.blobs++
      summary.bytes += size
      if (theirs?.size === size && key <= pair.comparedUpTo) {
        pair.progress(size)
        continue
      }
      if (!theirs) summary.copied++
      const work = copyBlob(pair, ours, theirs).then((there) => {
        // Removed meanwhile by a clean-up of the platform.
        if (!there && final)
          throw new MoveError(`The blob ${key} was removed from the source: run the same command again.`)
        pair.progress(size)
      })
      work.catch(() => {}) // awaited below, in the order of the keys
      underWay.push({ key, work })
      if (underWay.length >= AT_ONCE) await finishOne()
    }
    while (underWay.length) await finishOne()
    return summary
  } finally {
    await Promise.allSettled(underWay.map(({ work }) => work))
  }
}

/** Some servers of buckets list keys in another order, so the lists alone do not prove that the source lacks a blob. */
const isAbsent = async (source: MovedStorage, key: string): Promise<boolean> =>
  (await guarded('source', () => source.head(key))) === null

interface Listed {
  key: string
  size: number
}

/** @returns false when the source no longer has the blob */
async function copyBlob({ source, target }: BlobPair, { key, size }: Listed, theirs: Listed | null): Promise<boolean> {
  const read = () => guarded('source', () => source.get(key))
  const put = async (body: Readable, sha256: string) => {
    try {
      await guarded('target', () => target.put(key, body, { sha256, size }))
    } finally {
      body.destroy()
    }
  }
  try {
    if (theirs && theirs.size !== size) await guarded('target', () => target.delete(key))
    let sha256: string
    if (theirs?.size === size) sha256 = await digestOf('source', await read())
    else if (size <= KEPT_BYTES) {
      const bytes = await guarded('source', async () => buffer(await source.get(key)))
      sha256 = createHash('sha256').update(bytes).digest('hex')
      await put(Readable.from([bytes], { objectMode: false }), sha256)
    } else {
      // Most keys end with the digest of their blob, which `put` verifies. Others are read once more before.
      const named = /(?:^|\/)([0-9a-f]{64})$/.exec(key)?.[1]
      const isRight = named !== undefined && (await put(await read(), named).then(() => true, unlessMismatch))
      sha256 = isRight ? named : await digestOf('source', await read())
      if (!isRight) await put(await read(), sha256)
    }
    const stored = await digestOf('target', await guarded('target', () => target.get(key)))
    if (stored === sha256) return true
    throw new MoveError(
      `The blob ${key} is not the same in the target: delete it there, and run the same command again.`,
    )
  } catch (error) {
    if (await isAbsent(source, key)) return false
    throw error
  }
}

/** @returns false when the bytes have another digest than the key says */
function unlessMismatch(error: MoveError): false {
  if ((error.cause as { code?: string } | undefined)?.code === 'digest_mismatch') return false
  throw error
}

function digestOf(which: 'source' | 'target', body: Readable): Promise<string> {
  return guarded(which, async () => {
    const hash = createHash('sha256')
    for await (const chunk of body) hash.update(chunk as Buffer)
    return hash.digest('hex')
  })
}

/** Walks two lists in the same order side by side. */
async function* merged(
  source: AsyncIterable<Listed>,
  target: AsyncIterable<Listed>,
): AsyncGenerator<{ ours: Listed | null; theirs: Listed | null }> {
  const [left, right] = [source[Symbol.asyncIterator](), target[Symbol.asyncIterator]()]
  const nextOf = (which: 'source' | 'target', list: AsyncIterator<Listed>) =>
    guarded(which, async () => {
      const { value, done } = await list.next()
      return done ? null : (value as Listed)
    })
  let [ours, theirs] = await Promise.all([nextOf('source', left), nextOf('target', right)])
  while (ours || theirs) {
    const both = ours?.key === theirs?.key
    const first = !theirs || (ours && ours.key < theirs.key)
    yield { ours: both || first ? ours : null, theirs: both || !first ? theirs : null }
    const advance = { left: both || first, right: both || !first }
    ;[ours, theirs] = await Promise.all([
      advance.left ? nextOf('source', left) : ours,
      advance.right ? nextOf('target', right) : theirs,
    ])
  }
}

/**
 * Checks that a storage has no blobs but those of the source, as an interrupted move leaves them.
 *
 * @throws MoveError
 */
export async function refuseForeignBlobs(source: MovedStorage, target: MovedStorage): Promise<void> {
  for await (const { ours, theirs } of merged(source.list(''), target.list('')))
    if (!ours && theirs && (await isAbsent(source, theirs.key)))
      throw new MoveError(
        `The target's storage is not empty: it has ${theirs.key}. Name an empty folder, bucket or prefix.`,
      )
}

/**
 * Estimates whether a storage on this machine has room for all blobs of another.
 *
 * @throws MoveError
 */
export async function assertRoomFor(
  source: MovedStorage,
  target: MovedStorage,
): Promise<{ blobs: number; bytes: number }> {
  let [blobs, bytes, present] = [0, 0, 0]
  for await (const { size } of source.list('')) {
    blobs++
    bytes += size
  }
  const room = await target.room?.()
  if (room) {
    for await (const { size } of target.list('')) present += size
    const needed = bytes - present
    if (room.free - needed < room.reserve)
      throw new MoveError(
        `The target's storage has no room: ${formatBytes(Math.max(0, needed))} are to be copied, ${formatBytes(room.free)} are free, and ${formatBytes(room.reserve)} of them are kept free (storage.reserveBytes).`,
      )
  }
  return { blobs, bytes }
}
