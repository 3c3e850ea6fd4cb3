import { readParts } from './container.ts'
import type { Gltf } from './gltf.ts'
import { Chunk, toGlb } from './write-glb.ts'

const [KHR, EXT] = ['KHR_meshopt_compression', 'EXT_meshopt_compression']

/**
 * Renames the compression of a file that has the ratified name, because the library that reads models knows only the
 * former one. Its data has the same form, and the decoder reads the newer encodings too.
 */
export function withFormerName(bytes: Uint8Array, { extensionsUsed }: Gltf): Uint8Array {
  if (!Array.isArray(extensionsUsed) || !extensionsUsed.includes(KHR)) return bytes
  const { gltf, binary } = readParts(bytes)
  const lists = ['extensionsUsed', 'extensionsRequired'] as const
  for (const name of lists) {
    const list = gltf[name]
    if (Array.isArray(list)) gltf[name] = list.map((entry) => (entry === KHR ? EXT : entry))
  }
  for (const part of [...(gltf.buffers ?? []), ...(gltf.bufferViews ?? [])] as {
    extensions?: Record<string, object>
  }[]) {
    const { [KHR as string]: found, ...others } = part.extensions ?? {}
    if (found) part.extensions = { ...others, [EXT as string]: found }
  }
  const chunk = new Chunk()
  if (binary) chunk.append(binary)
  return toGlb(gltf, chunk)
}
