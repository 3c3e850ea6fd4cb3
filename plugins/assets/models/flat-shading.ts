import type { Accessor, Document, Primitive, TypedArray } from '@gltf-transform/core'
import { weldPrimitive } from '@gltf-transform/functions'

/** Whether nearly all triangles have one normal at all three corners. */
export function isFlat(primitive: Primitive): boolean {
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

/** Gives each triangle its own corners, with the normal of its plane. */
export function shadeFlat(document: Document, primitive: Primitive): void {
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

/** Creates an accessor with one element for each index. */
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

/** Returns the corners of a primitive's triangles, with or without an index list. */
export function indicesOf(primitive: Primitive): Uint32Array {
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

/** Returns the unit normal of a triangle; null when it has no area. */
function planeOf(position: Accessor, corners: Triple): Triple | null {
  const [a, b, c] = corners.map((corner) => elementOf(position, corner)) as Corners
  const u: Triple = [b[0] - a[0], b[1] - a[1], b[2] - a[2]]
  const v: Triple = [c[0] - a[0], c[1] - a[1], c[2] - a[2]]
  const cross: Triple = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
  const length = Math.hypot(...cross)
  return length > 1e-20 ? [cross[0] / length, cross[1] / length, cross[2] / length] : null
}
