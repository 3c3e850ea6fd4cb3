import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import type { Fingerprint, Key } from './rows.ts'
import type { Table } from './tables.ts'
import { keyFromJson, keyToJson } from './values.ts'

/** A page of a table as it was copied. */
export interface Page {
  /** The last key of the page; the first page begins before every key. */
  upTo: Key
  /** What the source had at that moment; null when the page could not be copied, as its rows contradict others. */
  fingerprint: Fingerprint | null
}

/**
 * The pages of all tables as they were copied, in the order of the keys, with the keys of their rows.
 *
 * The keys tell which rows have been deleted since. They are in a file, so that memory does not grow with the number of
 * rows. The file is deleted at once, and its space is free when the process ends.
 */
export class PageList {
  readonly #file: number
  readonly #pages = new Map<string, (Page & { offset: number; length: number })[]>()
  #end = 0

  /** @param file a new file in a folder with room for the keys of all rows */
  constructor(file: string) {
    this.#file = openSync(file, 'wx+', 0o600)
    rmSync(file)
  }

  of({ name }: Table): readonly Page[] {
    return this.#pages.get(name) ?? []
  }

  /** Replaces a number of pages from an index on; by default adds at the end. */
  put(table: Table, page: Page, keys: Key[], index = this.of(table).length): void {
    const text = JSON.stringify(keys.map((key) => key.map((value, at) => keyToJson(column(table, at), value))))
    const bytes = Buffer.from(text)
    for (let written = 0; written < bytes.length; )
      written += writeSync(this.#file, bytes, written, bytes.length - written, this.#end + written)
    const pages = this.#pages.get(table.name) ?? []
    this.#pages.set(table.name, pages)
    pages[index] = { ...page, offset: this.#end, length: bytes.length }
    this.#end += bytes.length
  }

  /** Returns the keys of the rows that a page had. */
  keys(table: Table, index: number): Key[] {
    const page = this.#pages.get(table.name)?.[index]
    if (!page) return []
    const bytes = Buffer.alloc(page.length)
    for (let read = 0; read < bytes.length; )
      read += readSync(this.#file, bytes, read, bytes.length - read, page.offset + read)
    const keys: unknown[][] = JSON.parse(bytes.toString())
    return keys.map((key) => key.map((value, at) => keyFromJson(column(table, at), value)))
  }

  close(): void {
    closeSync(this.#file)
  }
}

const column = ({ key }: Table, index: number) => key[index] as Table['key'][number]
