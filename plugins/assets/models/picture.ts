import type { Accessor, Document, Material, mat4, Node, Primitive } from '@gltf-transform/core'
import { PNG } from 'pngjs'
import { withoutTermination } from '../../../core/jobs/termination.ts'
import { decodeTexture, type Pixels } from './textures.ts'

const WIDTH = 512
const HEIGHT = 384
/** The factor of the enlarged drawing, which is then averaged for smooth edges. */
const SUPERSAMPLING = 2
/** The fraction of the picture that the model fills. */
const FILL = 0.86
/** The view from the front, slightly from the side and from above, in radians. */
const TURN = 0.6
const TILT = 0.32
/** The direction of the light in view space. */
const LIGHT = normalize([-0.45, 0.75, 0.6])
const TRIANGLES = 4
/**
 * The most pixels that are examined, about three seconds of work. A model of 4 million triangles needs 40 million; one that
 * covers the whole picture again and again is drawn in part.
 */
const MOST_EXAMINED = 100_000_000

type Vector = [number, number, number]

interface Surface {
  /** Three corners of three coordinates each, in view space. */
  corners: Float32Array
  /** Two texture coordinates for each corner; null without a texture. */
  uvs: Float32Array | null
  color: Vector
  texture: Pixels | null
}

/**
 * Draws a recognisable picture of a model: shape, colours and textures under one light, without a graphics card. It is
 * shown until a rendered picture exists.
 *
 * @returns a PNG with a transparent background; null for a model without surfaces
 */
export function drawModel(document: Document): Buffer | null {
  const surfaces = surfacesOf(document)
  const frame = frameOf(surfaces)
  if (!frame) return null
  const width = WIDTH * SUPERSAMPLING
  const height = HEIGHT * SUPERSAMPLING
  const pixels = new Uint8Array(width * height * 4)
  const depths = new Float32Array(width * height).fill(Number.NEGATIVE_INFINITY)
  const scale = Math.min((width * FILL) / frame.size[0], (height * FILL) / frame.size[1])
  const project = (x: number, y: number): [number, number] => [
    width / 2 + (x - frame.center[0]) * scale,
    height / 2 - (y - frame.center[1]) * scale,
  ]
  const canvas = { pixels, depths, width, height, project, left: MOST_EXAMINED }
  for (const surface of surfaces) paint(surface, canvas)
  return withoutTermination(() => PNG.sync.write(shrink(pixels, width, height)))
}

function surfacesOf(document: Document): Surface[] {
  const root = document.getRoot()
  const scene = root.getDefaultScene() ?? root.listScenes()[0]
  const surfaces: Surface[] = []
  const textures = new Map<Material, Pixels | null>()
  scene?.traverse((node) => {
    const matrices = skinMatrices(node)
    for (const primitive of node.getMesh()?.listPrimitives() ?? []) {
      if (primitive.getMode() !== TRIANGLES || !primitive.getAttribute('POSITION')) continue
      surfaces.push(surfaceOf(node, primitive, { matrices, textures }))
    }
  })
  return surfaces
}

