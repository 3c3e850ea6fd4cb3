import { ALL_EXTENSIONS } from '@gltf-transform/extensions'
import { readParts } from './container.ts'
import type { Gltf } from './gltf.ts'

/** Ways of storing data. They may change without a loss. */
const STORAGE = new Set([
  'EXT_meshopt_compression',
  'KHR_draco_mesh_compression',
  'KHR_mesh_quantization',
  'KHR_meshopt_compression',
])

export class SomethingLost extends Error {}

type Json = Record<string, unknown>

/** The extensions of glTF-Transform, and others that refer to nothing that a derived file may leave out or move. */
const KNOWN = new Set([
  ...ALL_EXTENSIONS.map(({ EXTENSION_NAME }) => EXTENSION_NAME),
  'KHR_animation_pointer',
  'KHR_meshopt_compression',
  'KHR_node_hoverability',
  'KHR_node_selectability',
  'KHR_node_visibility',
  'VRM',
])

/** Whether parts of a model can be replaced without breaking its extensions. */
export function knowsExtensions({ extensionsUsed = [] }: Gltf): boolean {
  const names = Array.isArray(extensionsUsed) ? extensionsUsed.map(String) : []
  return names.every((name) => KNOWN.has(name) || /^(?:VRMC|KHR_materials|KHR_texture|KHR_xmp)_/.test(name))
}

/**
 * Requires that a derived file has everything of its source: scenes, nodes, meshes with their attributes and shapes,
 * materials with their textures, skins, clips with their channels, cameras, extensions, and `extras`. It compares what a
 * loader finds, by names, not indices or bytes.
 *
 * @throws SomethingLost: the fault is the platform's, not the file's
 */
export function assertNothingLost(source: Uint8Array, derived: Uint8Array): void {
  const lost = lostIn(source, derived)
  if (lost.length > 0) throw new SomethingLost(`A derived model lost ${lost.slice(0, 5).join('; ')}.`)
}

/** Lists what a derived file lacks of its source. */
export function lostIn(source: Uint8Array, derived: Uint8Array): string[] {
  const left = new Map<string, number>()
  for (const line of inventory(readParts(derived).gltf as Json)) left.set(line, (left.get(line) ?? 0) + 1)
  return inventory(readParts(source).gltf as Json).filter((line) => {
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count <= 0
  })
}

/** Describes each part of a model in one line. */
function inventory(gltf: Json): string[] {
  const list = (name: string): Json[] => (Array.isArray(gltf[name]) ? (gltf[name] as Json[]) : [])
  const [nodes, meshes, materials] = [list('nodes'), list('meshes'), list('materials')]
  const nodeName = (index: unknown) => named(nodes, index)
  const { copyright, extras } = (gltf.asset ?? {}) as Json
  return [
    `the copyright ${text(copyright)} ${text(extras)}`,
    `the file ${text(gltf.extras)} ${extensionsOf(gltf)}`,
    ...list('scenes').map((scene) => {
      const roots = Array.isArray(scene.nodes) ? scene.nodes.map(nodeName).sort() : []
      return `scene ${common(scene)} ${text(roots)}`
    }),
    ...nodes.map((node) => {
      const children = Array.isArray(node.children) ? node.children.map(nodeName).sort() : []
      const has = ['skin', 'camera', 'weights'].filter((key) => node[key] !== undefined)
      return `node ${common(node)} ${named(meshes, node.mesh)} ${has} ${text(children)}`
    }),
    ...meshes.map((mesh) => {
      const parts = (mesh.primitives as Json[] | undefined) ?? []
      return `mesh ${common(mesh)} ${text(mesh.weights)} ${text(parts.map((part) => primitive(part, materials)))}`
    }),
    ...materials.map((material) => `material ${common(material)} ${texturesOf(material)}`),
    ...list('skins').map((skin) => {
      const joints = Array.isArray(skin.joints) ? skin.joints.map(nodeName) : []
      return `skin ${common(skin)} ${text(joints)}`
    }),
    ...list('animations').map((clip) => {
      const channels = ((clip.channels as Json[] | undefined) ?? []).map(({ target }) =>
        channel(target as Json, nodeName),
      )
      return `clip ${common(clip)} ${text(channels.sort())}`
    }),
    ...list('cameras').map((camera) => `camera ${common(camera)} ${text(camera.type)}`),
  ]
}

const text = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value))

const named = (list: readonly Json[], index: unknown): string =>
  typeof index === 'number' ? String(list[index]?.name ?? 'unnamed') : ''

const common = (part: Json): string => `${text(part.name)} ${text(part.extras)} ${extensionsOf(part)}`

function extensionsOf({ extensions }: Json): string {
  const names = typeof extensions === 'object' && extensions !== null ? Object.keys(extensions) : []
  return names
    .filter((name) => !STORAGE.has(name))
    .sort()
    .join(' ')
}

function primitive(part: Json, materials: readonly Json[]) {
  const targets = (part.targets as Json[] | undefined) ?? []
  return [
    part.mode ?? 4,
    named(materials, part.material),
    Object.keys((part.attributes as Json | undefined) ?? {}).sort(),
    targets.map((target) => Object.keys(target).sort()),
    text(part.extras),
    extensionsOf(part),
  ]
}

/** Lists the places of a material's textures, also of those in extensions. */
function texturesOf(material: Json): string {
  const found: string[] = []
  const visit = (part: Json, path: string) => {
    for (const [key, value] of Object.entries(part)) {
      if (typeof value !== 'object' || value === null || key === 'extras') continue
      if (/texture$/i.test(key)) found.push(`${path}${key}`)
      visit(value as Json, `${path}${key}/`)
    }
  }
  visit(material, '')
  return found.sort().join(' ')
}

function channel(target: Json | undefined, nodeName: (index: unknown) => string): string {
  return `${nodeName(target?.node)} ${text(target?.path)} ${text(target?.extensions)}`
}
