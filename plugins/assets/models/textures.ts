import type { Document, Texture } from '@gltf-transform/core'
import jpeg from 'jpeg-js'
import ndarray from 'ndarray'
import { lanczos3 } from 'ndarray-lanczos'
import { PNG } from 'pngjs'
import { readStructure } from '../../../core/images/decoding-limits.ts'
import { withoutTermination } from '../../../core/jobs/termination.ts'

const LONGEST_SIDE = 1024
/** Larger textures are not changed: decoding them would cost more than it saves. */
const MOST_PIXELS = 8192 * 8192
const JPEG_QUALITY = 88

/** Pixels of four bytes: red, green, blue, alpha. */
export interface Pixels {
  width: number
  height: number
  data: Uint8Array
}

/**
 * Shrinks PNG and JPEG textures with a side over 1024 pixels, where that saves bytes. WebP and KTX2 stay as they are:
 * they are small, and no encoder for them works in a single binary.
 *
 * @returns those that became smaller
 */
export function shrinkTextures(document: Document): Set<Texture> {
  const shrunk = new Set<Texture>()
  for (const texture of document.getRoot().listTextures()) {
    const [width = 0, height = 0] = texture.getSize() ?? []
    const image = texture.getImage()
    if (!image || Math.max(width, height) <= LONGEST_SIDE || width * height > MOST_PIXELS) continue
    const pixels = decodeTexture(texture)
    if (!pixels) continue
    const small = encode(resize(pixels, LONGEST_SIDE), texture.getMimeType())
    if (small.length >= image.length) continue
    texture.setImage(small)
    shrunk.add(texture)
  }
  return shrunk
}

/** Decodes a PNG or JPEG texture; null for other types and unreadable files. */
export function decodeTexture(texture: Texture): Pixels | null {
  const image = texture.getImage()
  return image && decode(image)
}

function decode(bytes: Uint8Array): Pixels | null {
  const image = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    const structure = readStructure(image)
    // The declared size determines the memory allocation.
    if (!structure || structure.width * structure.height > MOST_PIXELS) return null
    // Not Skia: it multiplies colours by their alpha and turns pictures, which are data here.
    if (structure.type === 'png') {
      // The library decompresses interlaced pictures without a limit.
      return image[28] === 0 ? withoutTermination(() => PNG.sync.read(image)) : null
    }
    return jpeg.decode(image, { useTArray: true, maxMemoryUsageInMB: 1024, maxResolutionInMP: 68 })
  } catch {
    return null
  }
}

function resize({ width, height, data }: Pixels, longest: number): Pixels {
  const scale = longest / Math.max(width, height)
  const small = { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
  const target = new Uint8Array(small.width * small.height * 4)
  lanczos3(
    ndarray(new Uint8Array(data.buffer, data.byteOffset, data.length), [width, height, 4], [4, 4 * width, 1]),
    ndarray(target, [small.width, small.height, 4], [4, 4 * small.width, 1]),
  )
  return { ...small, data: target }
}

function encode({ width, height, data }: Pixels, type: string): Uint8Array<ArrayBuffer> {
  const raw = Buffer.from(data.buffer, data.byteOffset, data.length)
  const bytes =
    type === 'image/png'
      ? withoutTermination(() => PNG.sync.write(Object.assign(new PNG({ width, height }), { data: raw })))
      : jpeg.encode({ width, height, data: raw }, JPEG_QUALITY).data
  return new Uint8Array(bytes)
}
