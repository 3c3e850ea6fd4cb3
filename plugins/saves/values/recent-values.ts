import type { SaveOwner } from '../save-rows.ts'

/** The memory of an entry beyond its bytes: the key, the map. */
const OVERHEAD_BYTES = 400

interface Entry {
  version: number
  bytes: Buffer
}

/**
 * Keeps the small values that were read last, up to a number of bytes.
 *
 * A version of a save never changes and its number is never used again, so an entry stays right whichever process
 * writes. The caller asks the database for the current version, which costs less than half of reading the value.
 */
export class RecentValues {
  readonly #maxBytes: number
  /** In the order of their last use, once half of the bytes are in use. */
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The number of bytes in memory. */
  get bytes(): number {
    return this.#bytes
  }

  /** Returns the value of the version that was read last; it may not be the current one. */
  get(owner: SaveOwner, key: string): Entry | undefined {
    const name = nameOf(owner, key)
    const entry = this.#entries.get(name)
    // The order matters only near the limit, and to move an entry takes longer than to find it.
    if (!entry || this.#bytes < this.#maxBytes / 2) return entry
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    return entry
  }

  keep(owner: SaveOwner, key: string, { version, bytes }: Entry): void {
    const name = nameOf(owner, key)
    this.#drop(name)
    // A driver may return a part of a larger buffer, which would then stay in memory as a whole.
    const own = Buffer.allocUnsafeSlow(bytes.length)
    bytes.copy(own)
    this.#entries.set(name, { version, bytes: own })
    this.#bytes += own.length + OVERHEAD_BYTES
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.#drop(oldest)
    }
  }

  #drop(name: string): void {
    const entry = this.#entries.get(name)
    if (!entry) return
    this.#entries.delete(name)
    this.#bytes -= entry.bytes.length + OVERHEAD_BYTES
  }
}

const nameOf = ({ gameId, playerId }: SaveOwner, key: string): string => `${gameId}/${playerId}/${key}`
