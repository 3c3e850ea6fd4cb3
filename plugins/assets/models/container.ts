import type { Gltf } from './gltf.ts'
import { isDataUri, outside, referencesOf } from './references.ts'
import { ModelRefusal, REPAIR } from './refusal.ts'

const MAGIC = 0x46546c67
const JSON_CHUNK = 0x4e4f534a
const BINARY_CHUNK = 0x004e4942
/** The maximum JSON size, which no model suitable for a browser exceeds. */
const JSON_BYTES = 32 * 1024 * 1024
/** The maximum depth of nesting, which no exporter exceeds. */
const DEEPEST_JSON = 64
/** The maximum number of elements in all arrays and objects. */
const MOST_VALUES = 4_000_000
const MOST_NODES = 100_000
/** The maximum depth of the node tree, because viewers walk it recursively. */
const DEEPEST_NODES = 256
const MOST_ENTRIES = 200_000
/** The maximum of numbers in all accessors: three for each of ten million vertices, and the same amount again. */
const MOST_ELEMENTS = 60_000_000
/** The maximum declared size of compressed parts. */
const MOST_UNPACKED_BYTES = 1024 ** 3
/** The lists of the specification. Other keys of a file are vendor-specific. */
const LISTS = [
  'accessors',
  'animations',
  'buffers',
  'bufferViews',
  'cameras',
  'images',
  'materials',
  'meshes',
  'nodes',
  'samplers',
  'scenes',
  'skins',
  'textures',
]
const WIDTHS: Record<string, number> = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT2: 4, MAT3: 9, MAT4: 16 }

/**
 * Extensions that the platform can decode, so that it can measure, simplify and animate what it serves. A model that
 * requires another extension is refused, because its users would otherwise find out in the browser.
 */
const REQUIRABLE = new Set([
  'EXT_mesh_gpu_instancing',
  'EXT_meshopt_compression',
  'EXT_texture_avif',
  'EXT_texture_webp',
  'KHR_draco_mesh_compression',
  'KHR_lights_punctual',
  'KHR_materials_pbrSpecularGlossiness',
  'KHR_materials_unlit',
  'KHR_materials_variants',
  'KHR_mesh_quantization',
  'KHR_meshopt_compression',
  'KHR_texture_basisu',
  'KHR_texture_transform',
])

/**
 * Reads the JSON of a glTF binary and checks everything that could exhaust memory or stack of the library that reads
 * the rest: lengths, depths and counts. Addresses in it are never followed.
 *
 * @throws ModelRefusal
 */
export function readContainer(bytes: Uint8Array): Gltf {
  const { gltf, isBinary } = readParts(bytes)
  if (!isBinary) throw new ModelRefusal('it does not begin with "glTF".')
  checkAddresses(gltf)
  checkExtensions(gltf)
  checkAmounts(gltf)
  checkNodes(gltf)
  return gltf
}

/**
 * Reads the JSON of a glTF binary or of a `.gltf`, and the binary chunk. Only the lengths and the lists are checked.
 *
 * @throws ModelRefusal
 */
export function readParts(bytes: Uint8Array): { gltf: Gltf; binary: Uint8Array | null; isBinary: boolean } {
  const isBinary = bytes.length < 1 || !isJson(bytes)
  const { json, binary } = isBinary ? readChunks(bytes) : { json: bytes, binary: null }
  if (json.length > JSON_BYTES) throw new ModelRefusal('its JSON is larger than 32 MiB.')
  checkJson(json)
  const gltf = parse(json)
  const version = isObject(gltf.asset) ? gltf.asset.version : undefined
  if (!isBinary && version === undefined) throw new ModelRefusal('it is JSON without the version of glTF.')
  if (!isBinary && !/^2\./.test(String(version))) {
    throw new ModelRefusal(`it has version ${String(version).slice(0, 20)}; export it as glTF 2.0.`)
  }
  checkLists(gltf)
  return { gltf, binary, isBinary }
}

/** Whether a file begins as JSON does, after a byte order mark and white space. */
function isJson(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.subarray(0, 64)).toString('utf8')
  return /^\uFEFF?\s*\{/.test(start)
}

function readChunks(bytes: Uint8Array): { json: Uint8Array; binary: Uint8Array | null } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < 20 || view.getUint32(0, true) !== MAGIC) throw new ModelRefusal('it does not begin with "glTF".')
  const version = view.getUint32(4, true)
  if (version !== 2) throw new ModelRefusal(`it has version ${version}; export it as glTF 2.0.`)
  const length = view.getUint32(8, true)
  if (length !== bytes.length) {
    const repairable = length >= 20 && length < bytes.length ? ` ${REPAIR}` : ''
    throw new ModelRefusal(`it announces ${length} bytes and has ${bytes.length}.${repairable}`)
  }
  const jsonLength = view.getUint32(12, true)
  if (view.getUint32(16, true) !== JSON_CHUNK) throw new ModelRefusal('its first chunk is not JSON.')
  if (jsonLength > bytes.length - 20) throw new ModelRefusal('its JSON chunk is longer than the file.')
  const next = 20 + jsonLength
  const hasBinary = next + 8 <= bytes.length && view.getUint32(next + 4, true) === BINARY_CHUNK
  const binary = hasBinary ? bytes.subarray(next + 8, next + 8 + view.getUint32(next, true)) : null
  return { json: bytes.subarray(20, next), binary }
}

