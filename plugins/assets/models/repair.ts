import { readParts } from './container.ts'
import type { Gltf } from './gltf.ts'

const FLOAT = 5126
/** The deviation of a length that the Khronos validator tolerates is larger. */
const UNIT_TOLERANCE = 0.0005
const HEADER_BYTES = 20

/**
 * Repairs faults of a glTF binary that change nothing that is seen: bytes after its end, and normals and tangents that have
 * another length than 1.
 *
 * @param source stays as it is
 * @returns the repaired copy, and what was done in a sentence each; the list is empty when nothing was
 * @throws ModelRefusal when its parts can't be read
 */
export function repairModel(source: Uint8Array): { bytes: Uint8Array; repairs: string[] } {
  const repairs: string[] = []
  let bytes = new Uint8Array(source)
  const length = bytes.length < HEADER_BYTES ? 0 : new DataView(bytes.buffer).getUint32(8, true)
  if (length >= HEADER_BYTES && length < bytes.length) {
    repairs.push(`${bytes.length - length} bytes after the end of the file are removed.`)
    bytes = bytes.slice(0, length)
  }
  const { gltf, binary } = readParts(bytes)
  for (const [accessor, name] of directionsOf(gltf)) {
    const count = binary && makeUnit(gltf, binary, accessor)
    if (count) repairs.push(`${count} vectors of ${name} (/accessors/${accessor}) have the length 1 now.`)
  }
  return { bytes, repairs }
}

/** Returns the accessors of normals and tangents, with their names. */
function directionsOf({ meshes = [] }: Gltf): Map<number, string> {
  const found = new Map<number, string>()
  for (const { primitives = [] } of meshes) {
    for (const { attributes = {} } of primitives as { attributes?: Record<string, number> }[]) {
      for (const name of ['NORMAL', 'TANGENT']) {
        const accessor = attributes[name]
        if (accessor !== undefined) found.set(accessor, name)
      }
    }
  }
  return found
}

/** Changes the vectors of an accessor in place. @returns their number */
function makeUnit(gltf: Gltf, binary: Uint8Array, index: number): number {
  const accessor = gltf.accessors?.[index] as
    | {
        componentType?: number
        count?: number
        type?: string
        bufferView?: number
        byteOffset?: number
        sparse?: unknown
      }
    | undefined
  const view = gltf.bufferViews?.[accessor?.bufferView ?? -1]
  if (!accessor || !view || accessor.componentType !== FLOAT || accessor.sparse || view.extensions) return 0
  if ((view.buffer ?? 0) !== 0 || gltf.buffers?.[0]?.uri !== undefined) return 0
  const width = accessor.type === 'VEC4' ? 4 : 3
  const stride = view.byteStride ?? width * 4
  const data = new DataView(binary.buffer, binary.byteOffset, binary.byteLength)
  const start = (view.byteOffset ?? 0) + (accessor.byteOffset ?? 0)
  let changed = 0
  for (let element = 0; element < (accessor.count ?? 0); element++) {
    const at = start + element * stride
    if (at + width * 4 > binary.length) return changed
    const [x, y, z] = [0, 4, 8].map((part) => data.getFloat32(at + part, true)) as [number, number, number]
    const length = Math.hypot(x, y, z)
    const sign = width === 4 ? data.getFloat32(at + 12, true) : 1
    if (Math.abs(length - 1) <= UNIT_TOLERANCE && Math.abs(sign) === 1) continue
    const isDirection = Number.isFinite(length) && length > 0
    const unit = isDirection ? [x / length, y / length, z / length] : [0, 1, 0]
    for (const [part, value] of unit.entries()) data.setFloat32(at + part * 4, value, true)
    if (width === 4) data.setFloat32(at + 12, sign < 0 ? -1 : 1, true)
    changed++
  }
  return changed
}
