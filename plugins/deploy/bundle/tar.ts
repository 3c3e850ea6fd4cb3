import type { Readable } from 'node:stream'
import { InvalidBundle } from '../errors.ts'

/** The unit of a tar archive. Headers take one block, and contents are padded to whole ones. */
export const BLOCK_BYTES = 512

/** A file of an archive. Its content is read before the next entry is asked for, by one of the two functions. */
export interface TarEntry {
  name: string
  /** In bytes. */
  size: number
  /** Returns the content in one piece. */
  bytes(): Promise<Buffer>
  /** Returns the content as it arrives. */
  chunks(): AsyncGenerator<Buffer>
}

/** Returns the size of a file in an archive, with its header. */
export const tarSizeOf = (size: number): number => BLOCK_BYTES * (1 + Math.ceil(size / BLOCK_BYTES))

/** The most that programs put at the end of an archive: they fill it up to a whole record. */
export const RECORD_BYTES = 20 * BLOCK_BYTES

/**
 * Reads a tar archive of plain files as it arrives (POSIX.1-2017 pax, "ustar Interchange Format"). It is bounded by the
 * stream: a header has a fixed size, and contents are passed on.
 *
 * @throws InvalidBundle for anything but plain files, and for an archive without its end
 */
export async function* tarEntries(body: Readable): AsyncGenerator<TarEntry> {
  const chunks: AsyncIterator<Buffer> = body.iterator({ destroyOnReturn: false })
  try {
    yield* entriesOf(new ByteReader(chunks))
  } finally {
    // The rest of the stream can be read by others only after this.
    await chunks.return?.()
  }
}

async function* entriesOf(reader: ByteReader): AsyncGenerator<TarEntry> {
  for (;;) {
    const header = await reader.take(BLOCK_BYTES)
    if (isZero(header)) break
    const { name, size } = parseHeader(header)
    let left = size
    yield {
      name,
      size,
      async bytes() {
        left = 0
        return reader.take(size)
      },
      async *chunks() {
        while (left > 0) {
          const chunk = await reader.some(left)
          left -= chunk.length
          yield chunk
        }
      },
    }
    while (left > 0) left -= (await reader.some(left)).length
    await reader.take((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES)
  }
  if (!isZero(await reader.take(BLOCK_BYTES))) throw new InvalidBundle('one block of zeros is not an end')
  // Some programs fill the archive up with zeros.
  for (let rest = await reader.rest(); rest; rest = await reader.rest())
    if (!isZero(rest)) throw new InvalidBundle('there are bytes after its end')
}

function parseHeader(header: Buffer): { name: string; size: number } {
  // The sum is computed with the eight bytes of the sum itself as spaces.
  let sum = 8 * 32
  for (let index = 0; index < BLOCK_BYTES; index++) if (index < 148 || index >= 156) sum += header[index] as number
  if (octal(header, 148, 8) !== sum) throw new InvalidBundle('a header has another checksum than it says')
  if (header.toString('latin1', 257, 262) !== 'ustar') throw new InvalidBundle('a header is not in the format ustar')
  const type = header[156] as number
  const name = text(header, 0, 100)
  if (type !== 0 && type !== 0x30) throw new InvalidBundle(`the entry ${printable(name)} is not a plain file`)
  const size = octal(header, 124, 12)
  if (size === null) throw new InvalidBundle(`the entry ${printable(name)} has a size that is not a number`)
  const prefix = text(header, 345, 155)
  return { name: prefix ? `${prefix}/${name}` : name, size }
}

/** Reads a number in octal digits, which ends at a space, at a NUL or with its field. */
function octal(header: Buffer, start: number, length: number): number | null {
  const [, digits] = /^ *([0-7]+)[ \0]*$/.exec(header.toString('latin1', start, start + length)) ?? []
  return digits === undefined ? null : Number.parseInt(digits, 8)
}

function text(header: Buffer, start: number, length: number): string {
  const end = header.indexOf(0, start)
  return header.toString('latin1', start, end === -1 ? start + length : Math.min(end, start + length))
}

const printable = (name: string) => JSON.stringify(name.slice(0, 80))

const ZEROS = Buffer.alloc(64 * 1024)

function isZero(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += ZEROS.length) {
    const part = bytes.subarray(at, at + ZEROS.length)
    if (!part.equals(ZEROS.subarray(0, part.length))) return false
  }
  return true
}

/** Reads given numbers of bytes from chunks of any size. */
class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>
  #chunk: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterator<Buffer>) {
    this.#chunks = chunks
  }

  /** Returns exactly `length` bytes. @throws InvalidBundle when there are fewer */
  async take(length: number): Promise<Buffer> {
    if (this.#chunk.length >= length) return this.#cut(length)
    const parts: Buffer[] = []
    for (let left = length; left > 0; ) {
      const part = await this.some(left)
      parts.push(part)
      left -= part.length
    }
    return Buffer.concat(parts, length)
  }

  /** Returns at least one byte and at most `length`. @throws InvalidBundle at the end */
  async some(length: number): Promise<Buffer> {
    if (this.#chunk.length === 0) {
      const next = await this.rest()
      if (next === null) throw new InvalidBundle('it ends without two blocks of zeros')
      this.#chunk = next
    }
    return this.#cut(Math.min(length, this.#chunk.length))
  }

  /** Returns whatever comes next; null at the end. */
  async rest(): Promise<Buffer | null> {
    const chunk = this.#cut(this.#chunk.length)
    if (chunk.length > 0) return chunk
    for (;;) {
      const { value, done } = await this.#chunks.next()
      if (done) return null
      if (value.length > 0) return value
    }
  }

  #cut(length: number): Buffer {
    const part = this.#chunk.subarray(0, length)
    this.#chunk = this.#chunk.subarray(length)
    return part
  }
}
