import type { bbox, Document, Primitive, vec3 } from '@gltf-transform/core'
import { compactPrimitive, dequantizePrimitive, simplifyPrimitive, weldPrimitive } from '@gltf-transform/functions'
import { MeshoptSimplifier } from 'meshoptimizer'
import { indicesOf, isFlat, shadeFlat } from './flat-shading.ts'

/** The target fraction of triangles, and the maximum movement of the surface as a fraction of the mesh's size. */
const RATIO = 0.25
const ERROR = 0.01
/** A part that keeps more than this fraction of its triangles stays unchanged. */
const WORTH = 0.9
/** The maximum movement of a side of a part's bounding box, as a fraction of its diagonal. */
const BOX_TOLERANCE = 0.02
const TRIANGLES = 4
const QUANTIZED = /^(?:POSITION|NORMAL|TANGENT)$/

/**
 * Simplifies a part of a mesh, or leaves its bytes unchanged when the result would be no smaller or its bounding box
 * would change.
 */
export function simplifyPart(
  document: Document,
  primitive: Primitive,
): 'simplified' | 'not_smaller' | 'shape_would_change' {
  if (primitive.getMode() !== TRIANGLES || !primitive.getAttribute('POSITION')) return 'not_smaller'
  const copy = workingCopy(primitive)
  try {
    simplifyInPlace(document, copy)
    if (indicesOf(copy).length > indicesOf(primitive).length * WORTH) return 'not_smaller'
    if (!sameBox(boxOf(primitive), boxOf(copy))) return 'shape_would_change'
    takeOver(primitive, copy)
    return 'simplified'
  } finally {
    for (const target of copy.listTargets()) if (!primitive.listTargets().includes(target)) target.dispose()
    copy.dispose()
  }
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

function simplifyInPlace(document: Document, primitive: Primitive): void {
  dequantizePrimitive(primitive, { pattern: QUANTIZED })
  // Split normals make every edge of a flat-shaded mesh a seam, which blocks simplification, so they are recomputed.
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

/**
 * Creates a copy to modify. Attributes that change in place are copied, because other parts may share the originals.
 */
function workingCopy(primitive: Primitive): Primitive {
  const copy = primitive.clone()
  for (const target of primitive.listTargets()) copy.removeTarget(target).addTarget(target.clone())
  for (const part of [copy, ...copy.listTargets()]) {
    for (const semantic of part.listSemantics()) {
      if (QUANTIZED.test(semantic)) part.setAttribute(semantic, part.getAttribute(semantic)?.clone() ?? null)
    }
  }
  return copy
}

/** Replaces the geometry of a primitive by another's. Its material, name and extensions stay. */
function takeOver(primitive: Primitive, from: Primitive): void {
  primitive.setIndices(from.getIndices())
  const targets = from.listTargets()
  const pairs = [[primitive, from], ...primitive.listTargets().map((target, at) => [target, targets[at]])] as const
  for (const [to, source] of pairs) {
    if (!to || !source) continue
    for (const semantic of to.listSemantics()) to.setAttribute(semantic, source.getAttribute(semantic))
    for (const semantic of source.listSemantics()) to.setAttribute(semantic, source.getAttribute(semantic))
  }
}

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
