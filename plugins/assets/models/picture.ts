import type { Document } from '@gltf-transform/core'
import { PNG } from 'pngjs'
import { withoutTermination } from '../../../core/jobs/termination.ts'
import { axesOf, createCanvas, draw, type Frame } from './rasterizer.ts'
import { type Surface, surfacesOf } from './surfaces.ts'

const WIDTH = 512
const HEIGHT = 384
/** The factor of the enlarged drawing, which is then averaged for smooth edges. */
const SUPERSAMPLING = 2
/** The fraction of the picture that the model fills. */
const FILL = 0.86
/** The view from the front, slightly from the side and from above. */
const VIEW = { turn: 0.6, tilt: 0.32 }
/**
 * The most pixels that are examined, about three seconds of work. A model of 4 million triangles needs 40 million; one that
 * covers the whole picture again and again is drawn in part.
 */
const MOST_EXAMINED = 100_000_000

/**
 * Draws a recognisable picture of a model: shape, colours and textures under one light, without a graphics card. It is
 * shown until a rendered picture exists.
 *
 * @returns a PNG with a transparent background; null for a model without surfaces
 */
export function drawModel(document: Document): Buffer | null {
  const surfaces = surfacesOf(document)
  const width = WIDTH * SUPERSAMPLING
  const height = HEIGHT * SUPERSAMPLING
  const frame = frameOf(surfaces, width, height)
  if (!frame) return null
  const canvas = createCanvas(width, height, MOST_EXAMINED)
  draw(surfaces, canvas, { view: VIEW, frame })
  return withoutTermination(() => PNG.sync.write(shrink(canvas.pixels, width, height)))
}

/** Fits the surfaces into a picture; null without a surface. */
function frameOf(surfaces: readonly Surface[], width: number, height: number): Frame | null {
  const axes = axesOf(VIEW).slice(0, 2)
  const least = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  const most = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { corners } of surfaces) {
    for (let at = 0; at < corners.length; at += 3) {
      for (const [axis, [x, y, z]] of axes.entries()) {
        const value = x * (corners[at] as number) + y * (corners[at + 1] as number) + z * (corners[at + 2] as number)
        if (value < (least[axis] as number)) least[axis] = value
        if (value > (most[axis] as number)) most[axis] = value
      }
    }
  }
  const size = [0, 1].map((axis) => (most[axis] as number) - (least[axis] as number)) as [number, number]
  if (!size.every(Number.isFinite) || Math.max(...size) === 0) return null
  const center = [0, 1].map((axis) => ((most[axis] as number) + (least[axis] as number)) / 2) as [number, number]
  const scale = Math.min((width * FILL) / Math.max(size[0], 1e-6), (height * FILL) / Math.max(size[1], 1e-6))
  return { center, scale }
}
/** Averages squares of pixels. Colours are weighted by their alpha. */
function shrink(pixels: Uint8Array, width: number, height: number): PNG {
  const picture = new PNG({ width: width / SUPERSAMPLING, height: height / SUPERSAMPLING })
  for (let y = 0; y < picture.height; y++) {
    for (let x = 0; x < picture.width; x++) {
      const sums = [0, 0, 0, 0]
      for (let part = 0; part < SUPERSAMPLING ** 2; part++) {
        const row = y * SUPERSAMPLING + Math.floor(part / SUPERSAMPLING)
        const from = (row * width + x * SUPERSAMPLING + (part % SUPERSAMPLING)) * 4
        const alpha = pixels[from + 3] as number
        for (let channel = 0; channel < 3; channel++) {
          sums[channel] = (sums[channel] as number) + ((pixels[from + channel] as number) * alpha) / 255
        }
        sums[3] = (sums[3] as number) + alpha
      }
      const covered = (sums[3] as number) / 255
      const to = (y * picture.width + x) * 4
      for (let channel = 0; channel < 3; channel++) {
        picture.data[to + channel] = covered === 0 ? 0 : Math.round((sums[channel] as number) / covered)
      }
      picture.data[to + 3] = Math.round((sums[3] as number) / SUPERSAMPLING ** 2)
    }
  }
  return picture
}
