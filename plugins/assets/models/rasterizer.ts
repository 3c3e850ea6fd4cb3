import type { Surface, Vector } from './surfaces.ts'

/** A direction of view: the model is turned around the vertical and then tilted towards the viewer, in radians. */
export interface View {
  turn: number
  tilt: number
}

/** How view space is placed on a canvas: the centre of the canvas, and pixels a unit. */
export interface Frame {
  center: [number, number]
  scale: number
}

/** A square of pixels of four bytes: red, green, blue, alpha. */
export interface Canvas {
  pixels: Uint8Array
  depths: Float32Array
  width: number
  height: number
  /** The number of pixels that may still be examined. A triangle behind the last one is not drawn. */
  left: number
}

/** The direction of the light in view space. */
const LIGHT = normalize([-0.45, 0.75, 0.6])
const [AMBIENT, DIRECTED] = [0.35, 0.75]
/** How much the textures of normals darken and lighten. */
const RELIEF = 0.8

/** sRGB of a byte in linear light, and the reverse in steps of 1/4095. */
const LINEAR = Float32Array.from({ length: 256 }, (_, value) => (value / 255) ** 2.2)
const STEPS = 4095
const GAMMA = Uint8Array.from({ length: STEPS + 1 }, (_, step) => Math.round(255 * (step / STEPS) ** (1 / 2.2)))

export const createCanvas = (width: number, height: number, left: number): Canvas => ({
  pixels: new Uint8Array(width * height * 4),
  depths: new Float32Array(width * height).fill(Number.NEGATIVE_INFINITY),
  width,
  height,
  left,
})

/** Draws surfaces under one light, which is that of the viewer. Both sides are lit. */
export function draw(
  surfaces: readonly Surface[],
  canvas: Canvas,
  { view, frame }: { view: View; frame: Frame },
): void {
  const axes = axesOf(view)
  for (const surface of surfaces) {
    const { corners } = surface
    for (let at = 0; at + 8 < corners.length && canvas.left > 0; at += 9)
      drawTriangle(surface, at, { canvas, axes, frame })
  }
}

/** The rows of the rotation to view space: x to the right, y up, z towards the viewer. */
export type Axes = readonly [Vector, Vector, Vector]

export function axesOf({ turn, tilt }: View): Axes {
  const [sine, cosine] = [Math.sin(turn), Math.cos(turn)]
  const [down, level] = [Math.sin(tilt), Math.cos(tilt)]
  return [
    [cosine, 0, -sine],
    [-sine * down, level, -cosine * down],
    [sine * level, down, cosine * level],
  ]
}

// Corners and normals of the current triangle in view space. They are reused, since millions are drawn.
const points = new Float64Array(9)
const lights = new Float64Array(3)

/** Fills the pixels whose centres are inside the triangle, unless something nearer covers them. */
function drawTriangle(
  surface: Surface,
  at: number,
  { canvas, axes, frame }: { canvas: Canvas; axes: Axes; frame: Frame },
): void {
  const { width, height, depths } = canvas
  place(surface.corners, at, axes)
  const { center, scale } = frame
  const x = (corner: number) => width / 2 + ((points[corner * 3] as number) - center[0]) * scale
  const y = (corner: number) => height / 2 - ((points[corner * 3 + 1] as number) - center[1]) * scale
  const [ax, ay, bx, by, cx, cy] = [x(0), y(0), x(1), y(1), x(2), y(2)]
  const left = Math.max(0, Math.ceil(Math.min(ax, bx, cx) - 0.5))
  const right = Math.min(width - 1, Math.floor(Math.max(ax, bx, cx) - 0.5))
  const top = Math.max(0, Math.ceil(Math.min(ay, by, cy) - 0.5))
  const bottom = Math.min(height - 1, Math.floor(Math.max(ay, by, cy) - 0.5))
  canvas.left -= 1 + Math.max(0, right - left + 1) * Math.max(0, bottom - top + 1)
  if (left > right || top > bottom) return
  const area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
  if (Math.abs(area) < 1e-9) return
  const [za, zb, zc] = [points[2], points[5], points[8]] as unknown as Vector
  // Most triangles of a fine model cover no centre of a pixel, or are hidden.
  let isLit = false
  for (let row = top; row <= bottom; row++) {
    for (let column = left; column <= right; column++) {
      const [px, py] = [column + 0.5, row + 0.5]
      const b = ((px - ax) * (cy - ay) - (py - ay) * (cx - ax)) / area
      const c = ((bx - ax) * (py - ay) - (by - ay) * (px - ax)) / area
      const a = 1 - b - c
      if (a < 0 || b < 0 || c < 0) continue
      const depth = a * za + b * zb + c * zc
      const pixel = row * width + column
      if (depth <= (depths[pixel] as number)) continue
      if (!isLit) light(surface, at, axes)
      isLit = true
      if (paint(surface, at / 3, { a, b, c, pixel, canvas })) depths[pixel] = depth
    }
  }
}

