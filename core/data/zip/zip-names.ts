import { crc32 } from 'node:zlib'
import type { Entry } from 'yauzl'

/** The name of an entry as it is published: composed, separated by `/`, without `.` segments. A folder ends with `/`. */
export interface EntryName {
  path: string
  /** The archive does not say the encoding and the bytes are no UTF-8, so the path is a guess. */
  guessed: boolean
}

/** The path of an entry for the folder that was packed, as tar writes one. */
export const TOP_FOLDER = './'

/** Extra field of Info-ZIP with the name in UTF-8 (APPNOTE.TXT section 4.6.9). */
const UNICODE_PATH = 0x7075
const UNICODE_PATH_VERSION = 1

/** The upper half of code page 437, in which names are if nothing says otherwise (APPNOTE.TXT, appendix D). */
const CP437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0'

/**
 * Reads the name of an entry. Finder, and `zip` in a container, write UTF-8 without the flag that says so. PowerShell 5
 * separates folders by backslashes, and tar begins each path with `./`.
 */
export function nameOf(entry: Pick<Entry, 'fileNameRaw' | 'extraFields'>): EntryName {
  const text = unicodePathOf(entry) ?? utf8(entry.fileNameRaw)
  return { path: normalized(text ?? cp437(entry.fileNameRaw)), guessed: text === null }
}

/** Returns the path of the Unicode extra field, which counts only while it belongs to the name beside it. */
function unicodePathOf({ fileNameRaw, extraFields }: Pick<Entry, 'fileNameRaw' | 'extraFields'>): string | null {
  for (const { id, data } of extraFields) {
    if (id !== UNICODE_PATH || data.length < 6 || data.readUInt8(0) !== UNICODE_PATH_VERSION) continue
    if (data.readUInt32LE(1) === crc32(fileNameRaw)) return utf8(data.subarray(5))
  }
  return null
}

function utf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

const cp437 = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => (byte < 0x80 ? String.fromCharCode(byte) : CP437[byte - 0x80])).join('')

function normalized(name: string): string {
  const segments = name.replaceAll('\\', '/').normalize('NFC').split('/')
  if (segments.at(-1) === '.') segments.push('')
  const path = segments.filter((segment) => segment !== '.').join('/')
  return path === '' && name !== '' ? TOP_FOLDER : path
}
