import { setImmediate as nextTurn } from 'node:timers/promises'
import { InvalidRequest } from '../../core/errors.ts'
import { StoredFiles } from './stored-files.ts'
import type { ToolCall } from './tool.ts'

/**
 * Returns the bytes of the one file of a call.
 *
 * @param given the file as base64, or named as one that the platform has
 * @throws InvalidRequest for both, neither, or what is no base64; what StoredFiles throws
 */
export async function fileOf(call: ToolCall, given: { base64?: string; from?: string }): Promise<Buffer> {
  const { base64, from } = given
  if (base64 !== undefined && from === undefined) return decodeBase64(base64, 'base64')
  if (base64 === undefined && from !== undefined) return new StoredFiles(call).read(from, 'from')
  throw new InvalidRequest('Send the file either as `base64` or by `from`.')
}

/** Encodes a text as UTF-8 in slices, since a call may have 30 MiB of it. */
export async function encodeText(text: string): Promise<Buffer> {
  const slices: Buffer[] = []
  for (let from = 0; from < text.length; ) {
    if (from > 0) await nextTurn()
    const end = from + SLICE_CHARACTERS
    // A pair of surrogates is one character.
    const to = /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end + 1 : end
    slices.push(Buffer.from(text.slice(from, to)))
    from = to
  }
  return slices.length === 1 ? (slices[0] as Buffer) : Buffer.concat(slices)
}

/**
 * Decodes base64 in slices, since a call may have 30 MiB of it.
 *
 * @param path of the argument, for the error
 * @throws InvalidRequest
 */
export async function decodeBase64(given: string, path: string): Promise<Buffer> {
  const text = given.trimEnd()
  // A data URL (RFC 2397) has its media type before the bytes.
  const from = DATA_URL.exec(text.slice(0, 200))?.[0].length ?? 0
  const bytes = Buffer.allocUnsafe(Math.ceil(((text.length - from) * 3) / 4))
  let length = 0
  let waiting = ''
  for (let at = from; at < text.length; at += SLICE_CHARACTERS) {
    if (at > from) await nextTurn()
    // Line ends are of no meaning (RFC 2045 section 6.8). They shift the groups of four.
    const characters = waiting + text.slice(at, at + SLICE_CHARACTERS).replace(/\s+/g, '')
    const isLast = at + SLICE_CHARACTERS >= text.length
    const slice = isLast ? characters : characters.slice(0, characters.length - (characters.length % 4))
    waiting = characters.slice(slice.length)
    if (!(isLast ? LAST_SLICE : SLICE).test(slice)) throw notBase64(path)
    length += bytes.write(slice, length, 'base64')
  }
  return bytes.subarray(0, length)
}

const notBase64 = (path: string) =>
  new InvalidRequest(`${path} is not base64.`).with({ details: [{ path, message: 'is not base64' }] })

const DATA_URL = /^data:[^,]*;base64,/i
/** The characters that are decoded in one turn of the event loop: about a millisecond of work, and whole groups of four. */
const SLICE_CHARACTERS = 1024 * 1024
const SLICE = /^[A-Za-z0-9+/_-]*$/
const LAST_SLICE = /^[A-Za-z0-9+/_-]*={0,2}$/
