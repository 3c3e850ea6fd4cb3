import type { Accessor, Document, mat4, Node, Primitive, Texture, TextureInfo } from '@gltf-transform/core'
import type { InstancedMesh, Transform } from '@gltf-transform/extensions'
import { valuesOf } from './accessor-values.ts'
import { compose, multiply } from './matrices.ts'
import { decodeTexture, type Pixels } from './textures.ts'

export type Vector = [number, number, number]

/** The triangles of a part as they are placed in the scene, with what is needed to draw them. */
export interface Surface {
  /** Three corners of three coordinates each. */
  corners: Float32Array
  /** Normals of the corners; null for those of the planes. */
  normals: Float32Array | null
  /** Two texture coordinates for each corner; null without a texture. */
  uvs: Float32Array | null
  /** The colour of each corner in linear light, alpha too; null for white. */
  colors: Float32Array | null
  /** In linear light. */
  color: [number, number, number, number]
  texture: Pixels | null
  /** A texture whose values darken and lighten the surface, so that its distortions are seen: that of the normals. */
  relief: Pixels | null
  /** Pixels of a lower alpha are clear. */
  cutoff: number
}

/** A cache of decoded pictures for several readings of a model. */
export type DecodedTextures = Map<Texture, Pixels | null>

const TRIANGLES = 4
const LARGEST = 4096 * 4096
const WHITE: Surface['color'] = [0.72, 0.7, 0.66, 1]

/**
 * Reads the visible triangles of a model: placed by their nodes, shapes, skins and instances, with texture transforms.
 *
 * @param withRelief also reads the textures of normals
 */
export function surfacesOf(
  document: Document,
  { textures = new Map(), withRelief = false }: { textures?: DecodedTextures; withRelief?: boolean } = {},
): Surface[] {
  const root = document.getRoot()
  const scene = root.getDefaultScene() ?? root.listScenes()[0]
  // A library has nodes without a scene.
  const tops = scene?.listChildren() ?? root.listNodes().filter((node) => node.getParentNode() === null)
  const surfaces: Surface[] = []
  const read = (node: Node) => {
    const joints = jointMatrices(node)
    const places = joints ? [node.getWorldMatrix()] : placesOf(node)
    const mesh = node.getMesh()
    const weights = node.getWeights().length > 0 ? node.getWeights() : (mesh?.getWeights() ?? [])
    for (const primitive of mesh?.listPrimitives() ?? []) {
      if (primitive.getMode() !== TRIANGLES || !primitive.getAttribute('POSITION')) continue
      for (const world of places) surfaces.push(surfaceOf(primitive, { world, weights, joints, textures, withRelief }))
    }
  }
  for (const node of tops) node.traverse(read)
  return surfaces
}

/** Returns the matrices of a node's instances, or its own. */
function placesOf(node: Node): mat4[] {
  const world = node.getWorldMatrix()
  const batch = node.getExtension<InstancedMesh>('EXT_mesh_gpu_instancing')
  const [translations, rotations, scales] = ['TRANSLATION', 'ROTATION', 'SCALE'].map((name) =>
    batch?.getAttribute(name),
  )
  const count = (translations ?? rotations ?? scales)?.getCount()
  if (count === undefined) return [world]
  return Array.from({ length: Math.min(count, MOST_INSTANCES) }, (_, at) =>
    multiply(
      world,
      compose(
        translations?.getElement(at, [0, 0, 0]) ?? [0, 0, 0],
        rotations?.getElement(at, [0, 0, 0, 1]) ?? [0, 0, 0, 1],
        scales?.getElement(at, [1, 1, 1]) ?? [1, 1, 1],
      ),
    ),
  )
}

/** More are not drawn. */
const MOST_INSTANCES = 2000

interface Placement {
  world: mat4
  /** Of the shapes (morph targets). */
  weights: readonly number[]
  joints: mat4[] | null
  textures: DecodedTextures
  withRelief: boolean
}

