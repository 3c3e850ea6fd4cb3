import {
  type Accessor,
  type bbox,
  type Document,
  type Primitive,
  PropertyType,
  type TypedArray,
  type vec3,
} from '@gltf-transform/core'
import { dedup, dequantizePrimitive, prune, simplifyPrimitive, weldPrimitive } from '@gltf-transform/functions'
import { MeshoptSimplifier } from 'meshoptimizer'
import { keepCompression } from './compression.ts'
import { countTriangles, readModel } from './inspect.ts'
import { shrinkTextures } from './textures.ts'
import { validate } from './validate.ts'

/** Part of the triangles that is aimed at, and how far the surface may move, as a part of the mesh's size. */
const RATIO = 0.25
const ERROR = 0.01
/** Below this there is nothing to win. */
const FEWEST_TRIANGLES = 500
/** A simplified form that saves less than this part of the bytes is not worth another one. */
const WORTH = 0.9
/** How far a side of a part's bounding box may move, as a part of its diagonal. */
const BOX_TOLERANCE = 0.02
const TRIANGLES = 4

export interface Simplified {
  bytes: Uint8Array
  triangles: number
}

/**
 * Makes a model lighter: a quarter of the triangles where that does not show, textures of 1024 pixels at most. Clips,
 * skins, names and empty nodes stay, since games look for them.
 *
 * @returns null when nothing is won: it would not be clearly smaller, or would not keep its shape
 */
export async function simplifyModel(source: Uint8Array): Promise<Simplified | null> {
  const { document, io } = await readModel(source)
  const before = countTriangles(document)
  const boxes = boxesOf(document)
  if (before >= FEWEST_TRIANGLES) {
    await MeshoptSimplifier.ready
    for (const mesh of document.getRoot().listMeshes()) {
      for (const primitive of mesh.listPrimitives()) simplifyOne(document, primitive)
    }
  }
  const shrunk = shrinkTextures(document)
  const triangles = countTriangles(document)
  if (!shrunk && triangles > before * WORTH) return null
  if (!boxesOf(document).every((box, index) => sameBox(boxes[index] as bbox, box))) return null
  // Materials and meshes are left apart: games tell them by their names.
  await document.transform(
    dedup({ propertyTypes: [PropertyType.ACCESSOR, PropertyType.TEXTURE] }),
    prune({ keepLeaves: true, keepAttributes: true, keepExtras: true }),
  )
  await keepCompression(document, io)
  const bytes = await io.writeBinary(document)
  if (bytes.length > source.length * WORTH) return null
  await validate(bytes)
  return { bytes, triangles }
}

/** Simplifies a primitive in place, where that makes it lighter. */
function simplifyOne(document: Document, primitive: Primitive): void {
  const position = primitive.getAttribute('POSITION')
  if (primitive.getMode() !== TRIANGLES || !position) return
  dequantizePrimitive(primitive, { pattern: /^(?:POSITION|NORMAL|TANGENT)$/ })
  // Split normals make every edge of a flat-shaded mesh a seam, which can't be simplified away: they are made again.
  const flat = isFlat(primitive)
  if (flat) {
    for (const part of [primitive, ...primitive.listTargets()]) {
      part.setAttribute('NORMAL', null)
      part.setAttribute('TANGENT', null)
    }
  }
  weldPrimitive(primitive, { overwrite: true })
  simplifyPrimitive(primitive, { simplifier: MeshoptSimplifier, ratio: RATIO, error: ERROR })
  if (flat) shadeFlat(document, primitive)
}

/** Whether the three corners of nearly all triangles have one normal. */
function isFlat(primitive: Primitive): boolean {
  const normal = primitive.getAttribute('NORMAL')
  if (!normal) return false
  const indices = indicesOf(primitive)
  const triangles = indices.length / 3
  const step = Math.max(1, Math.floor(triangles / 2000))
  let flat = 0
  let looked = 0
  for (let triangle = 0; triangle < triangles; triangle += step) {
    const [a, b, c] = [0, 1, 2].map((corner) => elementOf(normal, indices[triangle * 3 + corner] as number)) as Corners
    looked++
    if (dot(a, b) > SAME_NORMAL && dot(a, c) > SAME_NORMAL) flat++
  }
  return looked > 0 && flat / looked > 0.9
}

