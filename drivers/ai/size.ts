import type { ImageRequest } from './interface.ts'

/** Providers require multiples of this number of pixels. */
const STEP = 64

/** Returns width and height with about the pixel count of the square size: `1024x1024`, or `1344x768` for 16:9. */
export function pixelsOf({ aspectRatio = '1:1', imageSize }: ImageRequest): `${number}x${number}` {
  const [width = 1, height = 1] = aspectRatio.split(':').map(Number)
  const side = imageSize === '2K' ? 2048 : 1024
  const round = (length: number) => Math.max(STEP, Math.round(length / STEP) * STEP)
  const stretch = Math.sqrt(width / height)
  return `${round(side * stretch)}x${round(side / stretch)}`
}