function surfaceOf(primitive: Primitive, placement: Placement): Surface {
  const { world, weights: shapes, joints: matrices, textures, withRelief } = placement
  const position = primitive.getAttribute('POSITION') as Accessor
  const material = primitive.getMaterial()
  const texture = decoded(material?.getBaseColorTexture() ?? null, textures)
  const relief = withRelief ? decoded(material?.getNormalTexture() ?? null, textures) : null
  const info = texture ? material?.getBaseColorTextureInfo() : relief ? material?.getNormalTextureInfo() : null
  const texcoord = info ? primitive.getAttribute(`TEXCOORD_${texCoordOf(info)}`) : null
  const [normal, color] = [primitive.getAttribute('NORMAL'), primitive.getAttribute('COLOR_0')]
  const [joints, weights] = matrices
    ? [primitive.getAttribute('JOINTS_0'), primitive.getAttribute('WEIGHTS_0')]
    : [null, null]
  const indices = primitive.getIndices()?.getArray() ?? null
  const count = indices?.length ?? position.getCount()
  // Vertices are placed once each, since several triangles share them.
  const places = new Float32Array(position.getCount() * 3)
  const directions = normal && new Float32Array(places.length)
  const points = shaped(primitive, 'POSITION', shapes)
  const sides = normal && shaped(primitive, 'NORMAL', shapes)
  const [joint, weight]: number[][] = [[], []]
  const skin = matrices && joints && weights ? matrices : null
  for (let vertex = 0; vertex < position.getCount(); vertex++) {
    let matrix = world
    if (skin && joints && weights) {
      joints.getElement(vertex, joint as number[])
      weights.getElement(vertex, weight as number[])
      matrix = blend(skin, joint as number[], weight as number[])
    }
    const from = vertex * 3
    const [x, y, z] = [points[from], points[from + 1], points[from + 2]] as unknown as Vector
    places[from] = matrix[0] * x + matrix[4] * y + matrix[8] * z + matrix[12]
    places[from + 1] = matrix[1] * x + matrix[5] * y + matrix[9] * z + matrix[13]
    places[from + 2] = matrix[2] * x + matrix[6] * y + matrix[10] * z + matrix[14]
    if (!directions || !sides) continue
    const [a, b, c] = [sides[from], sides[from + 1], sides[from + 2]] as unknown as Vector
    directions[from] = matrix[0] * a + matrix[4] * b + matrix[8] * c
    directions[from + 1] = matrix[1] * a + matrix[5] * b + matrix[9] * c
    directions[from + 2] = matrix[2] * a + matrix[6] * b + matrix[10] * c
  }
  const cornersOf = (values: Float32Array, width: number): Float32Array => {
    if (!indices) return values
    const made = new Float32Array(count * width)
    for (let at = 0; at < count; at++) {
      const from = (indices[at] as number) * width
      for (let part = 0; part < width; part++) made[at * width + part] = values[from + part] as number
    }
    return made
  }
  const alpha = material?.getAlphaMode() ?? 'OPAQUE'
  return {
    corners: cornersOf(places, 3),
    normals: directions && cornersOf(directions, 3),
    uvs: texcoord && info ? cornersOf(coordinatesOf(texcoord, info), 2) : null,
    colors: color && cornersOf(colorsOf(color), 4),
    color: material?.getBaseColorFactor() ?? WHITE,
    texture: texcoord ? texture : null,
    relief: texcoord ? relief : null,
    cutoff: alpha === 'MASK' ? (material?.getAlphaCutoff() ?? 0.5) : alpha === 'BLEND' ? BLEND_CUTOFF : -1,
  }
}

/** Returns the values of an attribute after the shapes of a part. */
function shaped(primitive: Primitive, name: 'POSITION' | 'NORMAL', weights: readonly number[]): Float32Array {
  const values = valuesOf(primitive.getAttribute(name) as Accessor)
  const targets = primitive.listTargets().map((target) => target.getAttribute(name))
  if (!targets.some((target, at) => target && weights[at])) return values
  const made = new Float32Array(values)
  for (const [index, target] of targets.entries()) {
    const weight = weights[index] ?? 0
    if (!target || weight === 0) continue
    const moves = valuesOf(target)
    for (let at = 0; at < made.length; at++) made[at] = (made[at] as number) + weight * (moves[at] as number)
  }
  return made
}

/** Blended surfaces are drawn as solid ones, and what is nearly clear is left out. */
const BLEND_CUTOFF = 0.15

function decoded(texture: Texture | null, known: DecodedTextures): Pixels | null {
  if (!texture) return null
  const before = known.get(texture)
  if (before !== undefined) return before
  const [width = 0, height = 0] = texture.getSize() ?? []
  const pixels = width * height <= LARGEST ? decodeTexture(texture) : null
  known.set(texture, pixels)
  return pixels
}

const transformOf = (info: TextureInfo) => info.getExtension<Transform>('KHR_texture_transform')

const texCoordOf = (info: TextureInfo): number => transformOf(info)?.getTexCoord() ?? info.getTexCoord()

/** Returns the coordinates after the transform of the texture. */
function coordinatesOf(accessor: Accessor, info: TextureInfo): Float32Array {
  const transform = transformOf(info)
  const [x, y] = transform?.getOffset() ?? [0, 0]
  const [across, down] = transform?.getScale() ?? [1, 1]
  const [sine, cosine] = [Math.sin(transform?.getRotation() ?? 0), Math.cos(transform?.getRotation() ?? 0)]
  const made = new Float32Array(accessor.getCount() * 2)
  const point: number[] = []
  for (let at = 0; at < accessor.getCount(); at++) {
    accessor.getElement(at, point)
    const [u, v] = [(point[0] ?? 0) * across, (point[1] ?? 0) * down]
    made[at * 2] = cosine * u + sine * v + x
    made[at * 2 + 1] = -sine * u + cosine * v + y
  }
  return made
}

function colorsOf(accessor: Accessor): Float32Array {
  const made = new Float32Array(accessor.getCount() * 4)
  const point: number[] = []
  for (let at = 0; at < accessor.getCount(); at++) {
    accessor.getElement(at, point)
    made.set(
      [point[0] ?? 1, point[1] ?? 1, point[2] ?? 1, accessor.getElementSize() === 4 ? (point[3] ?? 1) : 1],
      at * 4,
    )
  }
  return made
}

/** Returns the matrix of each joint of a skin; null for a mesh without a skin. */
function jointMatrices(node: Node): mat4[] | null {
  const skin = node.getSkin()
  if (!skin) return null
  const inverse = skin.getInverseBindMatrices()
  return skin.listJoints().map((joint, index) => {
    const world = joint.getWorldMatrix()
    return inverse ? multiply(world, inverse.getElement<mat4>(index, [...world])) : world
  })
}

function blend(matrices: readonly mat4[], joints: readonly number[], weights: readonly number[]): mat4 {
  const made = new Array<number>(16).fill(0)
  const [only] = joints
  if (weights[0] === 1 && only !== undefined && matrices[only]) return matrices[only]
  for (let slot = 0; slot < 4; slot++) {
    const matrix = matrices[joints[slot] ?? 0]
    const part = weights[slot] ?? 0
    if (!matrix || part === 0) continue
    for (let at = 0; at < 16; at++) made[at] = (made[at] as number) + (matrix[at] as number) * part
  }
  return made as unknown as mat4
}
