/** A small file ready to go out: bytes and headers made once. */
export interface HotFile {
  etag: string
  body: Buffer
  /** Pairs for `writeHead`, without length and range. */
  headers: string[]
  /** The same with `content-length`: the answer to a plain GET. */
  whole: string[]
}

/** What a file costs beyond its bytes: headers, keys, the map's own. */
const OVERHEAD_BYTES = 1024

/** The small files that were asked for lately, in memory, up to a number of bytes; the longest unused go first. */
export class HotFiles {
  readonly #maxBytes: number
  readonly #files = new Map<string, HotFile>()
  readonly #loading = new Map<string, Promise<HotFile>>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.#bytes
  }

  /** What is held under a key; at once, since most requests end here. */
  get(key: string): HotFile | undefined {
    const file = this.#files.get(key)
    if (file) {
      this.#files.delete(key) // Map keeps the order of insertion: the first is the longest unused
      this.#files.set(key, file)
    }
    return file
  }

  /** Loads a file and keeps it. Those who ask for it meanwhile wait for the same load. */
  load(key: string, read: () => Promise<HotFile>): Promise<HotFile> {
    const loading = this.#loading.get(key)
    if (loading) return loading
    const started = read()
      .then((file) => this.#keep(key, file))
      .finally(() => this.#loading.delete(key))
    this.#loading.set(key, started)
    return started
  }

  #keep(key: string, file: HotFile): HotFile {
    this.#files.set(key, file)
    this.#bytes += file.body.length + OVERHEAD_BYTES
    for (const [oldest, { body }] of this.#files) {
      if (this.#bytes <= this.#maxBytes) break
      this.#files.delete(oldest)
      this.#bytes -= body.length + OVERHEAD_BYTES
    }
    return file
  }
}
