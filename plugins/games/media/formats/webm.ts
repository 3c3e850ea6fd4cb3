import { damaged } from './damaged.ts'
import type { Bytes, Dimensions } from './format.ts'

// Ids of EBML elements (RFC 8794) and Matroska elements (RFC 9559).
const EBML = 0x1a45dfa3
const DOC_TYPE = 0x4282
const SEGMENT = 0x18538067
const CLUSTER = 0x1f43b675
const TRACKS = 0x1654ae6b
const TRACK = 0xae
const VIDEO = 0xe0
const WIDTH = 0xb0
const HEIGHT = 0xba
const DISPLAY_WIDTH = 0x54b0
const DISPLAY_HEIGHT = 0x54ba
const DISPLAY_UNIT = 0x54b2

const MOST_ELEMENTS = 100_000
const MOST_TRACK_BYTES = 1024 * 1024

interface Element {
  id: number
  /** The start of the content. */
  start: number
  /** The end of the content; null for an element that lasts until its parent ends, as recorders write it. */
  end: number | null
}

/** Parses the parts of a WebM to the end, and reads the size of its first video track. */
export async function inspectWebm(file: Bytes): Promise<Dimensions> {
  const header = await elementAt(file, 0)
  if (header.id !== EBML || header.end === null || header.end > 4096) damaged('it has no header')
  const about = elementsIn(await file.read(header.start, header.end - header.start))
  if (about.get(DOC_TYPE)?.[0]?.toString('latin1').replace(/\0+$/, '') !== 'webm') damaged('it is no WebM')
  const segment = await elementAt(file, header.end)
  if (segment.id !== SEGMENT) damaged('it has no content')
  const end = segment.end ?? file.size
  if (end > file.size) damaged('it is cut off')
  if (end < file.size) damaged('something follows its end')

  let dimensions: Dimensions | null = null
  let hasMedia = false
  let at = segment.start
  for (let elements = 0; at < end; elements++) {
    if (elements > MOST_ELEMENTS) damaged('it is made of too many parts')
    const element = await elementAt(file, at)
    if (element.end !== null && element.end > end) damaged('it is cut off')
    if (element.id === CLUSTER) hasMedia = true
    if (element.id === TRACKS && element.end !== null) {
      if (element.end - element.start > MOST_TRACK_BYTES) damaged('its index is too large')
      dimensions ??= videoTrack(await file.read(element.start, element.end - element.start))
    }
    // A cluster of unknown length is entered: its blocks have lengths, and the next cluster follows them.
    at = element.end ?? element.start
  }
  if (!dimensions || !hasMedia) damaged('it has no moving picture')
  return dimensions
}

async function elementAt(file: Bytes, at: number): Promise<Element> {
  const head = await file.read(at, 12)
  const idLength = Math.clz32(head.readUInt8(0)) - 23
  if (idLength > 4) damaged('something follows its end')
  const id = head.readUIntBE(0, idLength)
  const { value, length } = variableInteger(head, idLength)
  const start = at + idLength + length
  return { id, start, end: value === null ? null : start + value }
}

/** Reads a number whose leading zeros define its length in bytes. All ones mean unknown. */
function variableInteger(from: Buffer, at: number): { value: number | null; length: number } {
  const length = Math.clz32(from.readUInt8(at)) - 23
  if (length > 8) damaged('a length makes no sense')
  const bytes = from.subarray(at, at + length)
  if (bytes.length < length) damaged('it is cut off')
  const all = BigInt(`0x${bytes.toString('hex')}`)
  const mask = (1n << BigInt(7 * length)) - 1n
  return { value: (all & mask) === mask ? null : Number(all & mask), length }
}

/** Returns the content of elements by id, in their order. */
function elementsIn(parent: Buffer): Map<number, Buffer[]> {
  const found = new Map<number, Buffer[]>()
  let count = 0
  for (let at = 0; at < parent.length; ) {
    const idLength = Math.clz32(parent.readUInt8(at)) - 23
    if (idLength > 4) damaged('a part makes no sense')
    const id = parent.readUIntBE(at, idLength)
    const { value, length } = variableInteger(parent, at + idLength)
    const start = at + idLength + length
    const end = start + (value ?? parent.length - start)
    if (end > parent.length) damaged('it is cut off')
    const others = found.get(id)
    if (others) others.push(parent.subarray(start, end))
    else found.set(id, [parent.subarray(start, end)])
    if (++count > MOST_ELEMENTS) damaged('it is made of too many parts')
    at = end
  }
  return found
}

function videoTrack(tracks: Buffer): Dimensions | null {
  for (const track of elementsIn(tracks).get(TRACK) ?? []) {
    const [video] = elementsIn(track).get(VIDEO) ?? []
    if (!video) continue
    const fields = elementsIn(video)
    const number = (id: number) => {
      const bytes = fields.get(id)?.[0]
      return bytes && bytes.length > 0 && bytes.length <= 6 ? bytes.readUIntBE(0, bytes.length) : 0
    }
    const inPixels = number(DISPLAY_UNIT) === 0
    return {
      width: (inPixels && number(DISPLAY_WIDTH)) || number(WIDTH),
      height: (inPixels && number(DISPLAY_HEIGHT)) || number(HEIGHT),
    }
  }
  return null
}
