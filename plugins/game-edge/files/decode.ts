import { pipeline, Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip } from 'node:zlib'
import type { ByteRange } from '../../../core/data/byte-range.ts'
import type { Coding } from './codings.ts'

/** The bytes that come out of zlib, which works in its own threads, in one turn of the event loop. */
const CHUNK_BYTES = 256 * 1024

/** Streams the content of a compressed file. The stored stream ends with it. */
export function decoded(stored: Readable, coding: Coding): Readable {
  const options = { chunkSize: CHUNK_BYTES }
  const decoder = coding === 'br' ? createBrotliDecompress(options) : createGunzip(options)
  // An error of either destroys both, and the reader of the decoder sees it.
  return pipeline(stored, decoder, () => {})
}

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
