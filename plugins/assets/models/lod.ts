import type { Document, Primitive } from '@gltf-transform/core'
import type { LodReason } from '../schemas.ts'
import { assertNothingLost, knowsExtensions, SomethingLost } from './compare.ts'
import { countTriangles, readModel } from './inspect.ts'
import { strongestShapes } from './morph-targets.ts'
import { ModelRefusal } from './refusal.ts'
import { replaceParts } from './replace-parts.ts'
import { looksOf, similarity } from './similarity.ts'
import { type Effort, Simplification } from './simplification.ts'
import type { DecodedTextures } from './surfaces.ts'
import { shrinkTextures } from './textures.ts'
import { validate } from './validate.ts'

/** The minimum number of triangles. Smaller models gain nothing from simplification. */
const FEWEST_TRIANGLES = 500
/** The maximum size of a useful simplified form, as a fraction of the source. */
const WORTH = 0.9
/** What is tried, until the pictures are similar enough. */
const EFFORTS: readonly Effort[] = [
  { ratio: 0.25, error: 0.005 },
  { ratio: 0.5, error: 0.002 },
  { ratio: 0.7, error: 0.0007 },
]
/** The least structural similarity of the pictures of a form and its source (bench/RESULTS.md, Lighter forms). */
export const LEAST_SIMILARITY = 0.98

/** A simplified form. `similarity` is that of its least similar picture. */
export type Simplified = { bytes: Uint8Array; triangles: number; similarity: number } | { reason: LodReason }

/**
 * Simplifies a model: a quarter of the triangles, or more where that would be seen, and textures of at most 1024 pixels.
 * Pictures of the result and the source decide what would be seen. All else of the model is kept: clips, skins, names,
 * materials, attributes, extensions and `extras`.
 *
 * @returns the reason when there is no useful result
 */
export async function simplifyModel(source: Uint8Array): Promise<Simplified> {
  const { document, gltf, io } = await readModel(source)
  const before = countTriangles(document)
  if (!knowsExtensions(gltf)) return { reason: 'unknown_extension' }
  const found = before < FEWEST_TRIANGLES ? null : await simplifyParts(document)
  const textures = shrinkTextures(document)
  const triangles = countTriangles(document)
  if (textures.size === 0 && triangles > before * WORTH) {
    if (before < FEWEST_TRIANGLES) return { reason: 'few_triangles' }
    return { reason: found?.looked ? 'shape_would_change' : 'not_smaller' }
  }
  const packed = found && usesDraco(gltf) ? await pack(document, io) : undefined
  const bytes = replaceParts(source, document, { primitives: found?.parts ?? new Set(), textures, packed })
  if (bytes.length > source.length * WORTH) return { reason: 'not_smaller' }
  if (!(await isFaithful(source, bytes))) return { reason: 'failed' }
  return { bytes, triangles, similarity: found?.similarity ?? 1 }
}

const usesDraco = ({ extensionsUsed }: { extensionsUsed?: unknown }): boolean =>
  Array.isArray(extensionsUsed) && extensionsUsed.includes('KHR_draco_mesh_compression')

/** Compresses a model as its source is, so that clients which can load the source can load the result too. */
async function pack(document: Document, io: Awaited<ReturnType<typeof readModel>>['io']): Promise<Uint8Array> {
  const { createEncoder } = await import('./draco.ts')
  io.registerDependencies({ 'draco3d.encoder': await createEncoder() })
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

/**
 * Tries to remove triangles until the looks are similar enough.
 *
 * @returns the parts that changed, their similarity, and whether some kept triangles because of their looks
 */
async function simplifyParts(
  document: Document,
): Promise<{ parts: Set<Primitive>; similarity: number; looked: boolean }> {
  const textures: DecodedTextures = new Map()
  const shapes = strongestShapes(document)
  const before = looksOf(document, textures, shapes)
  const simplification = await Simplification.of(document)
  let looked = false
  for (const effort of EFFORTS) {
    const { parts, keptShapes } = simplification.attempt(effort)
    looked ||= keptShapes
    if (parts.size === 0) break
    const alike = similarity(before, looksOf(document, textures, shapes))
    if (alike >= LEAST_SIMILARITY) return { parts: parts.union(simplification.finish()), similarity: alike, looked }
    looked = true
  }
  simplification.undo()
  return { parts: simplification.finish(), similarity: 1, looked }
}
