import type { Document, Node } from '@gltf-transform/core'
import { readParts } from './container.ts'
import type { Frames } from './humanoid/clip.ts'
import { Chunk, toGlb } from './write-glb.ts'

const FLOAT = 5126

/**
 * Adds a clip to a glTF binary, as its first one. The model's own clips stay behind it. All else stays as it is, bytes and
 * unknown extensions too, because new accessors are appended to the others.
 *
 * @param document the same model, in which the frames name nodes
 */
export function appendClip(source: Uint8Array, document: Document, frames: Frames): Uint8Array {
  const { gltf, binary } = readParts(source)
  const buffers = [...(gltf.buffers ?? [])]
  const [first] = buffers
  // Only the first buffer can be in the chunk. Where it is not, the clip gets a buffer of its own.
  const extended = first && binary && first.uri === undefined ? first : null
  const buffer = extended ? 0 : buffers.length
  const chunk = new Chunk()
  if (extended && binary) chunk.append(binary)
  const views = [...(gltf.bufferViews ?? [])]
  const accessors: Record<string, unknown>[] = [...(gltf.accessors ?? [])]
  const add = (array: Float32Array<ArrayBuffer>, type: 'SCALAR' | 'VEC3' | 'VEC4'): number => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
    views.push({ buffer, byteOffset: chunk.append(bytes), byteLength: bytes.length })
    const width = { SCALAR: 1, VEC3: 3, VEC4: 4 }[type]
    const ends = type === 'SCALAR' ? { min: [array[0]], max: [array.at(-1)] } : {}
    const count = array.length / width
    accessors.push({ bufferView: views.length - 1, componentType: FLOAT, count, type, ...ends })
    return accessors.length - 1
  }
  const indices = new Map(
    document
      .getRoot()
      .listNodes()
      .map((node, index) => [node, index]),
  )
  const input = add(frames.times, 'SCALAR')
  const samplers: object[] = []
  const channels: object[] = []
  const animate = (node: Node, path: string, output: number) => {
    samplers.push({ input, output, interpolation: 'LINEAR' })
    channels.push({ sampler: samplers.length - 1, target: { node: indices.get(node), path } })
  }
  for (const [node, track] of frames.translations) animate(node, 'translation', add(track, 'VEC3'))
  for (const [node, track] of frames.rotations) animate(node, 'rotation', add(track, 'VEC4'))
  const clip = { name: frames.name, samplers, channels }
  const lists = { bufferViews: views, accessors, animations: [clip, ...(gltf.animations ?? [])] }
  if (extended) {
    buffers[0] = { ...extended, byteLength: chunk.length }
    return toGlb({ ...gltf, buffers, ...lists }, chunk)
  }
  const data = Buffer.concat(chunk.parts).toString('base64')
  buffers.push({ byteLength: chunk.length, uri: `data:application/octet-stream;base64,${data}` })
  const before = new Chunk()
  if (binary) before.append(binary)
  return toGlb({ ...gltf, buffers, ...lists }, before)
}
