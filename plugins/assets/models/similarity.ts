import type { Document } from '@gltf-transform/core'
import { applyShapes, type Shapes, strongestShapes } from './morph-targets.ts'
import { axesOf, createCanvas, draw, type Frame, type View } from './rasterizer.ts'
import { type DecodedTextures, type Surface, surfacesOf } from './surfaces.ts'

/** The pictures have twice as many pixels a side, which are then averaged. */
const SIDE = 160
const QUARTER = Math.PI / 2
/** All sides, a little from above and from below, so that each surface is seen from at least one of them. */
const VIEWS: readonly View[] = [
  { turn: 0.4, tilt: 0.3 },
  { turn: 0.4 + QUARTER, tilt: -0.2 },
  { turn: 0.4 + 2 * QUARTER, tilt: 0.3 },
  { turn: 0.4 + 3 * QUARTER, tilt: -0.2 },
  { turn: 0.4, tilt: 1.3 },
  { turn: 0.4, tilt: -1.3 },
]
/** The most pixels that are examined for each picture. */
const MOST_EXAMINED = 40_000_000
const BACKGROUND = 128
/** A window of the comparison, and the distance of windows, in pixels. */
const [WINDOW, STEP] = [8, 4]
const [C1, C2] = [(0.01 * 255) ** 2, (0.03 * 255) ** 2]
/** The turn of each joint in the second pose, in radians. */
const BEND = 0.5

/** The looks of a model: its surfaces in each pose. */
export type Looks = Surface[][]

/**
 * Reads the surfaces of a model at rest, if it is rigged also with each joint bent, and if it has shapes (morph targets)
 * also with the strongest ones.
 *
 * @param shapes those of the source, for a form whose own may differ
 */
export function looksOf(
  document: Document,
  textures: DecodedTextures,
  shapes: Shapes = strongestShapes(document),
): Looks {
  const read = () => surfacesOf(document, { textures, withRelief: true })
  const looks = [read()]
  const poses = [
    ...(document.getRoot().listSkins().length > 0 ? [() => bend(document)] : []),
    ...(shapes.some(({ length }) => length > 0) ? [() => applyShapes(document, shapes)] : []),
  ]
  for (const pose of poses) {
    const undo = pose()
    try {
      looks.push(read())
    } finally {
      undo()
    }
  }
  return looks
}

/**
 * Compares pictures of two models from six sides in each pose.
 *
 * @returns the structural similarity (Wang et al. 2004) of the least similar pair, where either shows something: 1 for equal
 *   pictures
 */
export function similarity(before: Looks, after: Looks): number {
  let least = 1
  for (const [pose, surfaces] of before.entries()) {
    const frame = sphereOf(surfaces)
    if (!frame) continue
    for (const view of VIEWS) {
      const [a, b] = [surfaces, after[pose] ?? []].map((shown) => pictureOf(shown, view, frame)) as [
        Uint8Array,
        Uint8Array,
      ]
      least = Math.min(least, structuralSimilarity(a, b))
    }
  }
  return least
}

/** Turns every joint, each around another axis. @returns a function that turns them back */
function bend(document: Document): () => void {
  const joints = [
    ...new Set(
      document
        .getRoot()
        .listSkins()
        .flatMap((skin) => skin.listJoints()),
    ),
  ]
  const before = joints.map((joint) => joint.getRotation())
  const [sine, cosine] = [Math.sin(BEND / 2), Math.cos(BEND / 2)]
  for (const [index, joint] of joints.entries()) {
    const axis = index % 3
    const [x, y, z] = [0, 1, 2].map((at) => (at === axis ? sine : 0)) as [number, number, number]
    const [a, b, c, d] = joint.getRotation()
    joint.setRotation([
      d * x + a * cosine + b * z - c * y,
      d * y - a * z + b * cosine + c * x,
      d * z + a * y - b * x + c * cosine,
      d * cosine - a * x - b * y - c * z,
    ])
  }
  return () => {
    for (const [index, joint] of joints.entries()) joint.setRotation(before[index] as never)
  }
}

