import type { CanvasKit, Image } from 'canvaskit-wasm'
import jpeg from 'jpeg-js'
import { damaged, readStructure } from './decoding-limits.ts'
import { ImageRefusal } from './refusal.ts'
import type { ImageTask } from './worker-messages.ts'

const JPEG_QUALITY = 88

/**
 * Decodes a PNG or JPEG and draws it smaller, in the program of a worker thread. The result has no byte of the source,
 * so neither the location of a photograph nor a disguised file remains.
 *
 * @throws ImageRefusal
 */
export function resize(kit: CanvasKit, task: ImageTask): Uint8Array {
  const structure = readStructure(Buffer.from(task.bytes.buffer, task.bytes.byteOffset, task.bytes.byteLength))
  if (!structure) throw new ImageRefusal('Choose a PNG or JPEG picture.')
  checkSize(structure, task)
  const image = kit.MakeImageFromEncoded(task.bytes)
  if (!image) throw damaged()
  try {
    checkSize({ width: image.width(), height: image.height() }, task)
    return draw(kit, image, task)
  } finally {
    image.delete()
  }
}

function checkSize({ width, height }: { width: number; height: number }, { most, leastSide }: ImageTask): void {
  if (width > most.side || height > most.side) {
    throw new ImageRefusal(`Choose a picture of at most ${most.side} × ${most.side} pixels.`)
  }
  if (width * height > most.pixels) throw new ImageRefusal(`Choose a picture of at most ${most.pixels} pixels.`)
  if (width < leastSide || height < leastSide) {
    throw new ImageRefusal(`Choose a picture of at least ${leastSide} × ${leastSide} pixels.`)
  }
}

function draw(kit: CanvasKit, image: Image, { side, fit, format }: ImageTask): Uint8Array {
  const [width, height] = [image.width(), image.height()]
  const square = Math.min(width, height)
  const scale = Math.min(1, side / Math.max(width, height))
  const size =
    fit === 'cover'
      ? { width: side, height: side }
      : { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
  const part =
    fit === 'cover'
      ? kit.XYWHRect((width - square) / 2, (height - square) / 2, square, square)
      : kit.XYWHRect(0, 0, width, height)
  const surface = kit.MakeSurface(size.width, size.height)
  if (!surface) throw new Error('no memory for a picture')
  const paint = new kit.Paint()
  try {
    const box = kit.XYWHRect(0, 0, size.width, size.height)
    const { Linear } = kit.FilterMode
    surface.getCanvas().drawImageRectOptions(image, part, box, Linear, kit.MipmapMode.Linear, paint)
    const drawn = surface.makeImageSnapshot()
    try {
      return (format === 'auto' && encodeOpaque(kit, drawn)) || encodePng(drawn)
    } finally {
      drawn.delete()
    }
  } finally {
    paint.delete()
    surface.delete()
  }
}

/** Returns a JPEG; null for a picture with transparency. */
function encodeOpaque(kit: CanvasKit, image: Image): Uint8Array | null {
  const size = { width: image.width(), height: image.height() }
  const { ColorType, AlphaType, ColorSpace } = kit
  const format = { colorType: ColorType.RGBA_8888, alphaType: AlphaType.Unpremul, colorSpace: ColorSpace.SRGB }
  const pixels = image.readPixels(0, 0, { ...size, ...format })
  if (!pixels?.every((value, index) => index % 4 !== 3 || value === 255)) return null
  return jpeg.encode({ ...size, data: Buffer.from(pixels) }, JPEG_QUALITY).data
}

function encodePng(image: Image): Uint8Array {
  const png = image.encodeToBytes()
  if (!png) throw new Error('a picture could not be encoded')
  return png
}
