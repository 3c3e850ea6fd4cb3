import jpeg from 'jpeg-js'
import { PNG } from 'pngjs'
import { InvalidRequest } from '../../../core/errors.ts'

/**
 * The largest accepted picture, in bytes and pixels a side. Decoding blocks the event loop: 2048² takes about 0.2 s.
 */
export const LARGEST = { bytes: 3 * 1024 * 1024, side: 2048 }
const SIDE = 256

/** Pixels of four bytes each: red, green, blue, alpha. */
interface Pixels {
  width: number
  height: number
  data: Uint8Array
}

/**
 * Makes an avatar from an upload: decoded, cropped to a square, reduced to 256 × 256, encoded anew. No uploaded byte
 * remains, so neither the location of a photograph nor a disguised file does.
 *
 * @param bytes PNG or JPEG, by content and not by name
 * @throws InvalidRequest
 */
export function avatarFrom(bytes: Buffer): Buffer {
  const square = reduce(decode(bytes), SIDE)
  const opaque = square.data.every((value, index) => index % 4 !== 3 || value === 255)
  if (opaque) return jpeg.encode({ ...square, data: Buffer.from(square.data) }, 88).data
  const png = new PNG({ width: SIDE, height: SIDE })
  png.data.set(square.data)
  return PNG.sync.write(png)
}

/** Returns the media type from the first byte of an image that `avatarFrom` made. */
export const avatarType = (bytes: Buffer): string => (bytes[0] === 0x89 ? 'image/png' : 'image/jpeg')

function decode(bytes: Buffer): Pixels {
  const isPng = bytes.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))
  const isJpeg = bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff
  if (!isPng && !isJpeg) throw refused('Choose a PNG or JPEG picture.')
  let pixels: Pixels
  try {
    pixels = isPng ? decodePng(bytes) : decodeJpeg(bytes)
  } catch (error) {
    if (error instanceof InvalidRequest) throw error
    throw refused('This picture is damaged; choose another one.')
  }
  if (pixels.width < 16 || pixels.height < 16) throw refused('Choose a picture of at least 16 × 16 pixels.')
  return pixels
}

function decodePng(bytes: Buffer): Pixels {
  if (bytes.length < 33) throw new Error('no header')
  checkSide(bytes.readUInt32BE(16), bytes.readUInt32BE(20))
  // The library decodes interlaced pictures without a size limit, so a few bytes could exhaust the memory.
  if (bytes[28] !== 0) throw refused('Save the PNG without interlacing, or as JPEG.')
  return PNG.sync.read(bytes)
}

function decodeJpeg(bytes: Buffer): Pixels {
  const megapixels = (LARGEST.side * LARGEST.side) / 1e6
  let pixels: Pixels
  try {
    pixels = jpeg.decode(bytes, { useTArray: true, maxResolutionInMP: megapixels, maxMemoryUsageInMB: 128 })
  } catch (error) {
    if (/maxResolutionInMP|maxMemoryUsageInMB/.test(String(error))) throw tooLarge()
    throw error
  }
  checkSide(pixels.width, pixels.height)
  return pixels
}

function checkSide(width: number, height: number): void {
  if (width > LARGEST.side || height > LARGEST.side) throw tooLarge()
}

/** Crops the centre square and averages it down (or repeats pixels up) to `side`. */
function reduce({ width, height, data }: Pixels, side: number): Pixels {
  const crop = Math.min(width, height)
  const left = (width - crop) >> 1
  const top = (height - crop) >> 1
  const edge = (index: number) => Math.floor((index * crop) / side)
  const out = new Uint8Array(side * side * 4)
  for (let y = 0; y < side; y++) {
    const [y0, y1] = [edge(y), Math.max(edge(y + 1), edge(y) + 1)]
    for (let x = 0; x < side; x++) {
      const [x0, x1] = [edge(x), Math.max(edge(x + 1), edge(x) + 1)]
      let [red, green, blue, alpha] = [0, 0, 0, 0]
      for (let row = y0; row < y1; row++) {
        for (let column = x0; column < x1; column++) {
          const at = ((top + row) * width + left + column) * 4
          const weight = data[at + 3] as number
          red += (data[at] as number) * weight
          green += (data[at + 1] as number) * weight
          blue += (data[at + 2] as number) * weight
          alpha += weight
        }
      }
      const at = (y * side + x) * 4
      if (alpha > 0) out.set([red / alpha, green / alpha, blue / alpha].map(Math.round), at)
      out[at + 3] = Math.round(alpha / ((x1 - x0) * (y1 - y0)))
    }
  }
  return { width: side, height: side, data: out }
}

const refused = (message: string) => new InvalidRequest(message).with({ details: [{ path: 'picture', message }] })
const tooLarge = () => refused(`Choose a picture of at most ${LARGEST.side} × ${LARGEST.side} pixels.`)
