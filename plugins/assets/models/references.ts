import { readFile, stat } from 'node:fs/promises'
import type { Gltf } from './gltf.ts'
import { ModelRefusal } from './refusal.ts'

/** The pack that a model came in. */
export interface Surroundings {
  /** The path of the model in the pack. */
  path: string
  /** Paths on this machine's disk, by the path in the pack. */
  files: ReadonlyMap<string, string>
}

/** A buffer or picture that is not in the file itself. */
export interface Reference {
  list: 'buffers' | 'images'
  index: number
  uri: string
}

/** The most bytes that a model may refer to, since they are in memory together. */
const MOST_BYTES = 512 * 1024 ** 2

/** Lists the addresses of a model, data URIs too. @throws ModelRefusal for one that is no text */
export function referencesOf(gltf: Gltf): Reference[] {
  return (['buffers', 'images'] as const).flatMap((list) =>
    (gltf[list] ?? []).flatMap(({ uri }, index) => {
      if (uri === undefined) return []
      if (typeof uri !== 'string') throw outside({ list, index }, 'must be in the file itself')
      return [{ list, index, uri }]
    }),
  )
}

export const isDataUri = (uri: string): boolean => uri.startsWith('data:')

/**
 * Reads the bytes of references, by their address: data URIs, and files of the pack. Nothing else is ever opened.
 *
 * @returns them, and the paths of those in the pack
 * @throws ModelRefusal for a file that is not in the pack
 */
export async function readReferences(
  references: readonly Reference[],
  beside: Surroundings | undefined,
): Promise<{ contents: Map<string, Uint8Array>; uses: string[] }> {
  const contents = new Map<string, Uint8Array>()
  const uses = new Set<string>()
  let total = 0
  for (const reference of references) {
    const { uri } = reference
    if (contents.has(uri)) continue
    if (isDataUri(uri)) {
      contents.set(uri, decodeDataUri(reference))
      continue
    }
    const path = beside && pathInPack(uri, beside.path)
    const local = path && beside.files.get(path)
    if (!local) throw beside ? missing(reference) : outside(reference, 'must be in the file itself')
    total += (await stat(local)).size
    if (total > MOST_BYTES) throw new ModelRefusal('it refers to more than 512 MiB.')
    contents.set(uri, new Uint8Array(await readFile(local)))
    uses.add(path)
  }
  return { contents, uses: [...uses].sort() }
}

/** Returns the path in a pack that a relative reference means, as in a URL; null when it leads out of the pack. */
export function pathInPack(uri: string, from: string): string | null {
  if (/^(?:[a-z][a-z0-9+.-]*:|[/\\])/i.test(uri)) return null
  let text: string
  try {
    text = decodeURIComponent(uri.replace(/[?#].*$/s, ''))
  } catch {
    return null
  }
  const parts = from.split('/').slice(0, -1)
  for (const part of text.split(/[/\\]/)) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.pop() === undefined) return null
  }
  return parts.join('/')
}

/** Returns the bytes of each buffer of a glTF binary; null for one without, such as the fallback of compressed data. */
export function bufferContents({ buffers = [] }: Gltf, binary: Uint8Array | null): (Uint8Array | null)[] {
  return buffers.map(({ uri }, index) => {
    if (uri === undefined) return index === 0 ? binary : null
    return decodeDataUri({ list: 'buffers', index, uri: String(uri) })
  })
}

export function decodeDataUri({ list, index, uri }: Reference): Uint8Array {
  const comma = uri.indexOf(',')
  if (comma < 0) throw outside({ list, index }, 'is no data URI')
  const data = uri.slice(comma + 1)
  if (uri.slice(0, comma).endsWith(';base64')) return new Uint8Array(Buffer.from(data, 'base64'))
  try {
    return new Uint8Array(Buffer.from(decodeURIComponent(data), 'latin1'))
  } catch {
    throw outside({ list, index }, 'is no data URI')
  }
}

/** The refusal of a model that refers to a file outside of itself. */
export const outside = ({ list, index }: Pick<Reference, 'list' | 'index'>, message: string): ModelRefusal =>
  new ModelRefusal(
    'it refers to a file outside of itself; export it with everything embedded, or upload a ZIP archive with all files.',
    [{ path: `/${list}/${index}/uri`, message }],
  )

const missing = ({ list, index, uri }: Reference): ModelRefusal =>
  new ModelRefusal('it refers to a file that is not in the archive.', [
    { path: `/${list}/${index}/uri`, message: `${uri.slice(0, 200)} is not there` },
  ])