/** Gives each triangle corners of its own, with the normal of its plane. */
function shadeFlat(document: Document, primitive: Primitive): void {
  const indices = indicesOf(primitive)
  const position = primitive.getAttribute('POSITION') as Accessor
  const normals = new Float32Array(indices.length * 3)
  for (let at = 0; at < indices.length; at += 3) {
    const plane = planeOf(position, [indices[at], indices[at + 1], indices[at + 2]] as Triple) ?? [0, 0, 1]
    for (let corner = 0; corner < 3; corner++) normals.set(plane, (at + corner) * 3)
  }
  for (const part of [primitive, ...primitive.listTargets()]) {
    for (const semantic of part.listSemantics()) {
      part.setAttribute(semantic, spread(document, part.getAttribute(semantic) as Accessor, indices))
    }
  }
  const buffer = position.getBuffer() ?? document.getRoot().listBuffers()[0] ?? document.createBuffer()
  primitive.setAttribute('NORMAL', document.createAccessor().setType('VEC3').setArray(normals).setBuffer(buffer))
  primitive.setIndices(null)
  weldPrimitive(primitive)
}

/** An accessor with an element for each index. */
function spread(document: Document, accessor: Accessor, indices: Uint32Array): Accessor {
  const source = accessor.getArray() as TypedArray
  const width = accessor.getElementSize()
  const made = source.slice(0, 0).constructor as new (length: number) => TypedArray
  const array = new made(indices.length * width)
  for (const [at, index] of indices.entries()) {
    for (let component = 0; component < width; component++) {
      array[at * width + component] = source[index * width + component] as number
    }
  }
  const type = accessor.getType()
  return document
    .createAccessor(accessor.getName())
    .setType(type)
    .setNormalized(accessor.getNormalized())
    .setArray(array as TypedArray & { buffer: ArrayBuffer })
    .setBuffer(accessor.getBuffer())
}

function indicesOf(primitive: Primitive): Uint32Array {
  const indices = primitive.getIndices()?.getArray()
  if (indices) return Uint32Array.from(indices)
  const count = primitive.getAttribute('POSITION')?.getCount() ?? 0
  return Uint32Array.from({ length: count - (count % 3) }, (_, index) => index)
}

type Triple = [number, number, number]
type Corners = [Triple, Triple, Triple]
const SAME_NORMAL = 0.999999
const elementOf = (accessor: Accessor, index: number) => accessor.getElement<Triple>(index, [0, 0, 0])
const dot = (a: Triple, b: Triple) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2]

/** The unit normal of a triangle; null when it has no area. */
function planeOf(position: Accessor, corners: Triple): Triple | null {
  const [a, b, c] = corners.map((corner) => elementOf(position, corner)) as Corners
  const u: Triple = [b[0] - a[0], b[1] - a[1], b[2] - a[2]]
  const v: Triple = [c[0] - a[0], c[1] - a[1], c[2] - a[2]]
  const cross: Triple = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
  const length = Math.hypot(...cross)
  return length > 1e-20 ? [cross[0] / length, cross[1] / length, cross[2] / length] : null
}

/** The box of every part of every mesh, in its own space: what nodes and bones do with it stays the same. */
function boxesOf(document: Document): bbox[] {
  const primitives = document
    .getRoot()
    .listMeshes()
    .flatMap((mesh) => mesh.listPrimitives())
  return primitives.map((primitive) => {
    const position = primitive.getAttribute('POSITION')
    return { min: (position?.getMinNormalized([]) ?? []) as vec3, max: (position?.getMaxNormalized([]) ?? []) as vec3 }
  })
}

function sameBox(before: bbox, after: bbox): boolean {
  const diagonal = Math.hypot(...before.max.map((side, axis) => side - (before.min[axis] as number)))
  return (['min', 'max'] as const).every((end) =>
    before[end].every((side, axis) => Math.abs(side - (after[end][axis] as number)) <= diagonal * BOX_TOLERANCE),
  )
}
