import { PropertyType } from '@gltf-transform/core'
import { prune } from '@gltf-transform/functions'
import { keepCompression } from './compression.ts'
import { addClip } from './humanoid/clip.ts'
import type { PresetName } from './humanoid/presets.ts'
import { readModel } from './inspect.ts'
import { validate } from './validate.ts'

/**
 * The model with one clip, as a glTF binary.
 *
 * @returns null when it has no humanoid rig
 */
export async function animateModel(source: Uint8Array, preset: PresetName): Promise<Uint8Array | null> {
  const { document, io } = await readModel(source)
  if (!addClip(document, preset)) return null
  // What only the clips used that it had.
  await document.transform(prune({ propertyTypes: [PropertyType.ACCESSOR] }))
  await keepCompression(document, io)
  const bytes = await io.writeBinary(document)
  await validate(bytes)
  return bytes
}
