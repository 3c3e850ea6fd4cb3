import { type Document, PropertyType } from '@gltf-transform/core'
import { dedup, prune } from '@gltf-transform/functions'
import { MeshoptSimplifier } from 'meshoptimizer'
import type { LodReason } from '../schemas.ts'
import { keepCompression } from './compression.ts'
import { countTriangles, readModel } from './inspect.ts'
import { dropUnusedVertices, simplifyPart } from './simplify-part.ts'
import { shrinkTextures } from './textures.ts'
import { validate } from './validate.ts'

/** The minimum number of triangles. Smaller models gain nothing from simplification. */
const FEWEST_TRIANGLES = 500
/** The maximum size of a useful simplified form, as a fraction of the source. */
const WORTH = 0.9

export type Simplified = { bytes: Uint8Array; triangles: number } | { reason: LodReason }

/**
 * Simplifies a model: a quarter of the triangles where that is not visible, and textures of at most 1024 pixels. A part
 * whose shape would change stays as it is. Clips, skins, names and empty nodes are kept, since games look them up.
 *
 * @returns the reason when the result is not smaller
 */
export async function simplifyModel(source: Uint8Array): Promise<Simplified> {
  const { document, io } = await readModel(source)
  const before = countTriangles(document)
  const changed = before < FEWEST_TRIANGLES ? 'none' : await simplifyParts(document)
  const shrunk = shrinkTextures(document)
  const triangles = countTriangles(document)
  if (!shrunk && triangles > before * WORTH) {
    if (before < FEWEST_TRIANGLES) return { reason: 'few_triangles' }
    return { reason: changed === 'all' ? 'not_smaller' : 'shape_would_change' }
  }
  // Materials and meshes are not merged, because games identify them by name.
  await document.transform(
    dedup({ propertyTypes: [PropertyType.ACCESSOR, PropertyType.TEXTURE] }),
    prune({ keepLeaves: true, keepAttributes: true, keepExtras: true }),
  )
  await keepCompression(document, io)
  const bytes = await io.writeBinary(document)
  if (bytes.length > source.length * WORTH) return { reason: 'not_smaller' }
  await validate(bytes)
  return { bytes, triangles }
}

/** @returns whether all parts were simplified as far as possible, or some were kept because of their shape */
async function simplifyParts(document: Document): Promise<'all' | 'some'> {
  await MeshoptSimplifier.ready
  const parts = document
    .getRoot()
    .listMeshes()
    .flatMap((mesh) => mesh.listPrimitives())
  const outcomes = new Map(parts.map((part) => [part, simplifyPart(document, part)]))
  for (const [part, outcome] of outcomes) if (outcome !== 'simplified') dropUnusedVertices(part)
  return [...outcomes.values()].includes('shape_would_change') ? 'some' : 'all'
}
