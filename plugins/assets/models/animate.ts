import { type Document, PropertyType } from '@gltf-transform/core'
import { prune } from '@gltf-transform/functions'
import { keepCompression } from './compression.ts'
import { addPreset } from './humanoid/clip.ts'
import type { PresetName } from './humanoid/presets.ts'
import { type Applied, applyClip } from './humanoid/retarget.ts'
import { readModel } from './inspect.ts'
import { validate } from './validate.ts'

/** A preset of the platform, or a clip of another file. */
export type ClipChoice = { preset: PresetName } | { library: Uint8Array; clip: string }

/** The reason why a clip could not be applied to a model. */
export type NotAnimated = 'no_humanoid' | Exclude<Applied, 'applied'>

/** Creates a glTF binary of the model with one clip. */
export async function animateModel(source: Uint8Array, choice: ClipChoice): Promise<Uint8Array | NotAnimated> {
  const { document, io } = await readModel(source)
  const done = await addClip(document, choice)
  if (done !== 'applied') return done
  // Removes data that only the deleted clips used.
  await document.transform(prune({ propertyTypes: [PropertyType.ACCESSOR] }))
  await keepCompression(document, io)
  const bytes = await io.writeBinary(document)
  await validate(bytes)
  return bytes
}

async function addClip(document: Document, choice: ClipChoice): Promise<NotAnimated | 'applied'> {
  if ('preset' in choice) return addPreset(document, choice.preset) ? 'applied' : 'no_humanoid'
  const library = await readModel(choice.library)
  return applyClip(document, library.document, choice.clip)
}