function surfaceOf(
  node: Node,
  primitive: Primitive,
  { matrices, textures }: { matrices: mat4[] | null; textures: Map<Material, Pixels | null> },
): Surface {
  const position = primitive.getAttribute('POSITION') as Accessor
  const texcoord = primitive.getAttribute('TEXCOORD_0')
  const joints = matrices && primitive.getAttribute('JOINTS_0')
  const weights = matrices && primitive.getAttribute('WEIGHTS_0')
  const indices = primitive.getIndices()
  const count = indices?.getCount() ?? position.getCount()
  const corners = new Float32Array(count * 3)
  const uvs = texcoord ? new Float32Array(count * 2) : null
  const world = node.getWorldMatrix()
  const point: number[] = []
  const [joint, weight]: number[][] = [[], []]
  for (let at = 0; at < count; at++) {
    const index = indices ? indices.getScalar(at) : at
    position.getElement(index, point)
    let placed: Vector
    if (matrices && joints && weights) {
      placed = [0, 0, 0]
      joints.getElement(index, joint as number[])
      weights.getElement(index, weight as number[])
      for (let slot = 0; slot < 4; slot++) {
        const matrix = matrices[joint?.[slot] ?? 0]
        const part = weight?.[slot] ?? 0
        if (!matrix || part === 0) continue
        const moved = transform(matrix, point as Vector)
        for (let axis = 0; axis < 3; axis++) placed[axis] = (placed[axis] as number) + (moved[axis] as number) * part
      }
    } else {
      placed = transform(world, point as Vector)
    }
    corners.set(turned(placed), at * 3)
    if (uvs && texcoord) {
      texcoord.getElement(index, point)
      uvs.set([point[0] ?? 0, point[1] ?? 0], at * 2)
    }
  }
  const material = primitive.getMaterial()
  const [red, green, blue] = material?.getBaseColorFactor() ?? [0.72, 0.7, 0.66]
  return { corners, uvs, color: [red, green, blue], texture: material && uvs ? textureOf(material, textures) : null }
}

function textureOf(material: Material, textures: Map<Material, Pixels | null>): Pixels | null {
  const known = textures.get(material)
  if (known !== undefined) return known
  const texture = material.getBaseColorTexture()
  const [width = 0, height = 0] = texture?.getSize() ?? []
  const pixels = texture && width * height <= 4096 * 4096 ? decodeTexture(texture) : null
  textures.set(material, pixels)
  return pixels
}

/** Returns the rest-pose matrix of each joint of a skin; null for a mesh without a skin. */
function skinMatrices(node: Node): mat4[] | null {
  const skin = node.getSkin()
  if (!skin) return null
  const inverse = skin.getInverseBindMatrices()
  return skin.listJoints().map((joint, index) => {
    const world = joint.getWorldMatrix()
    return inverse ? multiply(world, inverse.getElement<mat4>(index, [...world])) : world
  })
}

function multiply(a: mat4, b: mat4): mat4 {
  const product = new Array<number>(16).fill(0)
  for (let column = 0; column < 4; column++) {
    for (let row = 0; row < 4; row++) {
      let sum = 0
      for (let k = 0; k < 4; k++) sum += (a[k * 4 + row] as number) * (b[column * 4 + k] as number)
      product[column * 4 + row] = sum
    }
  }
  return product as unknown as mat4
}

const transform = (m: mat4, [x, y, z]: Vector): Vector => [
  m[0] * x + m[4] * y + m[8] * z + m[12],
  m[1] * x + m[5] * y + m[9] * z + m[13],
  m[2] * x + m[6] * y + m[10] * z + m[14],
]

/** Converts to view space: x to the right, y up, z towards the viewer. */
function turned([x, y, z]: Vector): Vector {
  const across = x * Math.cos(TURN) - z * Math.sin(TURN)
  const near = x * Math.sin(TURN) + z * Math.cos(TURN)
  return [across, y * Math.cos(TILT) - near * Math.sin(TILT), y * Math.sin(TILT) + near * Math.cos(TILT)]
}

function frameOf(surfaces: readonly Surface[]): { center: [number, number]; size: [number, number] } | null {
  const least = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  const most = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { corners } of surfaces) {
    for (let at = 0; at < corners.length; at++) {
      const axis = at % 3
      if (axis === 2) continue
      const value = corners[at] as number
      if (value < (least[axis] as number)) least[axis] = value
      if (value > (most[axis] as number)) most[axis] = value
    }
  }
  const size = [0, 1].map((axis) => (most[axis] as number) - (least[axis] as number)) as [number, number]
  if (!size.every(Number.isFinite) || Math.max(...size) === 0) return null
  const center = [0, 1].map((axis) => ((most[axis] as number) + (least[axis] as number)) / 2) as [number, number]
  return { center, size: [Math.max(size[0], 1e-6), Math.max(size[1], 1e-6)] }
}

interface Canvas {
  pixels: Uint8Array
  depths: Float32Array
  width: number
  height: number
  project(x: number, y: number): [number, number]
  /** The number of pixels that may still be examined. */
  left: number
}

