import type { Document, Node } from '@gltf-transform/core'
import { findHumanoid } from './bones.ts'
import type { Quaternion } from './math.ts'
import { PRESETS, type PresetName } from './presets.ts'
import { Rig } from './retarget.ts'

const FRAMES_A_SECOND = 30

/** Gives a rigged model one clip, in place of those that it has. @returns false when there is no humanoid rig in it */
export function addClip(document: Document, name: PresetName): boolean {
  const bones = findHumanoid(document)
  if (!bones) return false
  const { seconds, pose } = PRESETS[name]
  const rig = new Rig(bones)
  const frames = Math.round(seconds * FRAMES_A_SECOND)
  const times = Float32Array.from({ length: frames + 1 }, (_, frame) => (frame / frames) * seconds)
  const animated = rig.animated
  const tracks = new Map<Node, Float32Array<ArrayBuffer>>()
  for (const node of animated) tracks.set(node, new Float32Array(times.length * 4))
  const hips = new Float32Array(times.length * 3)
  for (let frame = 0; frame <= frames; frame++) {
    const posed = rig.pose(pose(frame / frames))
    hips.set(posed.hips, frame * 3)
    for (const [node, track] of tracks)
      put(track, frame, posed.rotations.get(node) ?? (node.getRotation() as Quaternion))
  }
  for (const clip of document.getRoot().listAnimations()) clip.dispose()
  const buffer = document.getRoot().listBuffers()[0] ?? document.createBuffer()
  const clip = document.createAnimation(name)
  const input = document.createAccessor().setType('SCALAR').setArray(times).setBuffer(buffer)
  const add = (node: Node, path: 'rotation' | 'translation', array: Float32Array<ArrayBuffer>) => {
    const type = path === 'rotation' ? 'VEC4' : 'VEC3'
    const output = document.createAccessor().setType(type).setArray(array).setBuffer(buffer)
    const sampler = document.createAnimationSampler().setInput(input).setOutput(output).setInterpolation('LINEAR')
    clip.addSampler(sampler)
    clip.addChannel(document.createAnimationChannel().setTargetNode(node).setTargetPath(path).setSampler(sampler))
  }
  add(bones.hips, 'translation', hips)
  for (const [node, track] of tracks) add(node, 'rotation', track)
  return true
}

/** A quaternion and its negative are one rotation; the nearer to the one before is taken, or viewers go the long way. */
function put(track: Float32Array, frame: number, rotation: Quaternion): void {
  let sign = 1
  if (frame > 0) {
    let cosine = 0
    for (let part = 0; part < 4; part++)
      cosine += (track[(frame - 1) * 4 + part] as number) * (rotation[part] as number)
    if (cosine < 0) sign = -1
  }
  for (let part = 0; part < 4; part++) track[frame * 4 + part] = sign * (rotation[part] as number)
}
