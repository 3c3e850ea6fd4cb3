import type { Document, Node } from '@gltf-transform/core'
import { findHumanoid } from './bones.ts'
import type { Quaternion, Vector } from './math.ts'
import { PRESETS, type PresetName } from './presets.ts'
import { Rig } from './rig.ts'
import { type Posed, Skeleton } from './skeleton.ts'

export const FRAMES_A_SECOND = 30

/** A clip in the form that files store: the local rotations of nodes and the position of the hips at each time. */
export interface Frames {
  name: string
  /** In seconds, ascending. */
  times: Float32Array<ArrayBuffer>
  rotations: Map<Node, Float32Array<ArrayBuffer>>
  translations: Map<Node, Float32Array<ArrayBuffer>>
}

/** Computes a preset for a rigged model. @returns null when the model has no humanoid rig */
export function presetFrames(document: Document, name: PresetName): Frames | null {
  const bones = findHumanoid(document)
  if (!bones) return null
  const { seconds, pose } = PRESETS[name]
  const rig = new Rig(new Skeleton(bones))
  const count = Math.round(seconds * FRAMES_A_SECOND)
  const times = Float32Array.from({ length: count + 1 }, (_, frame) => (frame / count) * seconds)
  const frames: Frames = { name, times, rotations: new Map(), translations: new Map() }
  for (let frame = 0; frame <= count; frame++) record(frames, frame, { bones, posed: rig.pose(pose(frame / count)) })
  return frames
}

/** Records a pose as one frame of a clip. */
export function record(
  { times, rotations, translations }: Frames,
  frame: number,
  { bones: { hips }, posed }: { bones: { hips: Node }; posed: Posed },
): void {
  putTranslation(translations, hips, { frame, frames: times.length, value: posed.hips })
  for (const [node, value] of posed.rotations) putRotation(rotations, node, { frame, frames: times.length, value })
}

export function putTranslation(
  tracks: Frames['translations'],
  node: Node,
  { frame, frames, value }: { frame: number; frames: number; value: Vector },
): void {
  const track = tracks.get(node) ?? new Float32Array(frames * 3)
  tracks.set(node, track)
  track.set(value, frame * 3)
}

/**
 * A quaternion and its negative are the same rotation. The one nearer to the previous frame avoids long interpolations.
 */
export function putRotation(
  tracks: Frames['rotations'],
  node: Node,
  { frame, frames, value }: { frame: number; frames: number; value: Quaternion },
): void {
  const track = tracks.get(node) ?? new Float32Array(frames * 4)
  tracks.set(node, track)
  const before = frame === 0 ? value : track.subarray(frame * 4 - 4, frame * 4)
  const cosine = value.reduce((sum, part, at) => sum + part * (before[at] as number), 0)
  track.set(cosine < 0 ? value.map((part) => -part) : value, frame * 4)
}
