/** The parts of a glTF's JSON that are checked before a library reads it. All of it is untrusted. */
export interface Gltf {
  asset?: { version?: unknown }
  buffers?: { uri?: unknown; byteLength?: number; extensions?: object }[]
  bufferViews?: {
    buffer?: number
    byteOffset?: number
    byteLength?: number
    byteStride?: number
    extensions?: Record<string, Record<string, unknown>>
  }[]
  images?: { uri?: unknown; mimeType?: unknown; bufferView?: number }[]
  accessors?: { count?: number; type?: string; bufferView?: number; sparse?: unknown }[]
  nodes?: { children?: unknown }[]
  meshes?: { primitives?: unknown[] }[]
  animations?: unknown[]
  skins?: unknown[]
  extensions?: unknown
  extensionsUsed?: unknown
  extensionsRequired?: unknown
}
