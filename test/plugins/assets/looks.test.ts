// Tests that lighter forms look as their models do, and that pictures of models show what loaders show.
import { Document, NodeIO, type Primitive, type vec2 } from '@gltf-transform/core'
import { EXTMeshGPUInstancing, KHRMeshQuantization, KHRTextureTransform } from '@gltf-transform/extensions'
import { quantize, simplify } from '@gltf-transform/functions'
import { MeshoptSimplifier } from 'meshoptimizer'
import { PNG } from 'pngjs'
import t from 'tap'
import { LEAST_SIMILARITY, simplifyModel } from '../../../plugins/assets/models/lod.ts'
import { drawModel } from '../../../plugins/assets/models/picture.ts'
import { looksOf, similarity } from '../../../plugins/assets/models/similarity.ts'
import { mesh, surface } from './models.ts'

const io = new NodeIO().registerExtensions([EXTMeshGPUInstancing, KHRMeshQuantization, KHRTextureTransform])

t.test(
  'a lighter form looks as its model, where positions alone would distort textures, bends and shapes',
  async (t) => {
    for (const [name, build] of Object.entries({ texture: striped, bend: strip, shape: smile })) {
      const source = await io.writeBinary(build())
      const before = looksOf(await io.readBinary(source), new Map())
      const made = await simplifyModel(source)
      if ('reason' in made) return t.fail(`${name}: ${made.reason}`)
      const alike = similarity(before, looksOf(await io.readBinary(made.bytes), new Map()))
      t.ok(alike >= LEAST_SIMILARITY, `${name}: ${made.triangles} triangles, similarity ${alike}`)
      t.ok(Math.abs(alike - made.similarity) < 0.001, `${name}: the written file was judged`)

      const careless = await io.readBinary(source)
      await careless.transform(simplify({ simplifier: MeshoptSimplifier, ratio: 0.01, error: 0.05 }))
      const worse = similarity(before, looksOf(careless, new Map()))
      t.ok(worse < LEAST_SIMILARITY - 0.02, `${name}: the pictures show the difference, ${worse}`)
    }
  },
)

t.test('parts that touch still touch in the lighter form', async (t) => {
  const height = (x: number, y: number) => 0.1 * Math.sin(7 * x) * Math.cos(9 * y)
  const parts = [0, 1].map((start) => surface(40, (x, y) => [x + start, y, height(x + start, y)]))
  const made = await simplifyModel(await mesh(parts))
  if ('reason' in made) return t.fail(made.reason)
  t.ok(made.triangles < 6400 * 0.6, `${made.triangles} triangles`)
  const [left, right] = (await io.readBinary(made.bytes)).getRoot().listMeshes()[0]?.listPrimitives() ?? []
  const borders = [left, right].map((part) => borderOf(part as Primitive))
  t.same(borders[0], borders[1], 'the border has the same vertices on both sides')
  t.equal(borders[0]?.length, 41)
})

t.test('the picture of a model shows cut-outs, texture transforms and instances', async (t) => {
  const shown = async (
    change: (document: Document) => unknown,
    transform = async (_document: Document): Promise<unknown> => undefined,
  ) => {
    const document = striped({ distorted: false })
    await change(document)
    await transform(document)
    const png = drawModel(await io.readBinary(await io.writeBinary(document)))
    return png ? sharesOf(PNG.sync.read(png)) : null
  }
  const plain = await shown(() => {})
  t.match(plain, { red: Number, blue: Number })
  if (!plain) return
  t.ok(plain.red > 0.1 && plain.blue > 0.1, JSON.stringify(plain))
  const cutOut = await shown((document) => {
    const picture = stripes(32, [220, 30, 30, 255], [0, 0, 0, 0])
    document.getRoot().listTextures()[0]?.setImage(picture)
    document.getRoot().listMaterials()[0]?.setAlphaMode('MASK').setAlphaCutoff(0.5)
  })
  t.ok(cutOut && cutOut.shown < plain.shown * 0.7, `clear texels are holes: ${JSON.stringify(cutOut)}`)
  t.ok(cutOut && cutOut.dark < 0.01, 'and not black')
  const moved = await shown((document) => {
    const transform = document
      .createExtension(KHRTextureTransform)
      .createTransform()
      .setScale([1 / 64, 1])
    document.getRoot().listMaterials()[0]?.getBaseColorTextureInfo()?.setExtension('KHR_texture_transform', transform)
  })
  t.equal(moved?.blue, 0, 'a transform leaves the first stripe alone')
  const quantized = await shown(
    () => {},
    (document) => document.transform(quantize()),
  )
  t.ok(quantized && Math.abs(quantized.red - plain.red) < 0.02 && Math.abs(quantized.blue - plain.blue) < 0.02)
  const many = await shown((document) => {
    const buffer = document.getRoot().listBuffers()[0] ?? null
    const places = new Float32Array([0, 0, 0, 3, 0, 0, 6, 0, 0])
    const batch = document.createExtension(EXTMeshGPUInstancing).createInstancedMesh()
    batch.setAttribute('TRANSLATION', document.createAccessor().setType('VEC3').setArray(places).setBuffer(buffer))
    document.getRoot().listNodes()[0]?.setExtension('EXT_mesh_gpu_instancing', batch)
  })
  t.ok(many && many.shown < plain.shown * 0.7 && many.gaps > 1, `three with gaps between: ${JSON.stringify(many)}`)
})

