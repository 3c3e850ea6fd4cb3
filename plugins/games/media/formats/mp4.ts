import { damaged } from './damaged.ts'
import type { Bytes, Dimensions } from './format.ts'

/** The maximum index size, because it is read whole. The index of a film of one hour has a few MB. */
const MOST_INDEX_BYTES = 16 * 1024 * 1024
const MOST_BOXES = 100_000

/** Parses the boxes of an MP4 (ISO/IEC 14496-12) to the end, and reads the size of its first video track. */
export async function inspectMp4(file: Bytes): Promise<Dimensions> {
  let dimensions: Dimensions | null = null
  let hasMedia = false
  let at = 0
  for (let boxes = 0; at < file.size; boxes++) {
    if (boxes > MOST_BOXES) damaged('it is made of too many parts')
    const { type, header, size } = boxAt(await file.read(at, 16), file.size - at)
    if (type === 'moov') {
      if (size > MOST_INDEX_BYTES) damaged('its index is too large')
      const index = await file.read(at + header, size - header)
      dimensions ??= videoTrack(index)
    }
    hasMedia ||= type === 'mdat' && size > header
    at += size
  }
  if (!dimensions || !hasMedia) damaged('it has no moving picture')
  return dimensions
}

interface Box {
  type: string
  header: number
  size: number
}

function boxAt(head: Buffer, room: number): Box {
  const type = head.toString('latin1', 4, 8)
  if (!/^[ -~\xa9]{4}$/.test(type)) damaged('something follows its end')
  let size = head.readUInt32BE(0)
  let header = 8
  if (size === 1) {
    size = Number(head.readBigUInt64BE(8))
    header = 16
  } else if (size === 0) size = room
  if (size < header || size > room) damaged('it is cut off')
  return { type, header, size }
}

function* boxesIn(parent: Buffer): Generator<{ type: string; body: Buffer }> {
  let count = 0
  for (let at = 0; at + 8 <= parent.length; ) {
    if (++count > MOST_BOXES) damaged('it is made of too many parts')
    const { type, header, size } = boxAt(parent.subarray(at, at + 16), parent.length - at)
    yield { type, body: parent.subarray(at + header, at + size) }
    at += size
  }
}

const child = (parent: Buffer | undefined, name: string): Buffer | undefined =>
  parent && [...boxesIn(parent)].find(({ type }) => type === name)?.body

/** Finds the track of `moov` with the handler `vide`. Its header contains the display size (16.16 fixed point). */
function videoTrack(moov: Buffer): Dimensions | null {
  for (const { type, body } of boxesIn(moov)) {
    if (type !== 'trak') continue
    const header = child(body, 'tkhd')
    const handler = child(child(body, 'mdia'), 'hdlr')
    if (!header || handler?.toString('latin1', 8, 12) !== 'vide') continue
    // Version 1 has times of 64 bits.
    const after = header.readUInt8(0) === 1 ? 32 : 20
    const matrix = after + 20
    const [a, b] = [header.readInt32BE(matrix), header.readInt32BE(matrix + 4)]
    const size = {
      width: Math.round(header.readUInt32BE(matrix + 36) / 65_536),
      height: Math.round(header.readUInt32BE(matrix + 40) / 65_536),
    }
    return a === 0 && b !== 0 ? { width: size.height, height: size.width } : size
  }
  return null
}
