import type { Accessor, bbox, Document, mat4, Primitive, vec3 } from '@gltf-transform/core'
import { compactPrimitive, weldPrimitive } from '@gltf-transform/functions'
import { MeshoptSimplifier } from 'meshoptimizer'
import { valuesOf } from './accessor-values.ts'
import { indicesOf, isFlat, shadeFlat } from './flat-shading.ts'
import { strongestOf } from './morph-targets.ts'

/** A part that keeps more than this fraction of its triangles stays unchanged. */
const WORTH = 0.9
/** The maximum movement of a side of a part's bounding box, as a fraction of its diagonal. */
const BOX_TOLERANCE = 0.02
const TRIANGLES = 4
/** The weights of attributes beside a movement by the size of the part: what distorts a texture is seen first. */
const WEIGHTS = { NORMAL: 0.5, TEXCOORD: 1, COLOR: 0.5, JOINTS: 1, SHAPE: 1 }
/** The simplifier takes no more numbers for a vertex. */
const MOST_COLUMNS = 32

export interface Target {
  /** The wanted fraction of triangles. */
  ratio: number
  /** The maximum movement of the surface, in the units of the part. */
  error: number
  /** Whether a place is shared with another part, so that it must stay. */
  isShared: ((x: number, y: number, z: number) => boolean) | null
  /** The places of the joints that move the part, in its own units; null without a skin. */
  joints: readonly [number, number, number][] | null
}

/**
 * Simplifies a part of a mesh. Vertices of the result are vertices of the source with all their attributes.
 *
 * @returns a new part, or the reason why the part has to stay
 */
export function simplifyPart(
  document: Document,
  primitive: Primitive,
  target: Target,
): Primitive | 'not_smaller' | 'shape_would_change' {
  if (primitive.getMode() !== TRIANGLES || !primitive.getAttribute('POSITION')) return 'not_smaller'
  const copy = workingCopy(primitive)
  // Split normals make every edge of a flat-shaded mesh a seam, which blocks simplification, so they are recomputed.
  const flat = isFlat(primitive) && !primitive.getAttribute('TANGENT')
  if (flat) for (const part of [copy, ...copy.listTargets()]) part.setAttribute('NORMAL', null)
  weldPrimitive(copy, { overwrite: true })
  const indices = fewerTriangles(copy, target)
  if (indices.length <= indicesOf(primitive).length * WORTH && indices.length > 0) {
    copy.setIndices(indexAccessor(document, indices))
    compactPrimitive(copy)
    if (flat) shadeFlat(document, copy)
    if (sameBox(boxOf(primitive), boxOf(copy))) return copy
    discard(copy)
    return 'shape_would_change'
  }
  discard(copy)
  return 'not_smaller'
}

/** Removes a part that belongs to no mesh. */
export function discard(primitive: Primitive): void {
  for (const target of primitive.listTargets()) target.dispose()
  primitive.dispose()
}

/**
 * Parts that shared one list of vertices now have their own. Without this, each would keep all vertices of the list.
 *
 * @returns whether the part has changed
 */
export function dropUnusedVertices(primitive: Primitive): boolean {
  const vertices = primitive.getAttribute('POSITION')?.getCount() ?? 0
  if (!primitive.getIndices() || new Set(indicesOf(primitive)).size === vertices) return false
  compactPrimitive(primitive)
  return true
}

/** Creates a copy with targets of its own. */
export function workingCopy(primitive: Primitive): Primitive {
  const copy = primitive.clone()
  for (const target of primitive.listTargets()) copy.removeTarget(target).addTarget(target.clone())
  return copy
}

/** Replaces the geometry of a primitive by another's. Its material, name and extensions stay. */
export function takeOver(primitive: Primitive, from: Primitive): void {
  primitive.setIndices(from.getIndices())
  const targets = from.listTargets()
  const pairs = [[primitive, from], ...primitive.listTargets().map((target, at) => [target, targets[at]])] as const
  for (const [to, source] of pairs) {
    if (!to || !source) continue
    for (const semantic of to.listSemantics()) to.setAttribute(semantic, source.getAttribute(semantic))
    for (const semantic of source.listSemantics()) to.setAttribute(semantic, source.getAttribute(semantic))
  }
}

function fewerTriangles(primitive: Primitive, { ratio, error, isShared, joints }: Target): Uint32Array {
  const indices = indicesOf(primitive)
  const wanted = Math.floor((indices.length * ratio) / 3) * 3
  const positions = valuesOf(primitive.getAttribute('POSITION') as Accessor)
  const { attributes, weights } = attributesOf(primitive, joints)
  const lock = isShared && new Uint8Array(positions.length / 3)
  for (let at = 0; lock && at < lock.length; at++) {
    const [x, y, z] = positions.subarray(at * 3, at * 3 + 3)
    lock[at] = isShared?.(x as number, y as number, z as number) ? 1 : 0
  }
  const [found] =
    weights.length > 0 || lock
      ? MeshoptSimplifier.simplifyWithAttributes(
          indices,
          positions,
          3,
          attributes,
          weights.length,
          weights,
          lock,
          wanted,
          error,
          ['ErrorAbsolute'],
        )
      : MeshoptSimplifier.simplify(indices, positions, 3, wanted, error, ['ErrorAbsolute'])
  return found
}

