import { checkChunks, checkFrames } from '../../../../core/images/decoding-limits.ts'
import { damaged } from './damaged.ts'
import type { Dimensions } from './format.ts'

/** Parses every block of every frame up to the trailer, and counts the pixels of each frame's codes. */
export async function inspectGif(file: Buffer): Promise<Dimensions> {
  const width = file.readUInt16LE(6)
  const height = file.readUInt16LE(8)
  let at = 13 + paletteBytes(file.readUInt8(10))
  let [frames, extensions] = [0, 0]
  for (;;) {
    const kind = file.readUInt8(at++)
    if (kind === 0x3b) break
    if (kind === 0x21) {
      // One precedes each frame.
      checkChunks(++extensions - frames, file.length)
      at = endOfBlocks(file, at + 1)
    } else if (kind === 0x2c) {
      checkFrames(++frames)
      const [left, top, columns, rows] = [0, 2, 4, 6].map((offset) => file.readUInt16LE(at + offset)) as [
        number,
        number,
        number,
        number,
      ]
      if (left + columns > width || top + rows > height) damaged('a frame is larger than the picture')
      at += 9 + paletteBytes(file.readUInt8(at + 8))
      const codeSize = file.readUInt8(at)
      const data = at + 1
      at = endOfBlocks(file, data)
      if (codeSize < 2 || codeSize > 8) damaged('a frame has no code size')
      if (countPixels(joinBlocks(file, data, at), codeSize, columns * rows) < columns * rows) {
        damaged(`a frame does not hold ${columns} × ${rows} pixels`)
      }
    } else damaged('it is cut off')
  }
  if (frames === 0) damaged('it has no frame')
  if (at !== file.length) damaged('something follows its end')
  return { width, height }
}

const paletteBytes = (flags: number): number => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0)

/** Follows a chain of length-prefixed blocks. An empty block ends it. */
function endOfBlocks(file: Buffer, start: number): number {
  for (let at = start; ; ) {
    const length = file.readUInt8(at)
    if (length === 0) return at + 1
    at += 1 + length
    if (at > file.length) damaged('it is cut off')
  }
}

/** Returns the content of a chain of blocks, which may be millions of a byte each. */
function joinBlocks(file: Buffer, start: number, end: number): Buffer {
  const data = Buffer.alloc(end - start)
  let size = 0
  for (let at = start; at < end - 1; ) {
    const length = file.readUInt8(at)
    size += file.copy(data, size, at + 1, at + 1 + length)
    at += 1 + length
  }
  return data.subarray(0, size)
}

/** Decodes LZW with variable code size, but keeps only the number of pixels of each code. */
function countPixels(data: Buffer, codeSize: number, enough: number): number {
  const clear = 2 ** codeSize
  const lengths = new Uint32Array(4096)
  let [next, bits, last, count, buffer, held] = [clear + 2, codeSize + 1, 0, 0, 0, 0]
  for (const byte of data) {
    buffer |= byte << held
    held += 8
    while (held >= bits) {
      const code = buffer & (2 ** bits - 1)
      buffer >>>= bits
      held -= bits
      if (code === clear) {
        ;[next, bits, last] = [clear + 2, codeSize + 1, 0]
        continue
      }
      if (code === clear + 1) return count
      if (code > next || (code === next && last === 0)) damaged('a code stands for nothing')
      const length = code < clear ? 1 : code === next ? last + 1 : (lengths[code] as number)
      if (last > 0 && next < 4096) {
        lengths[next++] = last + 1
        if (next === 2 ** bits && bits < 12) bits++
      }
      count += length
      last = length
      if (count >= enough) return count
    }
  }
  return count
}
