// Small pictures that keep a decoder busy.
import { crc32 } from 'node:zlib'

/**
 * Returns a grey progressive JPEG that a decoder passes over many times: after two scans with all pixels, each further
 * scan refines nothing, in a few bytes.
 *
 * @param side in pixels, a multiple of 8
 */
export function jpegOfScans(side: number, scans: number): Buffer {
  const blocks = (side / 8) ** 2
  const size = [side >> 8, side & 255]
  const pixels = endOfBands(blocks)
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xdb, [0, ...new Array(64).fill(1)]),
    segment(0xc2, [8, ...size, ...size, 1, 1, 0x11, 0]),
    // One code each: a difference of 0; a run of 2^14 empty blocks and more, and an empty block.
    segment(0xc4, [0x00, 1, ...new Array(15).fill(0), 0x00]),
    segment(0xc4, [0x10, 1, 1, ...new Array(14).fill(0), 0xe0, 0x00]),
    segment(0xda, [1, 1, 0x00, 0, 0, 0x01]),
    Buffer.alloc(Math.ceil(blocks / 8)),
    segment(0xda, [1, 1, 0x00, 1, 63, 0x01]),
    pixels,
    ...new Array(scans - 2).fill(Buffer.concat([segment(0xda, [1, 1, 0x00, 1, 63, 0x10]), pixels])),
    Buffer.from([0xff, 0xd9]),
  ])
}

/** Returns a PNG with empty chunks before its pixels. */
export function pngOfChunks(png: Buffer, chunks: number): Buffer {
  const empty = Buffer.alloc(12)
  empty.write('teSt', 4, 'latin1')
  empty.writeUInt32BE(crc32(empty.subarray(4, 8)), 8)
  return Buffer.concat([png.subarray(0, 33), ...new Array(chunks).fill(empty), png.subarray(33)])
}

/** Returns a GIF of many frames of one pixel. */
export function gifOfFrames(frames: number): Buffer {
  const head = Buffer.from([...Buffer.from('GIF89a'), 1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255])
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 0x01, 0])
  return Buffer.concat([head, ...new Array(frames).fill(frame), Buffer.from([0x3b])])
}

/** Returns a GIF of one pixel whose frame has so many bytes of codes before it. */
export function gifOfCodes(bytes: number): Buffer {
  const head = Buffer.from([...Buffer.from('GIF89a'), 1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255])
  // Codes of three bits, all of which clear the table.
  const block = Buffer.concat([Buffer.from([255]), Buffer.alloc(255).fill(Buffer.from([0x24, 0x49, 0x92]))])
  const blocks = new Array(Math.ceil(bytes / 255)).fill(block)
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2])
  return Buffer.concat([head, frame, ...blocks, Buffer.from([2, 0x44, 0x01, 0, 0x3b])])
}

function segment(marker: number, content: number[]): Buffer {
  const length = content.length + 2
  return Buffer.from([0xff, marker, length >> 8, length & 255, ...content])
}

/** Codes so many empty blocks: runs of at most 32,767, then single ones. */
function endOfBands(blocks: number): Buffer {
  let bits = ''
  for (let left = blocks; left > 0; ) {
    const run = Math.min(left, 32_767)
    bits += run >= 16_384 ? `0${(run - 16_384).toString(2).padStart(14, '0')}` : '10'
    left -= run >= 16_384 ? run : 1
  }
  const bytes = (bits.match(/.{1,8}/g) ?? []).map((part) => Number.parseInt(part.padEnd(8, '1'), 2))
  return Buffer.from(bytes.flatMap((byte) => (byte === 0xff ? [0xff, 0] : [byte])))
}
