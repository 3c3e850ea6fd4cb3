import type { Document, Primitive } from '@gltf-transform/core'
import { valuesOf } from './accessor-values.ts'

/** The most shapes (morph targets) of a mesh that count, the strongest. */
const MOST_SHAPES = 4

/** By mesh, the numbers of its strongest shapes. */
export type Shapes = readonly (readonly number[])[]

export const strongestShapes = (document: Document): Shapes =>
  document
    .getRoot()
    .listMeshes()
    .map((mesh) => strongestOf(mesh.listPrimitives()))

/** Returns the numbers of the shapes that move a vertex the farthest, the strongest first. */
export function strongestOf(primitives: readonly Primitive[]): number[] {
  const moves: number[] = []
  for (const primitive of primitives) {
    for (const [at, target] of primitive.listTargets().entries()) {
      const position = target.getAttribute('POSITION')
      moves[at] = Math.max(moves[at] ?? 0, position ? farthest(valuesOf(position)) : 0)
    }
  }
  const moving = [...moves.keys()].filter((at) => moves[at])
  return moving.sort((a, b) => (moves[b] ?? 0) - (moves[a] ?? 0)).slice(0, MOST_SHAPES)
}

/** Sets the weights of shapes to 1, and those of all others to 0. @returns a function that restores them */
export function applyShapes(document: Document, shapes: Shapes): () => void {
  const root = document.getRoot()
  const chosen = new Map(root.listMeshes().map((mesh, at) => [mesh, shapes[at] ?? []]))
  const before = root.listNodes().map((node) => ({ node, weights: node.getWeights() }))
  for (const { node } of before) {
    const mesh = node.getMesh()
    const numbers = (mesh && chosen.get(mesh)) ?? []
    if (numbers.length === 0) continue
    node.setWeights(Array.from({ length: Math.max(...numbers) + 1 }, (_, at) => (numbers.includes(at) ? 1 : 0)))
  }
  return () => {
    for (const { node, weights } of before) node.setWeights(weights)
  }
}

function farthest(moves: Float32Array): number {
  let most = 0
  for (let at = 0; at < moves.length; at += 3) {
    const [x, y, z] = [moves[at], moves[at + 1], moves[at + 2]] as [number, number, number]
    most = Math.max(most, x * x + y * y + z * z)
  }
  return Math.sqrt(most)
}
