import { read } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { RandomAccessReader } from 'yauzl'

/** Block size, which holds about seven hundred directory entries. */
const BLOCK_BYTES = 64 * 1024

/** The number of bytes that are read ahead for the contents of small files. */
const AHEAD_BYTES = 1024 ** 2

type Done = (error: Error | null, bytesRead?: number) => void

/**
 * Reads the archive's directory in blocks. The library's default reader makes two system calls for every entry, which
 * takes seconds for tens of thousands of them.
 */
export class BlockReader extends RandomAccessReader {
  /** Offset of the directory, once it is known; bytes before it are read on demand. */
  directoryAt = Number.POSITIVE_INFINITY
  readonly #file: FileHandle
  #block = Buffer.alloc(0)
  #blockAt = 0
  #ahead = Buffer.alloc(0)
  #aheadAt = 0

  constructor(file: FileHandle) {
    super()
    this.#file = file
  }

  /** @param range `end` is exclusive */
  override createReadStream({ start, end }: { start: number; end: number }): Readable {
    return Readable.from(this.#pieces(start, end), { objectMode: false })
  }

  /** Reads by position, since a stream of the file itself would close the file at its end. */
  async *#pieces(start: number, end: number): AsyncGenerator<Buffer> {
    for (let at = start; at < end; ) {
      const piece = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, end - at))
      const { bytesRead } = await this.#file.read(piece, 0, piece.length, at)
      if (bytesRead === 0) throw new Error('unexpected end of the file')
      yield piece.subarray(0, bytesRead)
      at += bytesRead
    }
  }

  /**
   * Returns some bytes, and reads ahead for calls with the positions that follow. A result may share its memory with
   * others.
   *
   * @param end exclusive
   */
  async piece(start: number, end: number): Promise<Buffer> {
    if (start < this.#aheadAt || end > this.#aheadAt + this.#ahead.length) {
      const block = Buffer.allocUnsafeSlow(Math.max(AHEAD_BYTES, end - start))
      let length = 0
      while (length < end - start) {
        const { bytesRead } = await this.#file.read(block, length, block.length - length, start + length)
        if (bytesRead === 0) throw new Error('unexpected end of the file')
        length += bytesRead
      }
      this.#ahead = block.subarray(0, length)
      this.#aheadAt = start
    }
    return this.#ahead.subarray(start - this.#aheadAt, end - this.#aheadAt)
  }

  override read(buffer: Buffer, offset: number, length: number, position: number, done: Done): void {
    const from = position - this.#blockAt
    if (from >= 0 && from + length <= this.#block.length) {
      this.#block.copy(buffer, offset, from, from + length)
      done(null, length)
    } else if (position < this.directoryAt || length > BLOCK_BYTES) {
      read(this.#file.fd, buffer, offset, length, position, done)
    } else {
      const block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      read(this.#file.fd, block, 0, BLOCK_BYTES, position, (error, bytesRead) => {
        if (error) return done(error)
        this.#block = block.subarray(0, bytesRead)
        this.#blockAt = position
        block.copy(buffer, offset, 0, Math.min(length, bytesRead))
        done(null, Math.min(length, bytesRead))
      })
    }
  }

  override close(done: (error: Error | null) => void): void {
    this.#file.close().then(() => done(null), done)
  }
}
