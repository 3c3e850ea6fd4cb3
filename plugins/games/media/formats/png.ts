import { crc32 } from 'node:zlib'
import { checkChunks } from '../../../../core/images/decoding-limits.ts'
import { damaged } from './damaged.ts'
import type { Dimensions, PackedPixels } from './format.ts'

/** Samples per pixel by colour type (PNG 3rd edition, section 11.2.1). */
const SAMPLES: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }
/** The seven passes of Adam7: first column and row, then the steps. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

/** Parses all chunks, and verifies their checksums. The number of pixels remains to be counted (`packed`). */
export async function inspectPng(file: Buffer): Promise<Dimensions & { packed: PackedPixels | null }> {
  if (file.toString('latin1', 12, 16) !== 'IHDR' || file.readUInt32BE(8) !== 13) damaged('it has no header')
  const width = file.readUInt32BE(16)
  const height = file.readUInt32BE(20)
  const [depth = 0, colour = 0, , , interlaced = 0] = file.subarray(24, 29)
  if (![1, 2, 4, 8, 16].includes(depth) || !(colour in SAMPLES) || interlaced > 1) damaged('its header makes no sense')
  const data: Buffer[] = []
  let at = 8
  for (let chunks = 1; ; chunks++) {
    checkChunks(chunks, file.length)
    const length = file.readUInt32BE(at)
    const type = file.toString('latin1', at + 4, at + 8)
    const end = at + 12 + length
    if (!/^[A-Za-z]{4}$/.test(type) || end > file.length) damaged('it is cut off')
    if (crc32(file.subarray(at + 4, end - 4)) !== file.readUInt32BE(end - 4)) damaged(`the sum of ${type} is wrong`)
    if (type === 'IDAT') data.push(file.subarray(at + 8, end - 4))
    at = end
    if (type === 'IEND') break
  }
  if (at !== file.length) damaged('something follows its end')
  // A size that is refused in any case need not be decompressed.
  if (width * height === 0 || width * height > 50_000_000) return { width, height, packed: null }
  const bitsPerPixel = depth * (SAMPLES[colour] as number)
  const bytes = interlaced ? adam7Bytes(width, height, bitsPerPixel) : rowsOf(width, height, bitsPerPixel)
  return { width, height, packed: { data: new Uint8Array(Buffer.concat(data)), bytes } }
}

/** Returns the bytes of all rows: each is a filter byte and its pixels, rounded up to whole bytes. */
const rowsOf = (width: number, height: number, bitsPerPixel: number): number =>
  width === 0 ? 0 : height * (1 + Math.ceil((width * bitsPerPixel) / 8))

const adam7Bytes = (width: number, height: number, bitsPerPixel: number): number =>
  PASSES.reduce((sum, [x, y, dx, dy]) => {
    const columns = Math.max(0, Math.ceil((width - x) / dx))
    const rows = Math.max(0, Math.ceil((height - y) / dy))
    return sum + rowsOf(columns, rows, bitsPerPixel)
  }, 0)
