import { createHash } from 'node:crypto'
import type { Document, Mesh } from '@gltf-transform/core'
import { readContainer } from './container.ts'
import { selfContained } from './embed.ts'
import type { Gltf } from './gltf.ts'
import { findHumanoid } from './humanoid/bones.ts'
import { clipNames } from './humanoid/sampled-clip.ts'
import { readVrmBones } from './humanoid/vrm.ts'
import { createIo } from './io.ts'
import { withFormerName } from './khr-meshopt.ts'
import type { Surroundings } from './references.ts'
import { ModelRefusal } from './refusal.ts'
import { validate } from './validate.ts'

/** Facts about a model, read from its bytes. */
export interface ModelFacts {
  sha256: string
  size: number
  /** The number of drawn triangles: a mesh of two nodes counts twice. */
  triangles: number
  meshes: number
  rigged: boolean
  /** Whether the clips of the presets fit the rig. */
  humanoid: boolean
  /** Names of its clips, each once. */
  animations: string[]
  /** The paths of the files in its pack that it refers to. */
  uses: string[]
}

/**
 * Validates and measures a glTF binary, or in its pack also a `.gltf`.
 *
 * @throws ModelRefusal
 */
export async function inspectModel(bytes: Uint8Array, beside?: Surroundings): Promise<ModelFacts> {
  const { document, uses } = await readModel(bytes, { check: true, beside })
  const root = document.getRoot()
  const animations = clipNames(document)
  assertNamesInAddresses(animations)
  return {
    sha256: createHash('sha256').update(bytes).digest('hex'),
    size: bytes.length,
    triangles: countTriangles(document),
    meshes: root.listMeshes().length,
    rigged: root.listSkins().length > 0,
    humanoid: findHumanoid(document) !== null,
    animations,
    uses,
  }
}

/** Clients remove the segments `.` and `..` from an address, so such a clip could not be requested. @throws ModelRefusal */
function assertNamesInAddresses(clips: readonly string[]): void {
  const at = clips.findIndex((name) => /^\.{1,2}$/.test(name))
  if (at < 0) return
  throw new ModelRefusal('the name of a clip can’t be part of an address; rename the clip.', [
    { path: `/animations/${at}/name`, message: `is ${clips[at]}` },
  ])
}

/**
 * Reads a model whose container is valid.
 *
 * @param check whether it is validated too
 * @param beside the pack that it came in; without one, it is a glTF binary that refers to nothing
 * @throws ModelRefusal
 */
export async function readModel(
  source: Uint8Array,
  { check = false, beside }: { check?: boolean; beside?: Surroundings | undefined } = {},
): Promise<{ gltf: Gltf; document: Document; io: Awaited<ReturnType<typeof createIo>>; uses: string[] }> {
  const { bytes, uses } = beside ? await selfContained(source, beside) : { bytes: source, uses: [] }
  const gltf = readContainer(bytes)
  if (check) await validate(bytes)
  const io = await createIo(Array.isArray(gltf.extensionsUsed) ? gltf.extensionsUsed.map(String) : [])
  const readable = withFormerName(bytes, gltf)
  try {
    const document = await io.readBinary(readable)
    readVrmBones(document, gltf)
    return { gltf, io, document, uses }
  } catch (error) {
    throw new ModelRefusal('its content can’t be read.', [{ path: '/', message: String(error).slice(0, 200) }])
  }
}

/** Counts the triangles of every mesh once for each node. In a model without a scene each mesh counts once. */
export function countTriangles(document: Document): number {
  const root = document.getRoot()
  const shown = root
    .listNodes()
    .map((node) => node.getMesh())
    .filter((mesh) => mesh !== null)
  return (shown.length > 0 ? shown : root.listMeshes()).reduce((sum, mesh) => sum + trianglesOf(mesh), 0)
}

function trianglesOf(mesh: Mesh): number {
  let triangles = 0
  for (const primitive of mesh.listPrimitives()) {
    const count = (primitive.getIndices() ?? primitive.getAttribute('POSITION'))?.getCount() ?? 0
    const mode = primitive.getMode()
    if (mode === 4) triangles += Math.floor(count / 3)
    else if (mode === 5 || mode === 6) triangles += Math.max(0, count - 2)
  }
  return triangles
}
