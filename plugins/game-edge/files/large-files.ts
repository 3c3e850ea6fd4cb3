import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { ByteRange } from '../../../core/data/byte-range.ts'
import type { Digested } from '../../../core/data/disk-cache.ts'
import type { GameBlob } from './blobs.ts'
import { partOf } from './streams.ts'

/** The part of a file that is read to be changed: the head of a document begins in it. */
const START_BYTES = 64 * 1024

/** A file that is too large to be read whole, with a changed start. Its digest is that of the file and the change. */
export interface LargeFile extends Digested {
  open(range?: ByteRange): Promise<Readable>
}

/** Changes the start of a file without reading it whole. Returns null if the change leaves it as it is. */
export async function largeFile(
  file: GameBlob,
  change: (start: Buffer) => Buffer,
  open: (blob: GameBlob, range?: ByteRange) => Promise<Readable>,
): Promise<LargeFile | null> {
  const start = await buffer(await open(file, { start: 0, end: START_BYTES - 1 }))
  const changed = change(start)
  if (changed === start) return null
  const rest = { start: start.length, end: file.size - 1 }
  async function* joined() {
    yield changed
    yield* await open(file, rest)
  }
  const size = file.size - start.length + changed.length
  return {
    sha256: createHash('sha256').update(file.sha256).update(changed).digest('hex'),
    size,
    open: async (range = { start: 0, end: size - 1 }) => partOf(Readable.from(joined(), { objectMode: false }), range),
  }
}