/** Moves the corners of a triangle to view space. */
function place(corners: Float32Array, at: number, [right, up, near]: Axes): void {
  for (let corner = 0; corner < 9; corner += 3) {
    const x = corners[at + corner] as number
    const y = corners[at + corner + 1] as number
    const z = corners[at + corner + 2] as number
    points[corner] = right[0] * x + right[1] * y + right[2] * z
    points[corner + 1] = up[0] * x + up[1] * y + up[2] * z
    points[corner + 2] = near[0] * x + near[1] * y + near[2] * z
  }
}

/** Computes directional light plus ambient light at the corners. */
function light({ normals }: Surface, at: number, [right, up, near]: Axes): void {
  const edge = (from: number, to: number): Vector => [
    (points[to] as number) - (points[from] as number),
    (points[to + 1] as number) - (points[from + 1] as number),
    (points[to + 2] as number) - (points[from + 2] as number),
  ]
  const [u, v] = [edge(0, 3), edge(0, 6)]
  const plane: Vector = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
  const facing = plane[2] < 0 ? -1 : 1
  for (let corner = 0; corner < 3; corner++) {
    let normal = plane
    if (normals) {
      const from = at + corner * 3
      const [x, y, z] = [normals[from], normals[from + 1], normals[from + 2]] as unknown as Vector
      normal = [
        right[0] * x + right[1] * y + right[2] * z,
        up[0] * x + up[1] * y + up[2] * z,
        near[0] * x + near[1] * y + near[2] * z,
      ]
    }
    const [x, y, z] = normalize(normal)
    lights[corner] = AMBIENT + DIRECTED * Math.max(0, (x * LIGHT[0] + y * LIGHT[1] + z * LIGHT[2]) * facing)
  }
}

/** Paints a pixel. @returns false where the surface is clear */
function paint(
  { color, colors, texture, relief, uvs, cutoff }: Surface,
  corner: number,
  { a, b, c, pixel, canvas: { pixels } }: { a: number; b: number; c: number; pixel: number; canvas: Canvas },
): boolean {
  const between = (values: Float32Array, part: number, count: number) =>
    a * (values[corner * count + part] as number) +
    b * (values[(corner + 1) * count + part] as number) +
    c * (values[(corner + 2) * count + part] as number)
  let [red, green, blue, alpha] = color
  let shade = a * (lights[0] as number) + b * (lights[1] as number) + c * (lights[2] as number)
  if (colors) {
    red *= between(colors, 0, 4)
    green *= between(colors, 1, 4)
    blue *= between(colors, 2, 4)
    alpha *= between(colors, 3, 4)
  }
  if (uvs) {
    const [u, v] = [between(uvs, 0, 2), between(uvs, 1, 2)]
    if (texture) {
      const from = texel(texture, u, v)
      red *= LINEAR[texture.data[from] as number] as number
      green *= LINEAR[texture.data[from + 1] as number] as number
      blue *= LINEAR[texture.data[from + 2] as number] as number
      alpha *= (texture.data[from + 3] as number) / 255
    }
    if (relief) {
      const from = texel(relief, u, v)
      shade *= 1 + (RELIEF * ((relief.data[from] as number) + (relief.data[from + 1] as number) - 255)) / 255
    }
  }
  if (alpha < cutoff) return false
  pixels[pixel * 4] = gamma(red * shade)
  pixels[pixel * 4 + 1] = gamma(green * shade)
  pixels[pixel * 4 + 2] = gamma(blue * shade)
  pixels[pixel * 4 + 3] = 255
  return true
}

/** Returns the index of the picture's pixel at texture coordinates, which repeat. */
function texel({ width, height }: { width: number; height: number }, u: number, v: number): number {
  const column = Math.min(width - 1, Math.floor((u - Math.floor(u)) * width))
  const row = Math.min(height - 1, Math.floor((v - Math.floor(v)) * height))
  return (row * width + column) * 4
}

const gamma = (light: number): number => GAMMA[Math.min(STEPS, Math.max(0, Math.round(light * STEPS)))] as number

function normalize([x, y, z]: Vector): Vector {
  // `Math.hypot` takes many times as long.
  const length = Math.sqrt(x * x + y * y + z * z) || 1
  return [x / length, y / length, z / length]
}
