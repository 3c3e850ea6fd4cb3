/** The memory of a key beyond its own bytes: quotes, colon, comma, the map's entry. */
const KEY_BYTES = 16

/** The shared state of a room's players: keys and JSON values under one version, which grows by one with each write. */
export class SharedState {
  version = 0
  readonly #maxBytes: number
  /** The values as JSON text, since the whole state is sent as text to each joining player. */
  readonly #values = new Map<string, { json: string; bytes: number }>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The size that counts against the limit. */
  get bytes(): number {
    return this.#bytes
  }

  /** Sets and deletes keys atomically. @returns false when the state would become too large */
  write(set: Record<string, unknown>, del: readonly string[]): boolean {
    const written = Object.entries(set).map(([key, value]): [string, { json: string; bytes: number }] => {
      const json = JSON.stringify(value)
      return [key, { json, bytes: Buffer.byteLength(json) + Buffer.byteLength(key) + KEY_BYTES }]
    })
    const gone = new Set([...Object.keys(set), ...del])
    let bytes = this.#bytes
    for (const key of gone) bytes -= this.#values.get(key)?.bytes ?? 0
    // A key that is both deleted and set is set, because clients apply changes in this order.
    for (const [, value] of written) bytes += value.bytes
    if (bytes > this.#maxBytes && bytes > this.#bytes) return false
    for (const key of gone) this.#values.delete(key)
    for (const [key, value] of written) this.#values.set(key, value)
    this.#bytes = bytes
    this.version++
    return true
  }

  /** Restores another node's stored state, whatever its size. */
  restore(values: Record<string, unknown>, version: number): void {
    for (const [key, value] of Object.entries(values)) {
      const json = JSON.stringify(value)
      const bytes = Buffer.byteLength(json) + Buffer.byteLength(key) + KEY_BYTES
      this.#values.set(key, { json, bytes })
      this.#bytes += bytes
    }
    this.version = version
  }

  /** Returns the whole state as JSON text. */
  toJson(): string {
    return `{${Array.from(this.#values, ([key, { json }]) => `${JSON.stringify(key)}:${json}`).join()}}`
  }
}
