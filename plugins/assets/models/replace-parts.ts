import type { Accessor, Document, Primitive, Texture } from '@gltf-transform/core'
import { MeshoptEncoder } from 'meshoptimizer'
import { readParts } from './container.ts'
import type { Gltf } from './gltf.ts'
import { bufferContents } from './references.ts'
import { Chunk, toGlb } from './write-glb.ts'

type View = NonNullable<Gltf['bufferViews']>[number] & { target?: number; extensions?: Record<string, CompressedView> }
type CompressedView = { buffer: number; byteOffset?: number; byteLength: number; count?: number; byteStride?: number }
type AccessorDefinition = NonNullable<Gltf['accessors']>[number] & {
  byteOffset?: number
  componentType?: number
  sparse?: { indices?: { bufferView?: number }; values?: { bufferView?: number } }
}
type PrimitiveDefinition = {
  attributes: Record<string, number>
  indices?: number
  targets?: Record<string, number>[]
  extensions?: Record<string, unknown>
}
type DracoData = { bufferView: number; attributes: Record<string, number> }

/** The parts of a model that have changed; the rest of it is taken over from the source. */
export interface Replaced {
  primitives: ReadonlySet<Primitive>
  textures: ReadonlySet<Texture>
  /** The same document as a glTF binary, from which the parts are taken that it has compressed with Draco. */
  packed?: Uint8Array | undefined
}

const [VERTICES, INDICES] = [34962, 34963]
const DRACO = 'KHR_draco_mesh_compression'
const COMPRESSIONS = ['EXT_meshopt_compression', 'KHR_meshopt_compression']
const WIDTHS: Record<string, number> = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT2: 4, MAT3: 9, MAT4: 16 }
const BYTES: Record<number, number> = { 5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4 }

/**
 * Writes a model whose geometry and pictures have changed in part. Everything else is the source's: its JSON keeps all
 * indices, so what extensions refer to by index stays right, and the bytes of other parts stay as they are. Data that
 * nothing uses any more is left out.
 *
 * @param document the source as it was read, with the changed parts
 */
export function replaceParts(source: Uint8Array, document: Document, replaced: Replaced): Uint8Array {
  return new Replacement(source).write(document, replaced)
}

class Replacement {
  readonly #source: Gltf
  readonly #gltf: Gltf
  readonly #contents: (Uint8Array | null)[]
  readonly #chunk = new Chunk()
  readonly #views: View[]
  readonly #accessors: AccessorDefinition[]
  readonly #made = new Map<Accessor, number>()
  /** The extension that compresses the views of the source. */
  readonly #compression: string | undefined
  /** The size of the buffer that stands for the uncompressed data of new views. */
  #fallback = 0

  constructor(bytes: Uint8Array) {
    const { gltf, binary } = readParts(bytes)
    this.#source = gltf
    this.#gltf = structuredClone(gltf)
    this.#contents = bufferContents(gltf, binary)
    this.#views = (this.#gltf.bufferViews ?? []) as View[]
    this.#accessors = (this.#gltf.accessors ?? []) as AccessorDefinition[]
    const used = Array.isArray(gltf.extensionsUsed) ? gltf.extensionsUsed : []
    this.#compression = COMPRESSIONS.find((name) => used.includes(name))
  }