/** Checks only brackets and commas, since deep or long JSON exhausts memory as soon as it is parsed. */
function checkJson(bytes: Uint8Array): void {
  let depth = 0
  let values = 0
  let inString = false
  for (let at = 0; at < bytes.length; at++) {
    const sign = bytes[at]
    if (inString) {
      if (sign === BACKSLASH) at++
      else if (sign === QUOTE) inString = false
    } else if (sign === QUOTE) inString = true
    else if (sign === COMMA) values++
    else if (sign === BRACKET || sign === BRACE) {
      values++
      if (++depth > DEEPEST_JSON) throw new ModelRefusal(`its JSON is nested more than ${DEEPEST_JSON} deep.`)
    } else if (sign === BRACKET + 2 || sign === BRACE + 2) depth--
  }
  if (values > MOST_VALUES) throw new ModelRefusal(`its JSON has more than ${MOST_VALUES} values.`)
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b]

function parse(bytes: Uint8Array): Gltf {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new ModelRefusal('its JSON chunk is not JSON.')
  }
  if (!isObject(value)) throw new ModelRefusal('its JSON is not an object.')
  return value as Gltf
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function checkLists(gltf: Gltf): void {
  let entries = 0
  for (const name of LISTS) {
    const list = (gltf as Record<string, unknown>)[name]
    if (list === undefined) continue
    if (!Array.isArray(list)) throw new ModelRefusal(`/${name} is not a list.`)
    entries += list.length
    if (!list.every(isObject)) throw new ModelRefusal(`/${name} has an entry that is not an object.`)
  }
  if (entries > MOST_ENTRIES) throw new ModelRefusal(`it has ${entries} parts; ${MOST_ENTRIES} are the most.`)
}

function checkAddresses(gltf: Gltf): void {
  for (const reference of referencesOf(gltf)) {
    if (!isDataUri(reference.uri)) throw outside(reference, 'must be in the file itself')
  }
}

function checkExtensions({ extensionsRequired = [] }: Gltf): void {
  if (!Array.isArray(extensionsRequired)) throw new ModelRefusal('/extensionsRequired is not a list.')
  for (const name of extensionsRequired) {
    if (!REQUIRABLE.has(name) && !/^KHR_materials_[a-z_]{1,40}$/.test(String(name))) {
      throw new ModelRefusal('it requires an extension that is not supported here.', [
        { path: '/extensionsRequired', message: String(name).slice(0, 60) },
      ])
    }
  }
}

function checkAmounts({ accessors = [], bufferViews = [], meshes = [] }: Gltf): void {
  let elements = 0
  for (const { count = 0, type = '' } of accessors) {
    if (!Number.isSafeInteger(count) || count < 0) throw new ModelRefusal('an accessor has a count that is none.')
    elements += count * (WIDTHS[type] ?? 1)
  }
  let primitives = 0
  for (const mesh of meshes) primitives += Array.isArray(mesh.primitives) ? mesh.primitives.length : 0
  if (elements > MOST_ELEMENTS || primitives > MOST_ENTRIES) {
    throw new ModelRefusal('it claims more geometry than a browser can show.')
  }
  let unpacked = 0
  for (const { extensions } of bufferViews) {
    for (const name of ['EXT_meshopt_compression', 'KHR_meshopt_compression']) {
      const claimed = isObject(extensions) ? extensions[name] : undefined
      if (isObject(claimed)) unpacked += Number(claimed.count ?? 0) * Number(claimed.byteStride ?? 0)
    }
  }
  if (!(unpacked <= MOST_UNPACKED_BYTES)) throw new ModelRefusal('it unpacks to more than 1 GiB.')
}

/** Each node has at most one parent, so a walk from every root visits each once, and a cycle has no root. */
function checkNodes({ nodes = [] }: Gltf): void {
  if (nodes.length > MOST_NODES) throw new ModelRefusal(`it has ${nodes.length} nodes; ${MOST_NODES} are the most.`)
  const parents = new Array<number>(nodes.length).fill(-1)
  for (const [index, { children }] of nodes.entries()) {
    if (children === undefined) continue
    if (!Array.isArray(children)) throw new ModelRefusal(`/nodes/${index}/children is not a list.`)
    for (const child of children) {
      if (!Number.isInteger(child) || child < 0 || child >= nodes.length || parents[child] !== -1) {
        throw new ModelRefusal('its nodes are not a tree.', [{ path: `/nodes/${index}/children`, message: 'no tree' }])
      }
      parents[child] = index
    }
  }
  const depths = new Array<number>(nodes.length).fill(-1)
  for (let index = 0; index < nodes.length; index++) {
    const path: number[] = []
    let at = index
    while (at !== -1 && depths[at] === -1) {
      if (path.length > DEEPEST_NODES) {
        throw new ModelRefusal(`its nodes are nested more than ${DEEPEST_NODES} deep, or in a circle.`)
      }
      path.push(at)
      at = parents[at] as number
    }
    let depth = at === -1 ? 0 : (depths[at] as number)
    for (const node of path.reverse()) depths[node] = ++depth
    if (depth > DEEPEST_NODES) throw new ModelRefusal(`its nodes are nested more than ${DEEPEST_NODES} deep.`)
  }
}
