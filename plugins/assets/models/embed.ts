import { readParts } from './container.ts'
import type { Gltf } from './gltf.ts'
import { isDataUri, readReferences, referencesOf, type Surroundings } from './references.ts'
import { ModelRefusal } from './refusal.ts'
import { Chunk, toGlb } from './write-glb.ts'

/** A model with everything in one glTF binary. */
export interface SelfContained {
  bytes: Uint8Array
  /** The paths of the files in its pack that it refers to. */
  uses: string[]
}

/**
 * Makes one glTF binary of a model: of a `.gltf` with its buffers and pictures, or of a `.glb` with pictures beside it. A
 * binary that refers to nothing stays as it is. Nothing else changes: neither the JSON nor the bytes of the parts.
 *
 * @throws ModelRefusal
 */
export async function selfContained(bytes: Uint8Array, beside?: Surroundings): Promise<SelfContained> {
  const { gltf, binary, isBinary } = readParts(bytes)
  const references = referencesOf(gltf)
  if (isBinary && references.every(({ uri }) => isDataUri(uri))) return { bytes, uses: [] }
  const { contents, uses } = await readReferences(references, beside)
  return { bytes: writeBinary(gltf, { binary, contents }), uses }
}

/** A buffer without content, such as the fallback of compressed ones, stays a buffer of its own. */
function writeBinary(
  gltf: Gltf,
  { binary, contents }: { binary: Uint8Array | null; contents: ReadonlyMap<string, Uint8Array> },
): Uint8Array {
  const chunk = new Chunk()
  const buffers = gltf.buffers ?? []
  const views = [...(gltf.bufferViews ?? [])]
  const places = buffers.map(({ uri, byteLength = 0 }, index) => {
    const content = uri === undefined ? (index === 0 ? binary : null) : contents.get(String(uri))
    if (!content) return null
    if (content.length < byteLength) {
      throw new ModelRefusal(`/buffers/${index} has ${content.length} bytes instead of ${byteLength}.`)
    }
    return chunk.append(content.subarray(0, byteLength))
  })
  for (const view of views) relocate(view, places)
  const images = (gltf.images ?? []).map(({ uri, ...image }) => {
    const content = uri === undefined ? undefined : contents.get(String(uri))
    if (!content) return image
    views.push({ buffer: 0, byteOffset: chunk.append(content), byteLength: content.length })
    return { ...image, bufferView: views.length - 1, mimeType: image.mimeType ?? mimeTypeOf(content) }
  })
  const { uri: _, ...first } = buffers[places.findIndex((place) => place !== null)] ?? {}
  const joined = chunk.length > 0 ? [{ ...first, byteLength: chunk.length }] : []
  const made: Gltf = { ...gltf }
  const lists = { buffers: [...joined, ...buffers.filter((_, at) => places[at] === null)], bufferViews: views, images }
  for (const [name, list] of Object.entries(lists)) {
    if (list.length > 0) Object.assign(made, { [name]: list })
  }
  return toGlb(made, chunk)
}

/** Moves a view, and its compressed form, to the joined buffer. */
function relocate(view: NonNullable<Gltf['bufferViews']>[number], places: readonly (number | null)[]): void {
  const apart = places.map((place, index) => (place === null ? index : -1)).filter((index) => index >= 0)
  const joined = apart.length < places.length ? 1 : 0
  for (const part of [view, ...Object.values(view.extensions ?? {})] as { buffer?: unknown; byteOffset?: unknown }[]) {
    if (part?.buffer === undefined) continue
    const place = places[part.buffer as number]
    if (place === undefined) throw new ModelRefusal('a bufferView refers to a buffer that is not there.')
    part.byteOffset = Number(part.byteOffset ?? 0) + (place ?? 0)
    part.buffer = place === null ? joined + apart.indexOf(part.buffer as number) : 0
  }
}

/** Detects the type of a picture by its first bytes. Others count as PNG, which the validator then refuses. */
function mimeTypeOf(content: Uint8Array): string {
  const text = Buffer.from(content.subarray(0, 16)).toString('latin1')
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (text.startsWith('\xabKTX 20\xbb')) return 'image/ktx2'
  if (text.slice(8, 12) === 'WEBP') return 'image/webp'
  return text.slice(4, 12) === 'ftypavif' ? 'image/avif' : 'image/png'
}
