import type { Encoded } from './values.ts'

/** A change that has been asked for, and may not be in the store yet. */
export interface JournalEntry {
  /** Unique among all pages. */
  id: string
  /** The player; null while it was not known who plays. The change is then for the player whom the server names. */
  account: string | null
  key: string
  /** Null: the save is deleted. */
  value: Encoded | null
  /** The version that the value was made from; null: none; absent: the one that the device knows. */
  base?: number | null
  /** As in `Pending`. */
  setAt: number
  offset: number | null
}

type Stored = Omit<JournalEntry, 'value'> & { value: { type: string; text?: string; base64?: string } | null }

const PREFIX = 'service.saves.'
/** The largest value in bytes. The storage is small, and its writes hold the page up. */
export const JOURNAL_BYTES = 32 * 1024
/** A change of a former page that nobody took. */
const KEPT_MS = 30 * 86_400_000

/**
 * Changes in `localStorage` until the store has them. A page that is being closed gets no further than its first wait,
 * so what it saves at the end reaches only a storage that is written at once. The next page takes it from there.
 */
export class Journal {
  #count = 0
  /** Unique among all pages. */
  readonly page = pageId()

  /** Returns the id of a change of this page. */
  nextId(): string {
    return `${this.page}.${this.#count++}`
  }

  /** @returns false when the value is too large, or the browser keeps nothing */
  add(change: JournalEntry): boolean {
    if (change.value && change.value.bytes.byteLength > JOURNAL_BYTES) return false
    try {
      const text = JSON.stringify({ ...change, value: change.value && textOf(change.value) })
      localStorage.setItem(PREFIX + change.id, text)
      return true
    } catch {
      return false
    }
  }

  remove(id: string): void {
    try {
      localStorage.removeItem(PREFIX + id)
    } catch {
      // What can't be removed is taken once only.
    }
  }

  /** Returns the changes that other pages have left, in their order. Some of the pages may still be open. */
  left(): JournalEntry[] {
    try {
      return Object.keys(localStorage)
        .filter((name) => name.startsWith(PREFIX) && !name.startsWith(`${PREFIX}${this.page}.`))
        .flatMap((name) => this.#read(name))
        .sort((one, other) => one.setAt - other.setAt || one.id.localeCompare(other.id, 'en', { numeric: true }))
    } catch {
      return []
    }
  }

  #read(name: string): JournalEntry[] {
    try {
      const stored = JSON.parse(localStorage.getItem(name) ?? '') as Stored
      if (stored.setAt < Date.now() - KEPT_MS) throw new Error('It is too old.')
      return [{ ...stored, value: stored.value && encodedOf(stored.value) }]
    } catch {
      localStorage.removeItem(name)
      return []
    }
  }
}

/** A page on plain http has no `crypto.randomUUID`. */
const pageId = (): string =>
  [...crypto.getRandomValues(new Uint32Array(4))].map((number) => number.toString(36)).join('')

function textOf({ bytes, type }: Encoded): Stored['value'] {
  try {
    return { type, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    let binary = ''
    for (const byte of new Uint8Array(bytes)) binary += String.fromCharCode(byte)
    return { type, base64: btoa(binary) }
  }
}

function encodedOf({ type, text, base64 }: NonNullable<Stored['value']>): Encoded {
  const bytes =
    base64 === undefined
      ? new TextEncoder().encode(text)
      : Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  return { type, bytes: bytes.buffer as ArrayBuffer }
}
