import { checkChunks, checkFrames, MOST_FRAMES } from '../../../../core/images/decoding-limits.ts'
import { damaged } from './damaged.ts'
import type { Dimensions } from './format.ts'

/** Parses the chunks of the RIFF container (RFC 9649), and compares the sizes of canvas, frames and bitstreams. */
export async function inspectWebp(file: Buffer): Promise<Dimensions> {
  const size = file.readUInt32LE(4) + 8
  // A padding byte follows an odd size, but some writers omit it.
  if (file.length !== size && file.length !== size + (size & 1)) {
    damaged(size > file.length ? 'it is cut off' : 'something follows its end')
  }
  const chunks = chunksOf(file, 12, file.length)
  const [first] = chunks
  if (first?.type !== 'VP8X') {
    const [only, ...others] = chunks.filter(({ type }) => type === 'VP8 ' || type === 'VP8L')
    if (!only || others.length > 0) damaged('it has not one picture')
    return bitstream(only)
  }
  const canvas = { width: first.body.readUIntLE(4, 3) + 1, height: first.body.readUIntLE(7, 3) + 1 }
  let frames = 0
  for (const { type, body } of chunks) {
    if (type === 'VP8 ' || type === 'VP8L') {
      const { width, height } = bitstream({ type, body })
      if (width !== canvas.width || height !== canvas.height) damaged('its picture has another size than it says')
      frames++
    }
    if (type === 'ANMF') {
      checkFrames(++frames)
      const frame = { width: body.readUIntLE(6, 3) + 1, height: body.readUIntLE(9, 3) + 1 }
      const [x, y] = [2 * body.readUIntLE(0, 3), 2 * body.readUIntLE(3, 3)]
      const inner = chunksOf(body, 16, body.length).find(({ type }) => type === 'VP8 ' || type === 'VP8L')
      const drawn = inner ? bitstream(inner) : damaged('a frame is empty')
      if (drawn.width !== frame.width || drawn.height !== frame.height) damaged('a frame has another size than it says')
      if (x + frame.width > canvas.width || y + frame.height > canvas.height) {
        damaged('a frame is larger than the picture')
      }
    }
  }
  if (frames === 0) damaged('it has no picture')
  return canvas
}

interface Chunk {
  type: string
  body: Buffer
}

function chunksOf(file: Buffer, from: number, to: number): Chunk[] {
  const chunks: Chunk[] = []
  for (let at = from; at < to; ) {
    const length = file.readUInt32LE(at + 4)
    const end = at + 8 + length
    if (end > to) damaged('it is cut off')
    // Each frame is a chunk too.
    checkChunks(chunks.length - MOST_FRAMES, file.length)
    chunks.push({ type: file.toString('latin1', at, at + 4), body: file.subarray(at + 8, end) })
    at = end + (length & 1)
  }
  return chunks
}

/** Reads the dimensions from the bitstream of lossy (RFC 6386 section 9.1) and lossless pictures. */
function bitstream({ type, body }: Chunk): Dimensions {
  if (type === 'VP8L') {
    if (body.readUInt8(0) !== 0x2f) damaged('its picture does not begin')
    const bits = body.readUInt32LE(1)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  const tag = body.readUIntLE(0, 3)
  if (tag & 1 || body.toString('latin1', 3, 6) !== '\x9d\x01*') damaged('its picture does not begin')
  // The first partition has at least one bit for each block of 16 × 16.
  const [width, height] = [body.readUInt16LE(6) & 0x3fff, body.readUInt16LE(8) & 0x3fff]
  if (10 + (tag >>> 5) > body.length) damaged('it is cut off')
  return { width, height }
}
