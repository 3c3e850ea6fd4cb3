import { type Document, type Primitive, PropertyType } from '@gltf-transform/core'
import { dedup, prune } from '@gltf-transform/functions'
import { MeshoptSimplifier } from 'meshoptimizer'
import type { LodReason } from '../schemas.ts'
import { assertNothingLost, knowsExtensions, SomethingLost } from './compare.ts'
import { keepCompression } from './compression.ts'
import { countTriangles, readModel } from './inspect.ts'
import { ModelRefusal } from './refusal.ts'
import { replaceParts } from './replace-parts.ts'
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
 * whose shape would change stays as it is. All else of the model is kept: clips, skins, names, materials, attributes,
 * extensions and `extras`.
 *
 * @returns the reason when there is no useful result
 */
export async function simplifyModel(source: Uint8Array): Promise<Simplified> {
  const { document, gltf, io } = await readModel(source)
  const before = countTriangles(document)
  if (!knowsExtensions(gltf)) return { reason: 'unknown_extension' }
  const changed = before < FEWEST_TRIANGLES ? null : await simplifyParts(document)
  const textures = shrinkTextures(document)
  const triangles = countTriangles(document)
  if (textures.size === 0 && triangles > before * WORTH) {
    if (before < FEWEST_TRIANGLES) return { reason: 'few_triangles' }
    return { reason: changed?.keptShapes ? 'shape_would_change' : 'not_smaller' }
  }
  const bytes = usesDraco(gltf)
    ? await writeWhole(document, io)
    : replaceParts(source, document, { primitives: changed?.parts ?? new Set(), textures })
  if (bytes.length > source.length * WORTH) return { reason: 'not_smaller' }
  return (await isFaithful(source, bytes)) ? { bytes, triangles } : { reason: 'failed' }
}

const usesDraco = ({ extensionsUsed }: { extensionsUsed?: unknown }): boolean =>
  Array.isArray(extensionsUsed) && extensionsUsed.includes('KHR_draco_mesh_compression')

/** Writes a model whose parts are all decoded, and compresses them again. */
async function writeWhole(document: Document, io: Awaited<ReturnType<typeof readModel>>['io']): Promise<Uint8Array> {
  // Materials and meshes are not merged, because games identify them by name.
  await document.transform(
    dedup({ propertyTypes: [PropertyType.ACCESSOR, PropertyType.TEXTURE] }),
    prune({ propertyTypes: [PropertyType.ACCESSOR], keepAttributes: true, keepExtras: true }),
  )
  await keepCompression(document, io)
  return io.writeBinary(document)
}

/** Whether a derived file is valid and has everything of its source. If not, the fault is the platform's. */
async function isFaithful(source: Uint8Array, bytes: Uint8Array): Promise<boolean> {
  try {
    await validate(bytes)
    assertNothingLost(source, bytes)
    return true
  } catch (error) {
    if (error instanceof ModelRefusal || error instanceof SomethingLost) return false
    throw error
  }
}

/** @returns the parts that changed, and whether others were kept because of their shape */
async function simplifyParts(document: Document): Promise<{ parts: Set<Primitive>; keptShapes: boolean }> {
  await MeshoptSimplifier.ready
  const all = document
    .getRoot()
    .listMeshes()
    .flatMap((mesh) => mesh.listPrimitives())
  const outcomes = new Map(all.map((part) => [part, simplifyPart(document, part)]))
  const parts = new Set<Primitive>()
  for (const [part, outcome] of outcomes) {
    if (outcome === 'simplified' || dropUnusedVertices(part)) parts.add(part)
  }
  return { parts, keptShapes: [...outcomes.values()].includes('shape_would_change') }
}
