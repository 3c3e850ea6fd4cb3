import type { Document } from '@gltf-transform/core'
import { appendClip } from './append-clip.ts'
import { assertNothingLost } from './compare.ts'
import { type Frames, presetFrames } from './humanoid/clip.ts'
import type { PresetName } from './humanoid/presets.ts'
import { type DoesNotApply, retargetedFrames } from './humanoid/retarget.ts'
import { readModel } from './inspect.ts'
import { validate } from './validate.ts'

/** A preset of the platform, or a clip of another file. */
export type ClipChoice = { preset: PresetName } | { library: Uint8Array; clip: string }

/** The reason why a clip could not be applied to a model. */
export type NotAnimated = 'no_humanoid' | DoesNotApply

/** Creates a glTF binary of the model with a further clip, which is the first. */
export async function animateModel(source: Uint8Array, choice: ClipChoice): Promise<Uint8Array | NotAnimated> {
  const { document } = await readModel(source)
  const frames = await framesOf(document, choice)
  if (typeof frames === 'string') return frames
  const bytes = appendClip(source, document, frames)
  assertNothingLost(source, bytes)
  await validate(bytes)
  return bytes
}

async function framesOf(document: Document, choice: ClipChoice): Promise<Frames | NotAnimated> {
  if ('preset' in choice) return presetFrames(document, choice.preset) ?? 'no_humanoid'
  const library = await readModel(choice.library)
  return retargetedFrames(document, library.document, choice.clip)
}