function paint(surface: Surface, canvas: Canvas): void {
  const { corners } = surface
  for (let at = 0; at + 8 < corners.length && canvas.left > 0; at += 9) paintTriangle(surface, at, canvas)
}

/** Fills the pixels whose centres are inside the triangle, unless something nearer covers them. */
function paintTriangle(surface: Surface, at: number, canvas: Canvas): void {
  const { pixels, depths, width, height, project } = canvas
  const { corners } = surface
  const value = (index: number) => corners[at + index] as number
  const [ax, ay] = project(value(0), value(1))
  const [bx, by] = project(value(3), value(4))
  const [cx, cy] = project(value(6), value(7))
  const area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
  if (Math.abs(area) < 1e-9) return
  const shade = shadeOf(corners, at)
  const left = Math.max(0, Math.floor(Math.min(ax, bx, cx)))
  const right = Math.min(width - 1, Math.ceil(Math.max(ax, bx, cx)))
  const top = Math.max(0, Math.floor(Math.min(ay, by, cy)))
  const bottom = Math.min(height - 1, Math.ceil(Math.max(ay, by, cy)))
  canvas.left -= Math.max(0, right - left + 1) * Math.max(0, bottom - top + 1)
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const [px, py] = [x + 0.5, y + 0.5]
      const b = ((px - ax) * (cy - ay) - (py - ay) * (cx - ax)) / area
      const c = ((bx - ax) * (py - ay) - (by - ay) * (px - ax)) / area
      const a = 1 - b - c
      if (a < 0 || b < 0 || c < 0) continue
      const depth = a * value(2) + b * value(5) + c * value(8)
      const pixel = y * width + x
      if (depth <= (depths[pixel] as number)) continue
      const [red, green, blue] = colorAt(surface, at / 3, [a, b, c])
      depths[pixel] = depth
      pixels[pixel * 4] = gamma(red * shade)
      pixels[pixel * 4 + 1] = gamma(green * shade)
      pixels[pixel * 4 + 2] = gamma(blue * shade)
      pixels[pixel * 4 + 3] = 255
    }
  }
}

/** Computes directional light plus ambient light. Both sides of a surface are lit. */
function shadeOf(corners: Float32Array, at: number): number {
  const edge = (from: number, to: number): Vector => [
    (corners[at + to] as number) - (corners[at + from] as number),
    (corners[at + to + 1] as number) - (corners[at + from + 1] as number),
    (corners[at + to + 2] as number) - (corners[at + from + 2] as number),
  ]
  const [u, v] = [edge(0, 3), edge(0, 6)]
  const normal = normalize([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])
  const facing = normal[2] < 0 ? -1 : 1
  const light = normal[0] * LIGHT[0] + normal[1] * LIGHT[1] + normal[2] * LIGHT[2]
  return 0.35 + 0.75 * Math.max(0, light * facing)
}

/** Returns the colour in linear light: textures are stored in sRGB, factors are not. */
function colorAt({ color, texture, uvs }: Surface, corner: number, [a, b, c]: Vector): Vector {
  if (!texture || !uvs) return color
  const coordinate = (axis: number) =>
    a * (uvs[corner * 2 + axis] as number) +
    b * (uvs[corner * 2 + 2 + axis] as number) +
    c * (uvs[corner * 2 + 4 + axis] as number)
  const wrap = (value: number, size: number) => Math.min(size - 1, Math.floor((value - Math.floor(value)) * size))
  const pixel = (wrap(coordinate(1), texture.height) * texture.width + wrap(coordinate(0), texture.width)) * 4
  const light = (channel: number) =>
    ((texture.data[pixel + channel] as number) / 255) ** 2.2 * (color[channel] as number)
  return [light(0), light(1), light(2)]
}

const gamma = (light: number): number => Math.round(255 * Math.min(1, Math.max(0, light)) ** (1 / 2.2))

function normalize([x, y, z]: Vector): Vector {
  const length = Math.hypot(x, y, z) || 1
  return [x / length, y / length, z / length]
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
