import type { Document, Mesh, mat4, Node, Primitive } from '@gltf-transform/core'
import { MeshoptSimplifier } from 'meshoptimizer'
import { indicesOf } from './flat-shading.ts'
import { transform } from './matrices.ts'
import {
  discard,
  dropUnusedVertices,
  scaleOf,
  simplifyPart,
  type Target,
  takeOver,
  workingCopy,
} from './simplify-part.ts'

/** How much an attempt takes away. */
export interface Effort {
  /** The wanted fraction of triangles. */
  ratio: number
  /** The maximum movement of the surface, as a fraction of the whole model's size. */
  error: number
}

const IDENTITY: mat4 = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
/** Places that are nearer than this fraction of the model's size are the same. */
const SAME_PLACE = 1e-5

interface Part {
  primitive: Primitive
  /** The geometry before any attempt. */
  original: Primitive
  matrix: mat4
  joints: Target['joints']
}

/** Simplifies the parts of a model together, so that those which touch still do. It can be tried again from the start. */
export class Simplification {
  readonly #document: Document
  readonly #parts: Part[]
  readonly #size: number
  readonly #shared: ReadonlySet<number>

  static async of(document: Document): Promise<Simplification> {
    await MeshoptSimplifier.ready
    return new Simplification(document)
  }

  private constructor(document: Document) {
    this.#document = document
    const root = document.getRoot()
    const nodes = new Map<Mesh, Node>()
    for (const node of root.listNodes()) {
      const mesh = node.getMesh()
      if (mesh && !nodes.has(mesh)) nodes.set(mesh, node)
    }
    this.#parts = root.listMeshes().flatMap((mesh) => {
      const node = nodes.get(mesh)
      const skin = node?.getSkin() ?? null
      const joints = skin?.getInverseBindMatrices() && node ? jointPlaces(node) : null
      const matrix = node && !skin ? node.getWorldMatrix() : IDENTITY
      return mesh.listPrimitives().map((primitive) => ({ primitive, original: workingCopy(primitive), matrix, joints }))
    })
    this.#size = sizeOf(this.#parts)
    this.#shared = this.#parts.length > 1 ? sharedPlaces(this.#parts, this.#size * SAME_PLACE) : new Set()
  }

  /** @returns the parts that have changed, and whether others were kept because of their shape */
  attempt({ ratio, error }: Effort): { parts: Set<Primitive>; keptShapes: boolean } {
    this.undo()
    const parts = new Set<Primitive>()
    let keptShapes = false
    const unit = this.#size * SAME_PLACE
    for (const { primitive, matrix, joints } of this.#parts) {
      const scale = scaleOf(matrix) || 1
      const isShared = (x: number, y: number, z: number) => this.#shared.has(keyOf(transform(matrix, [x, y, z]), unit))
      const target = {
        ratio,
        error: (error * this.#size) / scale,
        isShared: this.#shared.size > 0 ? isShared : null,
        joints,
      }
      const simplified = simplifyPart(this.#document, primitive, target)
      if (typeof simplified === 'string') {
        keptShapes ||= simplified === 'shape_would_change'
        continue
      }
      takeOver(primitive, simplified)
      discard(simplified)
      parts.add(primitive)
    }
    return { parts, keptShapes }
  }

  /** Restores the source's geometry. */
  undo(): void {
    for (const { primitive, original } of this.#parts) takeOver(primitive, original)
  }

  /** Ends the attempts. @returns further parts, which have lost vertices that they do not draw */
  finish(): Set<Primitive> {
    for (const { original } of this.#parts) discard(original)
    return new Set(this.#parts.map(({ primitive }) => primitive).filter(dropUnusedVertices))
  }
}

/** Returns the places of a skin's joints when it was bound, in the space of the mesh. */
function jointPlaces(node: Node): [number, number, number][] {
  const skin = node.getSkin()
  const inverse = skin?.getInverseBindMatrices()
  return (skin?.listJoints() ?? []).map((_, index) => {
    const m = inverse?.getElement<mat4>(index, [...IDENTITY]) ?? IDENTITY
    // The translation of the inverse of a rotation, a uniform scale and a translation.
    const square = m[0] * m[0] + m[1] * m[1] + m[2] * m[2] || 1
    const along = (from: 0 | 4 | 8) =>
      -(m[from] * m[12] + m[(from + 1) as 1] * m[13] + m[(from + 2) as 2] * m[14]) / square
    return [along(0), along(4), along(8)]
  })
}

/** Returns the diagonal of the box around all parts. */
function sizeOf(parts: readonly Part[]): number {
  const [low, high] = [
    [Infinity, Infinity, Infinity],
    [-Infinity, -Infinity, -Infinity],
  ] as [number[], number[]]
  for (const { primitive, matrix } of parts) {
    const position = primitive.getAttribute('POSITION')
    if (!position) continue
    const [min, max] = [position.getMinNormalized([]), position.getMaxNormalized([])]
    for (let corner = 0; corner < 8; corner++) {
      const place = [0, 1, 2].map((axis) => ((corner >> axis) & 1 ? max[axis] : min[axis])) as [number, number, number]
      for (const [axis, value] of transform(matrix, place).entries()) {
        low[axis] = Math.min(low[axis] as number, value)
        high[axis] = Math.max(high[axis] as number, value)
      }
    }
  }
  const size = Math.hypot(...low.map((value, axis) => (high[axis] as number) - value))
  return Number.isFinite(size) && size > 0 ? size : 1
}

/** Returns the keys of the places where vertices of several parts are. */
function sharedPlaces(parts: readonly Part[], unit: number): Set<number> {
  const owners = new Map<number, number>()
  const shared = new Set<number>()
  const point: [number, number, number] = [0, 0, 0]
  for (const [part, { primitive, matrix }] of parts.entries()) {
    const position = primitive.getAttribute('POSITION')
    // Parts may have one list of vertices, of which each draws some.
    for (const at of position ? new Set(indicesOf(primitive)) : []) {
      const key = keyOf(transform(matrix, position?.getElement(at, point) ?? point), unit)
      const owner = owners.get(key)
      if (owner === undefined) owners.set(key, part)
      else if (owner !== part) shared.add(key)
    }
  }
  return shared
}

/** A hash of a place. Equal hashes of other places only keep more vertices. */
const keyOf = ([x, y, z]: readonly [number, number, number], unit: number): number =>
  Math.imul(Math.round(x / unit), 73_856_093) ^
  Math.imul(Math.round(y / unit), 19_349_663) ^
  Math.imul(Math.round(z / unit), 83_492_791)
