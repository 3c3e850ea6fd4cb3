import { checkScans, isFrame } from '../../../../core/images/decoding-limits.ts'
import { damaged } from './damaged.ts'
import type { Dimensions } from './format.ts'

const isRestart = (marker: number): boolean => marker >= 0xd0 && marker <= 0xd7

/**
 * Parses all segments and scans up to the end of the image. The pixels are not decoded, but every block of 8 × 8 takes
 * at least one bit of the scans, so a small file can't claim huge dimensions.
 */
export async function inspectJpeg(file: Buffer): Promise<Dimensions> {
  let frame: (Dimensions & { components: number }) | null = null
  let scans = 0
  let scanned = 0
  let turned = false
  let at = 2
  for (;;) {
    if (file.readUInt8(at) !== 0xff) damaged('a segment is missing')
    const marker = file.readUInt8(at + 1)
    if (marker === 0xff) {
      at++
      continue
    }
    if (marker === 0xd9) break
    const length = file.readUInt16BE(at + 2)
    const end = at + 2 + length
    if (length < 2 || end > file.length || marker < 0xc0 || isRestart(marker)) damaged('it is cut off')
    if (isFrame(marker)) {
      if (frame) damaged('it says its dimensions twice')
      frame = {
        height: file.readUInt16BE(at + 5),
        width: file.readUInt16BE(at + 7),
        components: file.readUInt8(at + 9),
      }
    }
    if (marker === 0xe1) turned ||= isTurned(file.subarray(at + 4, end))
    at = end
    if (marker === 0xda) {
      checkScans(++scans)
      if (!frame) damaged('it has pixels before its dimensions')
      at = endOfScan(file, end)
      scanned += at - end
    }
  }
  if (!frame || scanned === 0) damaged('it has no pixels')
  if (at + 2 !== file.length && !isPadding(file.subarray(at + 2))) damaged('something follows its end')
  const { width, height } = frame
  if (Math.ceil(width / 8) * Math.ceil(height / 8) > scanned * 8)
    damaged(`it does not hold ${width} × ${height} pixels`)
  return turned ? { width: height, height: width } : { width, height }
}

/** Finds the next marker that ends a scan. Stuffed zeros and restart markers do not end it. */
function endOfScan(file: Buffer, from: number): number {
  for (let at = from; ; at++) {
    at = file.indexOf(0xff, at)
    if (at === -1 || at + 1 >= file.length) damaged('it is cut off')
    const next = file[at + 1] as number
    if (next !== 0 && next !== 0xff && !isRestart(next)) return at
  }
}

/** Cameras pad files with zeros. */
const isPadding = (rest: Buffer): boolean => rest.length <= 4096 && rest.every((byte) => byte === 0)

/** Whether Exif rotates the picture by 90° (orientation 5 to 8). */
function isTurned(segment: Buffer): boolean {
  if (segment.toString('latin1', 0, 6) !== 'Exif\0\0') return false
  const tiff = segment.subarray(6)
  const little = tiff.toString('latin1', 0, 2) === 'II'
  const u16 = (at: number) => (at + 2 > tiff.length ? 0 : little ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  const directory = tiff.length < 8 ? 0 : little ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
  const entries = Math.min(u16(directory), 100)
  for (let entry = 0; entry < entries; entry++) {
    const at = directory + 2 + entry * 12
    if (u16(at) === 0x0112) return u16(at + 8) >= 5 && u16(at + 8) <= 8
  }
  return false
}
