// Models for the tests, created in code.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Document, NodeIO } from '@gltf-transform/core'
import { KHRTextureBasisu } from '@gltf-transform/extensions'
import { readParts } from '../../../plugins/assets/models/container.ts'
import { Chunk, toGlb } from '../../../plugins/assets/models/write-glb.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests change it freely
export type Free = any

/** Returns a wavy sheet of `2 * n * n` triangles, with normals, as a GLB. */
export async function sheet(n = 10, { name = 'sheet' } = {}): Promise<Buffer> {
  return Buffer.from(await new NodeIO().writeBinary(sheetDocument(n, name)))
}

/**
 * Returns the same sheet with an orange tile texture: a KTX2 texture of 64 pixels per side with all mipmaps, as `uastc`
 * or `etc1s` (created with the encoder of Basis Universal).
 */
export async function tiledSheet(n: number, encoding: 'uastc' | 'etc1s'): Promise<Buffer> {
  const document = sheetDocument(n, encoding)
  const [primitive] = document.getRoot().listMeshes()[0]?.listPrimitives() ?? []
  const across = Array.from({ length: (n + 1) ** 2 }, (_, at) => [(at % (n + 1)) / n, Math.floor(at / (n + 1)) / n])
  const places = document.createAccessor().setType('VEC2').setArray(new Float32Array(across.flat()))
  primitive?.setAttribute('TEXCOORD_0', places.setBuffer(document.getRoot().listBuffers()[0] ?? null))
  const image = readFileSync(join(import.meta.dirname, `../../fixtures/media/tiles-${encoding}.ktx2`))
  const texture = document.createTexture('tiles').setImage(new Uint8Array(image)).setMimeType('image/ktx2')
  primitive?.getMaterial()?.setBaseColorFactor([1, 1, 1, 1]).setBaseColorTexture(texture)
  document.createExtension(KHRTextureBasisu).setRequired(true)
  return Buffer.from(await new NodeIO().registerExtensions([KHRTextureBasisu]).writeBinary(document))
}

/**
 * Returns an animation library as publishers provide it: the nodes of a rig and clips, without a mesh or a skin.
 *
 * @param clips new names by those in the model
 */
export async function libraryOf(model: Uint8Array, clips: Record<string, string> = {}): Promise<Buffer> {
  const document = await new NodeIO().readBinary(model)
  const root = document.getRoot()
  for (const skin of root.listSkins()) skin.dispose()
  for (const node of root.listNodes()) if (node.getMesh()) node.dispose()
  for (const mesh of root.listMeshes()) mesh.dispose()
  for (const animation of root.listAnimations()) {
    const name = clips[animation.getName()]
    if (name) animation.setName(name)
  }
  return Buffer.from(await new NodeIO().writeBinary(document))
}

/** The triangles of one part of a mesh. */
export interface Part {
  positions: number[]
  indices: number[]
}

/** Returns a surface of `2 * n * n` triangles over the unit square. */
export function surface(n: number, place: (x: number, y: number) => [number, number, number]): Part {
  const [positions, indices]: [number[], number[]] = [[], []]
  for (let row = 0; row <= n; row++) {
    for (let column = 0; column <= n; column++) positions.push(...place(column / n, row / n))
  }
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      const at = row * (n + 1) + column
      indices.push(at, at + 1, at + n + 1, at + 1, at + n + 2, at + n + 1)
    }
  }
  return { positions, indices }
}

export const wave = (n: number): Part => surface(n, (x, y) => [x, y, 0.1 * Math.sin(6 * x) * Math.cos(5 * y)])

/**
 * Returns disconnected triangles, one of which is far away from the others. Simplification removes small ones, but
 * can't simplify large ones.
 */
export function confetti(count: number, size = 0.005): Part {
  const [positions, indices]: [number[], number[]] = [[], []]
  for (let at = 0; at < count; at++) {
    const [x, y, z] = at === 7 ? [2, 0, 0] : [12.9898, 78.233, 37.719].map((factor) => Math.sin(at * factor))
    if (x === undefined || y === undefined || z === undefined) continue
    positions.push(x, y, z, x + size, y, z, x, y + size, z)
    indices.push(at * 3, at * 3 + 1, at * 3 + 2)
  }
  return { positions, indices }
}

