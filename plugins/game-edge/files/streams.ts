import { pipeline, Readable, type Transform } from 'node:stream'
import { constants, createBrotliCompress, createBrotliDecompress, createGunzip, createGzip } from 'node:zlib'
import type { ByteRange } from '../../../core/data/byte-range.ts'
import type { Coding } from './codings.ts'

/** The bytes that come out of zlib, which works in its own threads, in one turn of the event loop. */
const CHUNK_BYTES = 256 * 1024

/** Returns the transformation of compressed bytes into their content. */
export function decoder(coding: Coding): Transform {
  const options = { chunkSize: CHUNK_BYTES }
  return coding === 'br' ? createBrotliDecompress(options) : createGunzip(options)
}

/** Returns the transformation of a text of a number of bytes into a coding. Its result is the same each time. */
export function encoder(coding: Coding, bytes: number): Transform {
  if (coding === 'gzip') return createGzip({ chunkSize: CHUNK_BYTES })
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 5,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes,
  }
  return createBrotliCompress({ chunkSize: CHUNK_BYTES, params })
}

/** Streams what a transformation makes of a stream, which ends with it. */
export const transformed = (source: Readable, through: Transform): Readable =>
  // An error of either destroys both, and the reader sees it.
  pipeline(source, through, () => {})

/** Streams a part of a stream, which is closed after it. */
export function partOf(stream: Readable, { start, end }: ByteRange): Readable {
  const part = Readable.from(sliced(stream, start, end), { objectMode: false })
  // A `finally` of the generator would not run for a stream that is destroyed before its first read.
  return part.once('close', () => stream.destroy())
}

async function* sliced(stream: Readable, start: number, end: number): AsyncGenerator<Buffer> {
  let at = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const from = Math.max(start - at, 0)
    const to = Math.min(end + 1 - at, chunk.length)
    if (from < to) yield chunk.subarray(from, to)
    at += chunk.length
    if (at > end) return
  }
}

/** Runs one piece of work at a time, in the order of the calls. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve()

  /** Waits for the turn. @returns a function that ends it */
  async take(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = this.#last
    this.#last = promise
    await before
    return resolve
  }
}
