import { setImmediate as nextTurn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import type { Entry } from 'yauzl'

/** The path of an entry for the folder that was packed, as tar writes one. */
export const TOP_FOLDER = './'

/** Extra field of Info-ZIP with the name in UTF-8 (APPNOTE.TXT section 4.6.9). */
const UNICODE_PATH = 0x7075
const UNICODE_PATH_VERSION = 1

/** The upper half of code page 437, in which names are if nothing says otherwise (APPNOTE.TXT, appendix D). */
const CP437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0'

/** Code pages of Windows in which whole words are beyond ASCII, by the name that their detection gives them. */
const PAGES: Partial<Record<string, string>> = {
  Shift_JIS: 'shift_jis',
  GB18030: 'gb18030',
  Big5: 'big5',
  'EUC-KR': 'euc-kr',
}
/** The confidence, of 100, from which a detection counts. Names of Western languages are far below it. */
const SURE = 80
/** The bytes of names that are looked at: a few milliseconds of work. */
const SAMPLE_BYTES = 2048
/** The names that are read in one turn of the event loop. */
const NAMES_AT_ONCE = 500

/** Decodes names whose encoding the archive does not say. */
export type DecodeName = (bytes: Uint8Array) => string

/**
 * Finds out in which code page names are that are no UTF-8. The compressed folders of Windows write that of the system,
 * such as Shift-JIS in Japan.
 *
 * @param names of one archive
 */
export async function decoderOf(names: readonly Uint8Array[]): Promise<DecodeName> {
  const sample = await sampleOf(names)
  if (sample.length === 0) return cp437
  const { analyse } = await import('chardet')
  // The first import takes milliseconds of its own.
  await nextTurn()
  const [best] = analyse(sample)
  await nextTurn()
  const page = best && best.confidence >= SURE ? PAGES[best.name] : undefined
  if (page === undefined) return cp437
  const decoder = new TextDecoder(page, { fatal: true })
  const decode = (bytes: Uint8Array) => decoder.decode(bytes)
  try {
    await eachInTurns(names, (name) => void decode(name))
    return decode
  } catch {
    return cp437
  }
}

/** Joins the different segments of names that are beyond ASCII, for a detection by frequent characters. */
async function sampleOf(names: readonly Uint8Array[]): Promise<Buffer> {
  const segments = new Set<string>()
  let length = 0
  await eachInTurns(names, (name) => {
    if (length >= SAMPLE_BYTES) return
    // None of these code pages has a slash within a character.
    for (const segment of Buffer.from(name).toString('latin1').split('/')) {
      if (!/[\x80-\xff]/.test(segment) || segments.has(segment)) continue
      segments.add(segment)
      length += segment.length + 1
    }
  })
  return Buffer.from([...segments].join('\n'), 'latin1').subarray(0, SAMPLE_BYTES)
}

/** Visits names, and lets whatever else waits have its turn: an archive may have tens of thousands. */
async function eachInTurns(names: readonly Uint8Array[], visit: (name: Uint8Array) => void): Promise<void> {
  for (let at = 0; at < names.length; at += NAMES_AT_ONCE) {
    if (at > 0) await nextTurn()
    names.slice(at, at + NAMES_AT_ONCE).forEach(visit)
  }
}

/**
 * Returns the name of an entry where the archive says its encoding, or the bytes are UTF-8; otherwise null. Finder, and
 * `zip` in a container, write UTF-8 without the flag that says so.
 */
export const declaredName = (entry: Pick<Entry, 'fileNameRaw' | 'extraFields'>): string | null =>
  unicodePathOf(entry) ?? utf8(entry.fileNameRaw)

/** Returns the path of the Unicode extra field, which counts only while it belongs to the name beside it. */
function unicodePathOf({ fileNameRaw, extraFields }: Pick<Entry, 'fileNameRaw' | 'extraFields'>): string | null {
  for (const { id, data } of extraFields) {
    if (id !== UNICODE_PATH || data.length < 6 || data.readUInt8(0) !== UNICODE_PATH_VERSION) continue
    if (data.readUInt32LE(1) === crc32(fileNameRaw)) return utf8(data.subarray(5))
  }
  return null
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function utf8(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes)
  } catch {
    return null
  }
}

const cp437: DecodeName = (bytes) =>
  Array.from(bytes, (byte) => (byte < 0x80 ? String.fromCharCode(byte) : CP437[byte - 0x80])).join('')

/**
 * Returns the path of an entry as it is published: composed, separated by `/`, without `.` segments. A folder ends with
 * `/`. PowerShell 5 separates folders by backslashes, and tar begins each path with `./`.
 */
export function publishedPath(name: string): string {
  const segments = name.replaceAll('\\', '/').normalize('NFC').split('/')
  if (segments.at(-1) === '.') segments.push('')
  const path = segments.filter((segment) => segment !== '.').join('/')
  return path === '' && name !== '' ? TOP_FOLDER : path
}