/** Collects what must not be distorted: normals, texture coordinates, colours, and what moves a vertex (joints, shapes). */
function attributesOf(primitive: Primitive, joints: Target['joints']): { attributes: Float32Array; weights: number[] } {
  const columns: { values: Float32Array; width: number; weight: number }[] = []
  for (const name of primitive.listSemantics()) {
    const weight = WEIGHTS[name.replace(/_\d+$/, '') as keyof typeof WEIGHTS]
    if (weight === undefined || name.startsWith('JOINTS')) continue
    const accessor = primitive.getAttribute(name) as Accessor
    columns.push({ values: valuesOf(accessor), width: accessor.getElementSize(), weight })
  }
  // Other attributes have no unit; these have that of the positions.
  const extent = () => MeshoptSimplifier.getScale(valuesOf(primitive.getAttribute('POSITION') as Accessor), 3) || 1
  const pull = joints && pullOf(primitive, joints)
  if (pull) columns.push({ values: pull, width: 3, weight: WEIGHTS.JOINTS / extent() })
  for (const at of strongestOf([primitive])) {
    const moves = primitive.listTargets()[at]?.getAttribute('POSITION')
    if (moves) columns.push({ values: valuesOf(moves), width: 3, weight: WEIGHTS.SHAPE / extent() })
  }
  while (columns.reduce((sum, { width }) => sum + width, 0) > MOST_COLUMNS) columns.pop()
  const stride = columns.reduce((sum, { width }) => sum + width, 0)
  const count = primitive.getAttribute('POSITION')?.getCount() ?? 0
  const attributes = new Float32Array(count * stride)
  let start = 0
  for (const { values, width } of columns) {
    for (let at = 0; at < count; at++) {
      for (let part = 0; part < width; part++)
        attributes[at * stride + start + part] = values[at * width + part] as number
    }
    start += width
  }
  return { attributes, weights: columns.flatMap(({ width, weight }) => new Array<number>(width).fill(weight)) }
}

/**
 * Returns the mean place of the joints that move each vertex. Vertices that different joints move are far apart in it, so
 * that they are not joined.
 */
function pullOf(primitive: Primitive, joints: readonly [number, number, number][]): Float32Array | null {
  const [indices, weights] = [primitive.getAttribute('JOINTS_0'), primitive.getAttribute('WEIGHTS_0')]
  if (!indices || !weights) return null
  const made = new Float32Array(indices.getCount() * 3)
  const [joint, weight]: [number[], number[]] = [[], []]
  for (let at = 0; at < indices.getCount(); at++) {
    indices.getElement(at, joint)
    weights.getElement(at, weight)
    for (let slot = 0; slot < 4; slot++) {
      const place = joints[joint[slot] ?? 0]
      const part = weight[slot] ?? 0
      for (let axis = 0; place && axis < 3; axis++) {
        made[at * 3 + axis] = (made[at * 3 + axis] as number) + (place[axis] as number) * part
      }
    }
  }
  return made
}

function indexAccessor(document: Document, indices: Uint32Array): Accessor {
  const buffer = document.getRoot().listBuffers()[0] ?? document.createBuffer()
  const array = new Uint32Array(indices)
  return document.createAccessor().setType('SCALAR').setArray(array).setBuffer(buffer)
}

/** Returns the largest factor of scale of a matrix. */
export const scaleOf = (matrix: mat4): number =>
  Math.max(
    Math.hypot(matrix[0], matrix[1], matrix[2]),
    Math.hypot(matrix[4], matrix[5], matrix[6]),
    Math.hypot(matrix[8], matrix[9], matrix[10]),
  )

/**
 * Computes the box of the vertices that a part draws, in its own space. Several parts may share one list of vertices.
 */
function boxOf(primitive: Primitive): bbox {
  const position = primitive.getAttribute('POSITION')
  const [min, max]: [vec3, vec3] = [
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
  ]
  const place: vec3 = [0, 0, 0]
  for (const index of indicesOf(primitive)) {
    position?.getElement(index, place)
    for (let axis = 0; axis < 3; axis++) {
      min[axis] = Math.min(min[axis] as number, place[axis] as number)
      max[axis] = Math.max(max[axis] as number, place[axis] as number)
    }
  }
  return { min, max }
}

function sameBox(before: bbox, after: bbox): boolean {
  const diagonal = Math.hypot(...before.max.map((side, axis) => side - (before.min[axis] as number)))
  return (['min', 'max'] as const).every((end) =>
    before[end].every((side, axis) => Math.abs(side - (after[end][axis] as number)) <= diagonal * BOX_TOLERANCE),
  )
}
