import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ExportUnderWay } from '../errors.ts'

/**
 * Exports a plugin's data about a player: plain data without secrets. Where players choose how much it is, these are the
 * pages of a list, or JSON text in parts.
 */
export type Exporter = (playerId: string) => Promise<unknown> | AsyncIterable<string | readonly unknown[]>

/** The headers of an answer that is an export. */
export const downloadHeaders = (filename: string) => ({
  'cache-control': 'no-store',
  'content-disposition': `attachment; filename="${filename}"`,
  'content-type': 'application/json; charset=utf-8',
})

/** The elements of a list that are written in one turn of the event loop. */
const ELEMENTS_AT_ONCE = 200

/** Writes all data about a player as one JSON object, part by part, so that it is never in memory as a whole. */
export class DataExport {
  /** The exporters, by their name in the file. Plugins add theirs. */
  readonly exporters = new Map<string, Exporter>()
  /** Functions that end the exports of players. */
  readonly #underWay = new Map<string, () => void>()

  /**
   * Begins an export. A player has one at a time on each node, until everything is read or the stream closes.
   *
   * @throws ExportUnderWay
   */
  begin(playerId: string, exportedAt: Date): Readable {
    if (this.#underWay.has(playerId)) throw new ExportUnderWay()
    const end = () => {
      // The next one may have begun.
      if (this.#underWay.get(playerId) === end) this.#underWay.delete(playerId)
    }
    this.#underWay.set(playerId, end)
    const text = Readable.from(this.#write(playerId, exportedAt, end), { objectMode: false })
    return text.once('close', end)
  }

  async *#write(playerId: string, exportedAt: Date, end: () => void): AsyncGenerator<string> {
    yield `{"exportedAt":${JSON.stringify(exportedAt)}`
    for (const [name, exporter] of this.exporters) {
      yield `,\n${JSON.stringify(name)}:`
      const part = exporter(playerId)
      if (Symbol.asyncIterator in part) yield* textOfParts(part)
      else yield* textOf(await part)
    }
    // The reader of the last line may ask for another one at once, before the stream has closed.
    end()
    yield '}\n'
  }
}

/** Writes pages as one list, and leaves text as it is. */
async function* textOfParts(parts: AsyncIterable<string | readonly unknown[]>): AsyncGenerator<string> {
  let elements = 0
  let isList = false
  for await (const part of parts) {
    if (typeof part === 'string') {
      yield part
      continue
    }
    if (!isList) yield '['
    isList = true
    if (part.length > 0) yield `${elements > 0 ? ',' : ''}${JSON.stringify(part, null, 1).slice(1, -1)}`
    elements += part.length
  }
  if (isList) yield ']'
}

async function* textOf(value: unknown): AsyncGenerator<string> {
  if (!Array.isArray(value)) return yield JSON.stringify(value)
  yield '['
  for (let start = 0; start < value.length; start += ELEMENTS_AT_ONCE) {
    await nextTurn()
    const some = JSON.stringify(value.slice(start, start + ELEMENTS_AT_ONCE), null, 1).slice(1, -1)
    yield start === 0 ? some : `,${some}`
  }
  yield ']'
}
