import { readFile } from 'node:fs/promises'
import { readParts } from './container.ts'
import type { Gltf } from './gltf.ts'
import { decodeDataUri, isDataUri, pathInPack, type Surroundings } from './references.ts'

const FLOAT = 5126
/** The deviation of a length that the Khronos validator tolerates is larger. */
const UNIT_TOLERANCE = 0.0005
const HEADER_BYTES = 20
const MAGIC = 0x46546c67

/** A repaired model. */
export interface Repaired {
  /** The model itself. */
  bytes: Uint8Array
  /** The changed files of its pack, by their paths. */
  files: Map<string, Uint8Array>
  /** What was done, in a sentence each; empty when nothing was. */
  repairs: string[]
}

/**
 * Repairs faults of a model that change nothing that is seen: bytes after the end of a glTF binary, and normals and tangents
 * that have another length than 1, in the file itself, in its data URIs, and in the files of its pack.
 *
 * @param source stays as it is
 * @throws ModelRefusal when its parts can't be read
 */
export async function repairModel(source: Uint8Array, beside?: Surroundings): Promise<Repaired> {
  const repairs: string[] = []
  let bytes = new Uint8Array(source)
  const isGlb = bytes.length >= HEADER_BYTES && new DataView(bytes.buffer).getUint32(0, true) === MAGIC
  const length = isGlb ? new DataView(bytes.buffer).getUint32(8, true) : 0
  if (length >= HEADER_BYTES && length < bytes.length) {
    repairs.push(`${bytes.length - length} bytes after the end of the file are removed.`)
    bytes = bytes.slice(0, length)
  }
  const { gltf, binary, isBinary } = readParts(bytes)
  const buffers = await readBuffers(gltf, { binary, isBinary, beside })
  for (const [accessor, name] of directionsOf(gltf)) {
    const buffer = buffers[gltf.bufferViews?.[gltf.accessors?.[accessor]?.bufferView ?? -1]?.buffer ?? 0]
    const count = buffer?.bytes && makeUnit(gltf, buffer.bytes, accessor)
    if (!buffer || !count) continue
    buffer.isChanged = true
    repairs.push(`${count} vectors of ${name} (/accessors/${accessor}) have the length 1 now.`)
  }
  const files = new Map<string, Uint8Array>()
  const changed = buffers.filter(({ isChanged }) => isChanged)
  for (const { path, bytes } of changed) if (path !== null && bytes) files.set(path, bytes)
  if (changed.some(({ isData }) => isData)) {
    for (const [at, { isData, bytes }] of buffers.entries()) {
      const definition = gltf.buffers?.[at]
      if (!definition || !isData || !bytes) continue
      definition.uri = `data:application/octet-stream;base64,${Buffer.from(bytes).toString('base64')}`
    }
    bytes = new Uint8Array(Buffer.from(JSON.stringify(gltf)))
  }
  return { bytes, files, repairs }
}

interface ReadBuffer {
  /** Null for a buffer that is not there. */
  bytes: Uint8Array | null
  /** The file of the pack; null for a part of the model itself. */
  path: string | null
  /** Whether it is a data URI of a `.gltf`. */
  isData: boolean
  isChanged: boolean
}

async function readBuffers(
  gltf: Gltf,
  { binary, isBinary, beside }: { binary: Uint8Array | null; isBinary: boolean; beside: Surroundings | undefined },
): Promise<ReadBuffer[]> {
  const buffers: ReadBuffer[] = []
  const known = new Map<string, Uint8Array>()
  for (const [index, { uri }] of (gltf.buffers ?? []).entries()) {
    const buffer: ReadBuffer = { bytes: null, path: null, isData: false, isChanged: false }
    buffers.push(buffer)
    if (uri === undefined) buffer.bytes = index === 0 ? binary : null
    else if (typeof uri === 'string' && isDataUri(uri)) {
      buffer.isData = !isBinary
      if (!isBinary) buffer.bytes = decodeDataUri({ list: 'buffers', index, uri })
    } else if (typeof uri === 'string' && beside) {
      const path = pathInPack(uri, beside.path)
      const local = path === null ? undefined : beside.files.get(path)
      if (path === null || !local) continue
      const read = known.get(path) ?? new Uint8Array(await readFile(local))
      known.set(path, read)
      Object.assign(buffer, { path, bytes: read })
    }
  }
  return buffers
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

/** Changes the vectors of an accessor in place, in the buffer of its view. @returns their number */
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
  const width = accessor.type === 'VEC4' ? 4 : 3
  const stride = view.byteStride ?? width * 4
  if (!(stride >= width * 4)) return 0
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