/** Builds a mesh of several parts. @param shared one vertex list for all parts, as VRM exporters write it */
export async function mesh(parts: readonly Part[], { shared = false } = {}): Promise<Buffer> {
  const document = new Document()
  const buffer = document.createBuffer()
  const accessor = (type: 'VEC3' | 'SCALAR', array: Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>) =>
    document.createAccessor().setType(type).setArray(array).setBuffer(buffer)
  const all = shared ? accessor('VEC3', new Float32Array(parts.flatMap(({ positions }) => positions))) : null
  const made = document.createMesh('parts')
  let base = 0
  for (const { positions, indices } of parts) {
    const primitive = document
      .createPrimitive()
      .setAttribute('POSITION', all ?? accessor('VEC3', new Float32Array(positions)))
      .setIndices(accessor('SCALAR', new Uint32Array(indices.map((index) => index + (all ? base : 0)))))
    made.addPrimitive(primitive.setMaterial(document.createMaterial(`paint ${base}`)))
    base += positions.length / 3
  }
  document.createScene().addChild(document.createNode('parts').setMesh(made))
  return Buffer.from(await new NodeIO().writeBinary(document))
}

export function sheetDocument(n: number, name: string): Document {
  const document = new Document()
  const buffer = document.createBuffer()
  const positions: number[] = []
  const normals: number[] = []
  const indices: number[] = []
  for (let row = 0; row <= n; row++) {
    for (let column = 0; column <= n; column++) {
      const [x, y] = [column / n - 0.5, row / n]
      positions.push(x, y, Math.sin(x * 6) * 0.1 * Math.cos(y * 5))
      const slopeX = 0.6 * Math.cos(x * 6) * Math.cos(y * 5)
      const slopeY = -0.5 * Math.sin(x * 6) * Math.sin(y * 5)
      const length = Math.hypot(slopeX, slopeY, 1)
      normals.push(-slopeX / length, -slopeY / length, 1 / length)
    }
  }
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      const at = row * (n + 1) + column
      indices.push(at, at + 1, at + n + 1, at + 1, at + n + 2, at + n + 1)
    }
  }
  const accessor = (type: 'VEC3' | 'SCALAR', array: Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>) =>
    document.createAccessor().setType(type).setArray(array).setBuffer(buffer)
  const primitive = document
    .createPrimitive()
    .setAttribute('POSITION', accessor('VEC3', new Float32Array(positions)))
    .setAttribute('NORMAL', accessor('VEC3', new Float32Array(normals)))
    .setIndices(accessor('SCALAR', new Uint32Array(indices)))
    .setMaterial(document.createMaterial('paint').setBaseColorFactor([0.8, 0.3, 0.1, 1]))
  const node = document.createNode(name).setMesh(document.createMesh(name).addPrimitive(primitive))
  document.createScene().addChild(node)
  return document
}

/** Adds a clip that moves the first node. */
export function addClip(document: Document): void {
  const buffer = document.getRoot().listBuffers()[0] ?? null
  const accessor = (type: 'SCALAR' | 'VEC3', numbers: number[]) =>
    document.createAccessor().setType(type).setArray(new Float32Array(numbers)).setBuffer(buffer)
  const sampler = document.createAnimationSampler().setInput(accessor('SCALAR', [0, 1]))
  sampler.setOutput(accessor('VEC3', [0, 1, 0, 0, 2, 0]))
  const [node = null] = document.getRoot().listNodes()
  const channel = document.createAnimationChannel().setSampler(sampler).setTargetNode(node)
  document.createAnimation('rise').addSampler(sampler).addChannel(channel.setTargetPath('translation'))
}

/** Changes the JSON of a glTF binary. */
export function edited(source: Uint8Array, change: (gltf: Free) => void): Uint8Array {
  const { gltf, binary } = readParts(source)
  change(gltf)
  const chunk = new Chunk()
  if (binary) chunk.append(binary)
  return toGlb(gltf, chunk)
}
