import type { Document, Node } from '@gltf-transform/core'
import type { Gltf } from '../gltf.ts'

/** The bones by which a VRM says what is what, such as `leftUpperLeg`. */
type VrmBones = ReadonlyMap<string, Node>

const known = new WeakMap<Document, VrmBones>()

/** Remembers which bone is what in a VRM, which the library that reads models does not know. */
export function readVrmBones(document: Document, { extensions }: Gltf): void {
  if (typeof extensions !== 'object' || extensions === null) return
  const { VRM, VRMC_vrm } = extensions as Record<string, { humanoid?: { humanBones?: unknown } } | undefined>
  const nodes = document.getRoot().listNodes()
  const bones = new Map<string, Node>()
  const add = (bone: unknown, index: unknown) => {
    const node = nodes[Number(index)]
    if (typeof bone === 'string' && node) bones.set(bone, node)
  }
  // VRM 0 has a list, VRM 1 an object. Either is untrusted.
  const before = VRM?.humanoid?.humanBones
  if (Array.isArray(before)) for (const entry of before) add(entry?.bone, entry?.node)
  const now = VRMC_vrm?.humanoid?.humanBones
  if (typeof now === 'object' && now !== null) {
    for (const [bone, entry] of Object.entries(now)) add(bone, (entry as { node?: unknown } | null)?.node)
  }
  if (bones.size > 0) known.set(document, bones)
}

/** Returns the bones of a VRM; empty for other models. */
export const vrmBones = (document: Document): VrmBones => known.get(document) ?? new Map()