/** Returns the vertices of a part at x = 1, in order. */
function borderOf(part: Primitive): string[] {
  const position = part.getAttribute('POSITION')
  const used = new Set(part.getIndices()?.getArray() ?? [])
  return [...used]
    .map((index) => position?.getElement(index, [0, 0, 0]) as number[])
    .filter(([x]) => x === 1)
    .map(String)
    .sort()
}

function stripes(count: number, ...colors: number[][]): Uint8Array<ArrayBuffer> {
  const picture = new PNG({ width: 256, height: 4 })
  for (let at = 0; at < 1024; at++) {
    picture.data.set(colors[Math.floor(((at % 256) / 256) * count) % 2] as number[], at * 4)
  }
  return new Uint8Array(PNG.sync.write(picture))
}

/** Returns a plane whose texture is stretched unevenly, so that it needs its inner vertices. */
function striped({ distorted = true } = {}): Document {
  const document = plane((x, y) => (distorted ? [x * x * (1.5 - 0.5 * y), y] : [x, y]))
  const texture = document.createTexture('stripes').setMimeType('image/png')
  texture.setImage(stripes(distorted ? 8 : 32, [220, 30, 30, 255], [30, 30, 220, 255]))
  const [material] = document.getRoot().listMaterials()
  material?.setBaseColorTexture(texture)
  return document
}

/** Returns a plane that two joints move, each a half. */
function strip(): Document {
  const document = plane((x, y) => [x, y])
  const buffer = document.getRoot().listBuffers()[0] ?? null
  const [part] = document.getRoot().listMeshes()[0]?.listPrimitives() ?? []
  const [node] = document.getRoot().listNodes()
  const position = part?.getAttribute('POSITION')
  const count = position?.getCount() ?? 0
  const weights = new Float32Array(count * 4)
  const joints = new Uint8Array(count * 4)
  for (let at = 0; at < count; at++) {
    const [x = 0] = position?.getElement(at, [0, 0, 0]) ?? []
    const second = Math.min(1, Math.max(0, (x - 0.8) / 0.4))
    joints.set([0, 1, 0, 0], at * 4)
    weights.set([1 - second, second, 0, 0], at * 4)
  }
  part?.setAttribute('JOINTS_0', document.createAccessor().setType('VEC4').setArray(joints).setBuffer(buffer))
  part?.setAttribute('WEIGHTS_0', document.createAccessor().setType('VEC4').setArray(weights).setBuffer(buffer))
  const tip = document.createNode('tip').setTranslation([1, 0, 0])
  const base = document.createNode('base').addChild(tip)
  const inverse = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
  const inverses = new Float32Array([...inverse, ...inverse.with(12, -1)])
  const skin = document.createSkin().addJoint(base).addJoint(tip)
  skin.setInverseBindMatrices(document.createAccessor().setType('MAT4').setArray(inverses).setBuffer(buffer))
  node?.setSkin(skin)
  document.getRoot().listScenes()[0]?.addChild(base)
  return document
}

/** Returns a plane with two shapes (morph targets), the stronger of which is a bow. */
function smile(): Document {
  const document = plane((x, y) => [x, y])
  const buffer = document.getRoot().listBuffers()[0] ?? null
  const [made] = document.getRoot().listMeshes()
  const [part] = made?.listPrimitives() ?? []
  const shapes = [0.05, 0.6].map((height) => surface(40, (x) => [0, 0, height * Math.sin(Math.PI * x) ** 2]).positions)
  for (const moves of shapes) {
    const accessor = document.createAccessor().setType('VEC3').setArray(new Float32Array(moves)).setBuffer(buffer)
    part?.addTarget(document.createPrimitiveTarget().setAttribute('POSITION', accessor))
  }
  made?.setWeights([0, 0])
  return document
}

function plane(uv: (x: number, y: number) => vec2): Document {
  const document = new Document()
  const buffer = document.createBuffer()
  const { positions, indices } = surface(40, (x, y) => [2 * x, y, 0])
  const uvs = surface(40, (x, y) => [...uv(x, y), 0]).positions.filter((_, at) => at % 3 < 2)
  const accessor = (type: 'VEC2' | 'VEC3' | 'SCALAR', array: Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>) =>
    document.createAccessor().setType(type).setArray(array).setBuffer(buffer)
  const part = document
    .createPrimitive()
    .setAttribute('POSITION', accessor('VEC3', new Float32Array(positions)))
    .setAttribute('TEXCOORD_0', accessor('VEC2', new Float32Array(uvs)))
    .setIndices(accessor('SCALAR', new Uint32Array(indices)))
    .setMaterial(document.createMaterial('paint').setDoubleSided(true))
  document.createScene().addChild(document.createNode('plane').setMesh(document.createMesh('plane').addPrimitive(part)))
  return document
}

/** Returns the shares of a picture's pixels: shown, red, blue and dark ones; and the gaps in its middle row. */
function sharesOf({ data, width, height }: PNG) {
  const sums = { shown: 0, red: 0, blue: 0, dark: 0 }
  for (let at = 0; at < data.length; at += 4) {
    const [red = 0, , blue = 0, alpha = 0] = data.subarray(at, at + 4)
    if (alpha < 128) continue
    sums.shown++
    if (red > blue + 40) sums.red++
    if (blue > red + 40) sums.blue++
    if (Math.max(red, blue) < 20) sums.dark++
  }
  const row = Array.from({ length: width }, (_, x) => (data[(Math.floor(height / 2) * width + x) * 4 + 3] ?? 0) > 128)
  const gaps = row.filter((is, x) => is && row[x - 1] === false).length - 1
  const pixels = width * height
  return {
    ...Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / pixels])),
    gaps,
  } as typeof sums & {
    gaps: number
  }
}
