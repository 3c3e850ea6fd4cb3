/** The stream has ended before the bytes that were asked for. */
export class EndOfBytes extends Error {}

/** Reads numbers of bytes from a stream, whatever the size of its chunks. It holds no more than one chunk and a result. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  #chunk: Uint8Array = new Uint8Array()
  #at = 0

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#chunks = bytes[Symbol.asyncIterator]()
  }

  /** @throws EndOfBytes */
  async read(bytes: number): Promise<Uint8Array> {
    if (this.#at + bytes <= this.#chunk.length) {
      this.#at += bytes
      return this.#chunk.subarray(this.#at - bytes, this.#at)
    }
    const parts: Uint8Array[] = []
    for (let left = bytes; left > 0; ) {
      const part = this.#chunk.subarray(this.#at, this.#at + left)
      parts.push(part)
      left -= part.length
      this.#at += part.length
      if (left > 0) await this.#next()
    }
    return Buffer.concat(parts)
  }

  /** @throws EndOfBytes */
  async skip(bytes: number): Promise<void> {
    for (let left = bytes; ; ) {
      const skipped = Math.min(left, this.#chunk.length - this.#at)
      this.#at += skipped
      left -= skipped
      if (left === 0) return
      await this.#next()
    }
  }

  /** Ends the stream, from which nothing more is read. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  async #next(): Promise<void> {
    const { value, done } = await this.#chunks.next()
    if (done) throw new EndOfBytes()
    this.#chunk = value
    this.#at = 0
  }
}