/** A ball around the surfaces; null for none. */
function sphereOf(surfaces: readonly Surface[]): { center: [number, number, number]; radius: number } | null {
  const [low, high] = [new Float64Array(3).fill(Infinity), new Float64Array(3).fill(-Infinity)]
  for (const { corners } of surfaces) {
    for (let at = 0; at < corners.length; at++) {
      const value = corners[at] as number
      if (value < (low[at % 3] as number)) low[at % 3] = value
      if (value > (high[at % 3] as number)) high[at % 3] = value
    }
  }
  const size = [0, 1, 2].map((axis) => (high[axis] as number) - (low[axis] as number))
  const radius = Math.hypot(...size) / 2
  if (!Number.isFinite(radius) || radius === 0) return null
  return { center: [0, 1, 2].map((axis) => ((high[axis] as number) + (low[axis] as number)) / 2) as never, radius }
}

/** Draws a picture on grey, with the mask of what is seen as alpha. */
function pictureOf(
  surfaces: readonly Surface[],
  view: View,
  { center, radius }: { center: [number, number, number]; radius: number },
): Uint8Array {
  const [right, up] = axesOf(view)
  const dot = (axis: readonly number[]) => axis.reduce((sum, part, at) => sum + part * (center[at] as number), 0)
  const frame: Frame = { center: [dot(right), dot(up)], scale: SIDE / (radius * 1.02) }
  const canvas = createCanvas(2 * SIDE, 2 * SIDE, MOST_EXAMINED)
  draw(surfaces, canvas, { view, frame })
  return average(canvas.pixels)
}

/** Averages squares of four pixels. What is clear counts as grey. */
function average(pixels: Uint8Array): Uint8Array {
  const made = new Uint8Array(SIDE * SIDE * 4)
  const row = 2 * SIDE * 4
  for (let at = 0; at < pixels.length; at += 4) {
    if (pixels[at + 3] !== 0) continue
    pixels[at] = BACKGROUND
    pixels[at + 1] = BACKGROUND
    pixels[at + 2] = BACKGROUND
  }
  for (let y = 0, to = 0; y < SIDE; y++) {
    for (let x = 0, from = 2 * y * row; x < SIDE; x++, from += 4) {
      for (let channel = 0; channel < 4; channel++, from++, to++) {
        const sum =
          (pixels[from] as number) +
          (pixels[from + 4] as number) +
          (pixels[from + row] as number) +
          (pixels[from + row + 4] as number)
        made[to] = sum / 4
      }
    }
  }
  return made
}

/** Returns the mean over the windows in which either picture shows something, and over the three colours. */
function structuralSimilarity(a: Uint8Array, b: Uint8Array): number {
  let [total, count] = [0, 0]
  for (let top = 0; top + WINDOW <= SIDE; top += STEP) {
    for (let left = 0; left + WINDOW <= SIDE; left += STEP) {
      if (!isShown(a, left, top) && !isShown(b, left, top)) continue
      for (let channel = 0; channel < 3; channel++) total += windowSimilarity(a, b, (top * SIDE + left) * 4 + channel)
      count += 3
    }
  }
  return count === 0 ? 1 : total / count
}

function isShown(picture: Uint8Array, left: number, top: number): boolean {
  for (let y = top; y < top + WINDOW; y++) {
    for (let x = left; x < left + WINDOW; x++) if (picture[(y * SIDE + x) * 4 + 3]) return true
  }
  return false
}

function windowSimilarity(a: Uint8Array, b: Uint8Array, start: number): number {
  let [sumA, sumB, squaresA, squaresB, products] = [0, 0, 0, 0, 0]
  for (let y = 0; y < WINDOW; y++) {
    for (let x = 0; x < WINDOW; x++) {
      const at = start + (y * SIDE + x) * 4
      const [p, q] = [a[at] as number, b[at] as number]
      sumA += p
      sumB += q
      squaresA += p * p
      squaresB += q * q
      products += p * q
    }
  }
  const count = WINDOW * WINDOW
  const [meanA, meanB] = [sumA / count, sumB / count]
  const [varianceA, varianceB] = [squaresA / count - meanA * meanA, squaresB / count - meanB * meanB]
  const covariance = products / count - meanA * meanB
  return (
    ((2 * meanA * meanB + C1) * (2 * covariance + C2)) /
    ((meanA * meanA + meanB * meanB + C1) * (varianceA + varianceB + C2))
  )
}
