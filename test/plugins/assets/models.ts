// Models for the tests, made in code.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Document, NodeIO } from '@gltf-transform/core'
import { KHRTextureBasisu } from '@gltf-transform/extensions'

/** A wavy sheet of `2 * n * n` triangles, with normals, as a GLB. */
export async function sheet(n = 10, { name = 'sheet' } = {}): Promise<Buffer> {
  return Buffer.from(await new NodeIO().writeBinary(sheetDocument(n, name)))
}

/**
 * The same sheet under orange tiles: a KTX2 texture of 64 pixels a side with all its mipmaps, as `uastc` or `etc1s` (made
 * by the encoder of Basis Universal).
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

function sheetDocument(n: number, name: string): Document {
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
