import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { ByteRange } from '../../../core/data/byte-range.ts'
import type { Digested } from '../../../core/data/disk-cache.ts'

/** The part of a document that is examined for its encoding. */
const EXAMINED_BYTES = 1024 * 1024
/** Where a document declares its encoding (HTML standard, section "Specifying the document's character encoding"). */
const DECLARED_BYTES = 1024
/** The maximum number of documents whose encoding is remembered. */
const REMEMBERED = 10_000

type Open = (blob: Digested, range?: ByteRange) => Promise<Readable>

/**
 * Whether a request is for a page that a player opens, and not for a piece of HTML that a script inserts. Browsers omit
 * the destination on plain HTTP, where only navigations prefer HTML.
 */
export function opensPage({ headers }: IncomingMessage): boolean {
  const destination = headers['sec-fetch-dest']
  if (destination === undefined) return /^text\/html\b/i.test(headers.accept ?? '')
  return /^(?:document|iframe|frame|embed|object)$/.test(String(destination))
}

/** Determines which documents are in UTF-8, so that others are sent without a `charset` and declare their own. */
export class Charsets {
  readonly #found = new Map<string, boolean>()

  /** Returns a media type for a document, without the `charset` that its name suggests if it has another. */
  async typeOf(contentType: string, file: Digested, open: Open): Promise<string> {
    let utf8 = this.#found.get(file.sha256)
    if (utf8 === undefined) {
      const end = Math.min(file.size, EXAMINED_BYTES) - 1
      utf8 = end < 0 || isInUtf8(await buffer(await open(file, { start: 0, end })), file.size > EXAMINED_BYTES)
      const [oldest] = this.#found.keys()
      if (this.#found.size >= REMEMBERED) this.#found.delete(oldest as string)
      this.#found.set(file.sha256, utf8)
    }
    return utf8 ? contentType : withoutCharset(contentType)
  }
}

/** Returns the media type of a page that is read whole, by the same rule. */
export const charsetFits = (contentType: string, bytes: Buffer): string =>
  isInUtf8(bytes, false) ? contentType : withoutCharset(contentType)

const withoutCharset = (contentType: string): string => contentType.replace(/;\s*charset=utf-8$/i, '')

/** @param isCut whether the last character may be incomplete */
function isInUtf8(bytes: Buffer, isCut: boolean): boolean {
  const declared = /<meta[^>]{0,200}?\bcharset\s{0,9}=\s{0,9}["']?\s{0,9}([\w:.-]+)/i.exec(
    bytes.toString('latin1', 0, DECLARED_BYTES),
  )?.[1]
  if (declared !== undefined && !/^utf-?8$/i.test(declared)) return false
  let end = bytes.length
  if (isCut) while (end > bytes.length - 4 && ((bytes[end - 1] as number) & 0xc0) === 0x80) end--
  return isUtf8(bytes.subarray(0, isCut ? end - 1 : end))
}
