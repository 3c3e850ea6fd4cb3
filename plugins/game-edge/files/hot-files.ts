import type { BufferedFile } from '../../../core/http/send-file.ts'
import type { Coding } from './codings.ts'

/** A small file in one coding, with its bytes and headers prepared. */
export type HotForm = BufferedFile

/** The codings of one file that are in memory. */
export type HotFile = Partial<Record<Coding | 'plain', HotForm>>

/** The hot files of one site, by the path in their address (`/main.js`). */
export interface HotTable {
  files: Map<string, HotFile & { codings: readonly Coding[] }>
  discarded: boolean
}

export const hotTable = (): HotTable => ({ files: new Map(), discarded: false })

/** The memory of an entry beyond its bytes: headers, keys, maps. */
const OVERHEAD_BYTES = 1024

interface Slot {
  table: HotTable
  path: string
  kind: Coding | 'plain'
  form: HotForm
}

/**
 * Caches small, recently requested files in memory, up to a number of bytes.
 *
 * Eviction is second chance (CLOCK): a request marks its file, which costs nothing, and when room is needed a marked
 * file loses its mark and moves to the end of the queue.
 */
export class HotFiles {
  readonly #maxBytes: number
  readonly #line = new Set<Slot>()
  readonly #loading = new Map<HotTable, Map<string, Promise<HotForm>>>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The number of bytes in memory. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Loads a form of a file and caches it in its table. Concurrent callers share one load.
   *
   * @param codings available for the file
   */
  load(
    table: HotTable,
    path: string,
    { kind, codings }: { kind: Coding | 'plain'; codings: readonly Coding[] },
    read: () => Promise<HotForm>,
  ): Promise<HotForm> {
    const loads = this.#loading.get(table) ?? new Map<string, Promise<HotForm>>()
    this.#loading.set(table, loads)
    const key = `${kind} ${path}`
    const under = loads.get(key)
    if (under) return under
    const started = read()
      .then((form) => {
        this.#keep({ table, path, kind, form }, codings)
        return form
      })
      .finally(() => {
        loads.delete(key)
        if (loads.size === 0) this.#loading.delete(table)
      })
    loads.set(key, started)
    return started
  }

  /** Evicts a site's files because another build is live now. */
  discard(table: HotTable): void {
    table.discarded = true
    for (const slot of this.#line) if (slot.table === table) this.#remove(slot)
  }

  #keep(slot: Slot, codings: readonly Coding[]): void {
    const { table, path, kind, form } = slot
    if (table.discarded || costOf(form) > this.#maxBytes) return
    const file = table.files.get(path) ?? { codings }
    file[kind] = form
    table.files.set(path, file)
    this.#line.add(slot)
    this.#bytes += costOf(form)
    for (const oldest of this.#line) {
      if (this.#bytes <= this.#maxBytes) break
      if (oldest.form.used) {
        oldest.form.used = false
        this.#line.delete(oldest)
        this.#line.add(oldest)
      } else {
        this.#remove(oldest)
      }
    }
  }

  #remove(slot: Slot): void {
    const { table, path, kind, form } = slot
    this.#line.delete(slot)
    this.#bytes -= costOf(form)
    const file = table.files.get(path)
    if (!file) return
    delete file[kind]
    if (!file.plain && !file.br && !file.gzip) table.files.delete(path)
  }
}

const costOf = ({ body, text }: HotForm): number => body.length + (text?.length ?? 0) + OVERHEAD_BYTES