  write(document: Document, { primitives, textures, packed }: Replaced): Uint8Array {
    const root = document.getRoot()
    const count = this.#views.length
    const compressed = packed && new PackedParts(packed)
    for (const [at, mesh] of root.listMeshes().entries()) {
      for (const [index, primitive] of mesh.listPrimitives().entries()) {
        const definition = this.#gltf.meshes?.[at]?.primitives?.[index] as PrimitiveDefinition | undefined
        if (!definition || !primitives.has(primitive)) continue
        const found = compressed?.find(at, index)
        if (found) this.#setPacked(definition, found)
        else this.#setPrimitive(definition, primitive)
      }
    }
    for (const [at, texture] of root.listTextures().entries()) {
      const image = this.#gltf.images?.[at]
      const bytes = texture.getImage()
      if (!image || !bytes || !textures.has(texture)) continue
      delete image.uri
      this.#views.push({ buffer: 0, byteOffset: this.#chunk.append(bytes), byteLength: bytes.length })
      Object.assign(image, { bufferView: this.#views.length - 1, mimeType: texture.getMimeType() })
    }
    this.#takeOver(count)
    return toGlb(
      { ...this.#gltf, bufferViews: this.#views, accessors: this.#accessors, buffers: this.#buffers() },
      this.#chunk,
    )
  }

  #setPrimitive(definition: PrimitiveDefinition, primitive: Primitive): void {
    const indices = primitive.getIndices()
    if (indices) definition.indices = this.#accessor(indices, { target: INDICES, hasEnds: false })
    else delete definition.indices
    const attributesOf = (part: Pick<Primitive, 'listSemantics' | 'getAttribute'>) =>
      Object.fromEntries(
        part.listSemantics().map((name) => {
          const accessor = part.getAttribute(name) as Accessor
          return [name, this.#accessor(accessor, { target: VERTICES, hasEnds: name === 'POSITION' })]
        }),
      )
    definition.attributes = attributesOf(primitive)
    if (definition.targets) definition.targets = primitive.listTargets().map(attributesOf)
    delete definition.extensions?.[DRACO]
  }

  /** Takes over a part that is compressed with Draco. The other extensions of the source's part stay. */
  #setPacked(definition: PrimitiveDefinition, { draco, accessors, bytes, ...part }: PackedPart): void {
    const numbers = new Map<number, number>()
    const add = (index: number) => {
      const known = numbers.get(index)
      if (known !== undefined) return known
      // Its data is in the compressed part.
      const { bufferView: _, byteOffset: __, ...accessor } = accessors[index] as AccessorDefinition
      numbers.set(index, this.#accessors.push(accessor) - 1)
      return this.#accessors.length - 1
    }
    definition.attributes = Object.fromEntries(
      Object.entries(part.attributes).map(([name, index]) => [name, add(index)]),
    )
    definition.indices = add(part.indices)
    this.#views.push({ buffer: 0, byteOffset: this.#chunk.append(bytes), byteLength: bytes.length })
    definition.extensions = {
      ...definition.extensions,
      [DRACO]: { ...draco, bufferView: this.#views.length - 1 },
    }
  }

  #accessor(accessor: Accessor, { target, hasEnds }: { target: number; hasEnds: boolean }): number {
    const known = this.#made.get(accessor)
    if (known !== undefined) return known
    const array = accessor.getArray() as Uint8Array
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
    const size = accessor.getElementSize() * accessor.getComponentSize()
    const count = accessor.getCount()
    const bufferView = this.#add(bytes, { count, size, target })
    const made = {
      bufferView,
      componentType: accessor.getComponentType(),
      count,
      type: accessor.getType(),
      ...(accessor.getNormalized() ? { normalized: true } : {}),
      ...(hasEnds ? { min: accessor.getMin([]), max: accessor.getMax([]) } : {}),
      ...(accessor.getName() ? { name: accessor.getName() } : {}),
    }
    this.#accessors.push(made)
    this.#made.set(accessor, this.#accessors.length - 1)
    return this.#accessors.length - 1
  }

  /** Adds a view of elements. Those of vertices begin at multiples of 4 bytes. */
  #add(
    bytes: Uint8Array,
    { count, size, target }: { count: number; size: number; target: number | undefined },
  ): number {
    const stride = target === VERTICES ? (size + 3) & ~3 : size
    const padded = stride === size ? bytes : spread(bytes, { count, size, stride })
    const byteStride = target === VERTICES ? { byteStride: stride } : {}
    const common = { byteLength: padded.length, ...byteStride, ...(target === undefined ? {} : { target }) }
    const mode =
      target === VERTICES ? 'ATTRIBUTES' : target === INDICES && count % 3 === 0 && size > 1 ? 'TRIANGLES' : null
    if (!this.#compression || !mode) {
      this.#views.push({ buffer: 0, byteOffset: this.#chunk.append(padded), ...common })
    } else {
      const packed = MeshoptEncoder.encodeGltfBuffer(padded, count, stride, mode)
      const place = { buffer: 0, byteOffset: this.#chunk.append(packed), byteLength: packed.length }
      const extension = { ...place, byteStride: stride, mode, count }
      this.#views.push({
        buffer: -1,
        byteOffset: this.#fallback,
        ...common,
        extensions: { [this.#compression]: extension },
      })
      this.#fallback += (padded.length + 3) & ~3
    }
    return this.#views.length - 1
  }

  /** Takes over the data that is still used. @param count the number of the source's views */
  #takeOver(count: number): void {
    const before = accessorsOf(this.#source)
    const after = accessorsOf(this.#gltf)
    for (const index of before) {
      if (after.has(index)) continue
      const { componentType, type } = this.#accessors[index] as AccessorDefinition
      // An index must keep its place. Without a view, an accessor has zeros.
      this.#accessors[index] = { componentType, type, count: 1 } as AccessorDefinition
    }
    const [usersBefore, usersAfter] = [viewUsers(this.#source), viewUsers(this.#gltf)]
    for (let at = 0; at < count; at++) {
      const [users, left] = [usersBefore.get(at) ?? [], usersAfter.get(at) ?? []]
      const isUnused = users.length > 0 && left.length === 0
      if (isUnused || (left.length < users.length && this.#splits(at, left))) {
        this.#views[at] = { buffer: 0, byteOffset: 0, byteLength: 4 }
      } else this.#keep(this.#views[at] as View)
    }
  }

  /** Gives each accessor of a view that is used in part a view of its own. @returns false if that is not possible */
  #splits(at: number, users: readonly User[]): boolean {
    const view = this.#views[at] as View
    const content = this.#contents[view.buffer ?? 0]
    if (view.extensions || !content || users.some(({ accessor }) => accessor === undefined)) return false
    for (const { accessor: index } of users) {
      const accessor = this.#accessors[index as number] as AccessorDefinition
      const size = (WIDTHS[accessor.type ?? ''] ?? 1) * (BYTES[accessor.componentType ?? 0] ?? 1)
      const number = accessor.count ?? 0
      const from = (view.byteOffset ?? 0) + (accessor.byteOffset ?? 0)
      const stride = view.byteStride ?? size
      const bytes = new Uint8Array(number * size)
      for (let element = 0; element < number; element++) {
        bytes.set(content.subarray(from + element * stride, from + element * stride + size), element * size)
      }
      const target = view.target ?? (view.byteStride ? VERTICES : undefined)
      delete accessor.byteOffset
      accessor.bufferView = this.#add(bytes, { count: number, size, target })
    }
    return true
  }

  #keep(view: View): void {
    for (const part of [view, ...COMPRESSIONS.flatMap((name) => view.extensions?.[name] ?? [])]) {
      const content = this.#contents[part.buffer ?? 0]
      if (!content) {
        part.byteOffset = this.#fallback
        part.buffer = -1
        this.#fallback += ((view.byteLength ?? 0) + 3) & ~3
        continue
      }
      const from = part.byteOffset ?? 0
      part.byteOffset = this.#chunk.append(content.subarray(from, from + (part.byteLength ?? 0)))
      part.buffer = 0
    }
  }

  #buffers(): NonNullable<Gltf['buffers']> {
    if (this.#chunk.length === 0) this.#chunk.append(new Uint8Array(4))
    for (const view of this.#views) if (view.buffer === -1) view.buffer = 1
    const [first = {}] = this.#source.buffers ?? []
    const { uri: _, ...own } = first
    const extensions = { [this.#compression ?? '']: { fallback: true } }
    return [
      { ...own, byteLength: this.#chunk.length },
      ...(this.#fallback > 0 ? [{ byteLength: this.#fallback, extensions }] : []),
    ]
  }
}

interface PackedPart {
  attributes: Record<string, number>
  indices: number
  draco: DracoData
  accessors: AccessorDefinition[]
  bytes: Uint8Array
}

/** The parts of a written model that are compressed with Draco, but for those with shapes or other data beside it. */
class PackedParts {
  readonly #gltf: Gltf
  readonly #contents: (Uint8Array | null)[]

  constructor(packed: Uint8Array) {
    const { gltf, binary } = readParts(packed)
    this.#gltf = gltf
    this.#contents = bufferContents(gltf, binary)
  }

  find(mesh: number, index: number): PackedPart | null {
    const part = this.#gltf.meshes?.[mesh]?.primitives?.[index] as PrimitiveDefinition | undefined
    const draco = part && dracoOf(part)
    const view = draco && this.#gltf.bufferViews?.[draco.bufferView]
    const content = view && this.#contents[view.buffer ?? 0]
    if (!content || part.indices === undefined || part.targets) return null
    if (!Object.keys(part.attributes).every((name) => name in draco.attributes)) return null
    const from = view.byteOffset ?? 0
    const bytes = content.subarray(from, from + (view.byteLength ?? 0))
    const accessors = (this.#gltf.accessors ?? []) as AccessorDefinition[]
    return { attributes: part.attributes, indices: part.indices, draco, accessors, bytes }
  }
}

const dracoOf = ({ extensions }: PrimitiveDefinition) => extensions?.[DRACO] as DracoData | undefined

function spread(
  bytes: Uint8Array,
  { count, size, stride }: { count: number; size: number; stride: number },
): Uint8Array {
  const made = new Uint8Array(count * stride)
  for (let at = 0; at < count; at++) made.set(bytes.subarray(at * size, (at + 1) * size), at * stride)
  return made
}

/** Lists the accessors that parts of a model use. */
function accessorsOf({ meshes = [], animations = [], skins = [], nodes = [] }: Gltf): Set<number> {
  const found = new Set<number>()
  const add = (index: unknown) => void (typeof index === 'number' && found.add(index))
  for (const { primitives = [] } of meshes) {
    for (const { attributes, indices, targets = [] } of primitives as PrimitiveDefinition[]) {
      add(indices)
      for (const part of [attributes, ...targets]) Object.values(part).forEach(add)
    }
  }
  for (const { samplers = [] } of animations as { samplers?: { input?: number; output?: number }[] }[]) {
    for (const { input, output } of samplers) [input, output].forEach(add)
  }
  for (const { inverseBindMatrices } of skins as { inverseBindMatrices?: number }[]) add(inverseBindMatrices)
  for (const { extensions } of nodes as { extensions?: Record<string, { attributes?: object }> }[]) {
    Object.values(extensions?.EXT_mesh_gpu_instancing?.attributes ?? {}).forEach(add)
  }
  return found
}

/** What uses a view: an accessor, or something else that needs the whole. */
interface User {
  view: number
  accessor?: number
}

function viewUsers(gltf: Gltf): Map<number, User[]> {
  const users: User[] = []
  for (const [accessor, { bufferView, sparse }] of ((gltf.accessors ?? []) as AccessorDefinition[]).entries()) {
    if (bufferView !== undefined) users.push({ view: bufferView, accessor })
    for (const part of [sparse?.indices, sparse?.values]) {
      if (part?.bufferView !== undefined) users.push({ view: part.bufferView })
    }
  }
  for (const { primitives = [] } of gltf.meshes ?? []) {
    for (const part of primitives as PrimitiveDefinition[]) {
      const view = dracoOf(part)?.bufferView
      if (view !== undefined) users.push({ view })
    }
  }
  for (const { bufferView } of gltf.images ?? []) if (bufferView !== undefined) users.push({ view: bufferView })
  return Map.groupBy(users, ({ view }) => view)
}
