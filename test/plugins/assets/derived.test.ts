// Tests that files derived from a model keep everything of it, also what no library of the platform knows.
import { Document, NodeIO, VertexLayout } from '@gltf-transform/core'
import { ALL_EXTENSIONS } from '@gltf-transform/extensions'
import { meshopt } from '@gltf-transform/functions'
import { MeshoptEncoder } from 'meshoptimizer'
import t from 'tap'
import { animateModel } from '../../../plugins/assets/models/animate.ts'
import { lostIn } from '../../../plugins/assets/models/compare.ts'
import { readParts } from '../../../plugins/assets/models/container.ts'
import { countTriangles, inspectModel, readModel } from '../../../plugins/assets/models/inspect.ts'
import { simplifyModel } from '../../../plugins/assets/models/lod.ts'
import { drawModel } from '../../../plugins/assets/models/picture.ts'
import { Chunk, toGlb } from '../../../plugins/assets/models/write-glb.ts'
import { addClip, edited, type Free, sheetDocument } from './models.ts'

t.test('a model with a clip keeps its own clips, extensions of others, attributes and extras', async (t) => {
  const source = edited(await person(), (gltf) => {
    gltf.extensionsUsed = ['VRMC_vrm', 'ACME_physics', 'KHR_animation_pointer', 'KHR_materials_unlit']
    gltf.extensions = { VRMC_vrm: { specVersion: '1.0', meta: { name: 'Ada' }, humanoid: { humanBones: {} } } }
    gltf.nodes[2].extensions = { ACME_physics: { mass: 3 } }
    gltf.materials.push({ name: 'unused', extensions: { KHR_materials_unlit: {} } })
    gltf.asset.copyright = 'Ada'
    gltf.animations[0].channels.push({
      sampler: 0,
      target: { path: 'pointer', extensions: { KHR_animation_pointer: { pointer: '/nodes/1/translation' } } },
    })
  })
  const made = await animateModel(source, { preset: 'walk' })
  if (typeof made === 'string') return t.fail(made)
  t.same(lostIn(source, made), [])
  const [before, after] = [readParts(source), readParts(made)]
  const { buffers: _, bufferViews, accessors, animations, ...rest } = after.gltf as Free
  const { buffers: __, bufferViews: views, accessors: old, animations: clips, ...same } = before.gltf as Free
  t.same(rest, same, 'nothing else has changed')
  t.same(bufferViews.slice(0, views.length), views)
  t.same(accessors.slice(0, old.length), old)
  t.same(animations.slice(1), clips)
  t.equal(animations[0].name, 'walk', 'the new clip is the first')
  const size = (before.gltf.buffers?.[0]?.byteLength ?? 0) as number
  t.ok(Buffer.from(after.binary?.subarray(0, size) ?? []).equals(Buffer.from(before.binary?.subarray(0, size) ?? [])))
  const twice = await animateModel(made, { preset: 'wave' })
  t.type(twice, Uint8Array)
})

t.test('a VRM says which bone is what, and two clips of one name are both reachable', async (t) => {
  const names = (gltf: Free) => Object.fromEntries(gltf.nodes.map(({ name }: Free, index: number) => [name, index]))
  const BONES = ['UpperLeg', 'LowerLeg', 'Foot', 'UpperArm', 'LowerArm', 'Hand']
  const OLD = ['UpLeg', 'Leg', 'Foot', 'Arm', 'ForeArm', 'Hand']
  const foreign = (vrm: (bones: Record<string, number>) => object) => async () =>
    edited(await person(), (gltf) => {
      const at = names(gltf)
      const sides = ['Left', 'Right'].flatMap((side) =>
        BONES.map((bone, index) => [`${side.toLowerCase()}${bone}`, at[`${side}${OLD[index]}`]]),
      )
      gltf.extensions = vrm(Object.fromEntries([['hips', at.Hips], ['head', at.Head], ...sides]))
      gltf.extensionsUsed = Object.keys(gltf.extensions)
      for (const [index, node] of gltf.nodes.entries()) node.name = `ほね${index}`
      gltf.animations.push({ ...gltf.animations[0] })
    })
  const first = foreign((bones) => ({
    VRM: { humanoid: { humanBones: Object.entries(bones).map(([bone, node]) => ({ bone, node })) } },
  }))
  const second = foreign((bones) => {
    const humanBones = Object.fromEntries(Object.entries(bones).map(([bone, node]) => [bone, { node }]))
    return { VRMC_vrm: { specVersion: '1.0', humanoid: { humanBones } } }
  })
  for (const [name, make] of Object.entries({ first, second })) {
    const source = await make()
    t.match(await inspectModel(source), { humanoid: true, animations: ['hop', 'hop_2'] }, name)
    const made = await animateModel(source, { preset: 'walk' })
    if (typeof made === 'string') return t.fail(made)
    const moved = new Set((await new NodeIO().readBinary(made)).getRoot().listAnimations()[0]?.listChannels())
    t.ok(moved.size > 10, `${name}: ${moved.size} channels`)
    for (const clip of ['hop', 'hop_2']) t.type(await animateModel(source, { library: source, clip }), Uint8Array, clip)
  }
  const without = edited(await first(), (gltf) => delete gltf.extensions)
  t.equal(await animateModel(without, { preset: 'walk' }), 'no_humanoid', 'their names say nothing')
})

t.test('models with KHR_meshopt_compression are read, drawn and made lighter', async (t) => {
  await MeshoptEncoder.ready
  const io = new NodeIO().registerExtensions(ALL_EXTENSIONS).registerDependencies({ 'meshopt.encoder': MeshoptEncoder })
  const renamed = async (source: Uint8Array) => {
    const document = await io.readBinary(source)
    await document.transform(meshopt({ encoder: MeshoptEncoder }))
    return edited(await io.writeBinary(document), (gltf) => {
      const text = JSON.stringify(gltf).replaceAll('EXT_meshopt_compression', 'KHR_meshopt_compression')
      for (const [name, value] of Object.entries(JSON.parse(text))) gltf[name] = value
    })
  }
  const hill = await renamed(await interleaved())
  t.match(await inspectModel(hill), { triangles: 3200, animations: ['rise'] })
  t.ok(drawModel((await readModel(hill)).document))
  const made = await simplifyModel(hill)
  if ('reason' in made) return t.fail(made.reason)
  t.same(lostIn(hill, made.bytes), [])
  const { gltf } = readParts(made.bytes)
  const required = gltf.extensionsRequired as string[]
  t.same(required.toSorted(), ['KHR_mesh_quantization', 'KHR_meshopt_compression'], 'it is still compressed')
  t.ok(made.bytes.length < hill.length * 0.9)
  t.equal(countTriangles((await readModel(made.bytes)).document), made.triangles)
})

t.test('a clip is added to a file without a binary chunk', async (t) => {
  const { gltf, binary } = readParts(await person())
  const uri = `data:application/octet-stream;base64,${Buffer.from(binary ?? []).toString('base64')}`
  const source = toGlb({ ...gltf, buffers: [{ ...gltf.buffers?.[0], uri }] }, new Chunk())
  const made = await animateModel(source, { preset: 'idle' })
  if (typeof made === 'string') return t.fail(made)
  t.same(lostIn(source, made), [])
  const [clip] = (await new NodeIO().readBinary(made)).getRoot().listAnimations()
  t.ok(clip && clip.listChannels().length > 5)
})

t.test('a lighter form keeps all but triangles, and extensions by index stay right', async (t) => {
  const source = edited(await interleaved(), (gltf) => {
    gltf.extensionsUsed = ['VRM', 'KHR_animation_pointer', 'KHR_lights_punctual']
    gltf.extensions = {
      VRM: { humanoid: { humanBones: [{ bone: 'hips', node: 1 }] }, blendShapeMaster: { blendShapeGroups: [] } },
      KHR_lights_punctual: { lights: [{ type: 'point', name: 'lamp' }] },
    }
    gltf.materials.unshift({ name: 'unused', extras: { price: 3 } })
    gltf.meshes[0].primitives[0].material = 1
    gltf.meshes[0].extras = { targetNames: [] }
    gltf.nodes.push({ name: 'empty', extras: { spawn: true }, extensions: { KHR_lights_punctual: { light: 0 } } })
    gltf.scenes[0].nodes.push(gltf.nodes.length - 1)
    gltf.animations[0].channels.push({
      sampler: 0,
      target: { path: 'pointer', extensions: { KHR_animation_pointer: { pointer: '/nodes/0/translation' } } },
    })
  })
  const library = edited(source, (gltf) => {
    for (const part of ['scene', 'scenes']) delete gltf[part]
  })
  for (const [name, file] of Object.entries({ source, library })) {
    const made = await simplifyModel(file)
    if ('reason' in made) return t.fail(`${name}: ${made.reason}`)
    t.ok(made.triangles < 3200 / 2, `${name}: ${made.triangles} triangles`)
    t.ok(made.bytes.length < file.length * 0.6, `${name}: ${made.bytes.length} of ${file.length} bytes`)
    t.same(lostIn(file, made.bytes), [])
    const [before, after] = [readParts(file).gltf as Free, readParts(made.bytes).gltf as Free]
    for (const part of ['extensions', 'materials', 'nodes', 'scenes', 'animations', 'skins', 'textures']) {
      t.same(after[part], before[part], `${name}: ${part}`)
    }
    const read = await new NodeIO().readBinary(made.bytes)
    const [clip] = read.getRoot().listAnimations()
    t.same(clip?.listSamplers()[0]?.getOutput()?.getArray(), new Float32Array([0, 1, 0, 0, 2, 0]))
    const [primitive] = read.getRoot().listMeshes()[0]?.listPrimitives() ?? []
    t.same(primitive?.listSemantics().sort(), ['NORMAL', 'POSITION', 'TEXCOORD_0'])
  }
  const unknown = await simplifyModel(edited(source, (gltf) => gltf.extensionsUsed.push('ACME_physics')))
  t.same(unknown, { reason: 'unknown_extension' })
})

t.test('the comparison names whatever is missing', async (t) => {
  const source = edited(await person(), (gltf) => {
    gltf.extras = { level: 3 }
    gltf.extensionsUsed = ['ACME_physics']
    gltf.extensions = { ACME_physics: {} }
    gltf.asset.copyright = 'Ada'
  })
  const losses: Record<string, (gltf: Free) => void> = {
    node: (gltf) => (gltf.nodes[3].name = 'another'),
    mesh: (gltf) => delete gltf.meshes[0].primitives[0].attributes.TEXCOORD_0,
    material: (gltf) => delete gltf.materials[0].extras,
    skin: (gltf) => gltf.skins[0].joints.pop(),
    clip: (gltf) => gltf.animations[0].channels.pop(),
    'the file': (gltf) => delete gltf.extensions,
    'the copyright': (gltf) => delete gltf.asset.copyright,
    scene: (gltf) => delete gltf.scenes[0].name,
  }
  for (const [what, lose] of Object.entries(losses)) {
    const [lost, ...more] = lostIn(source, edited(source, lose))
    t.ok(lost?.startsWith(what), `${what}: ${lost}`)
    t.ok(what === 'node' || more.length === 0, what)
  }
  t.same(
    lostIn(
      source,
      edited(source, (gltf) => gltf.nodes.push({ name: 'more' })),
    ),
    [],
  )
})

/** Returns a skinned triangle on a humanoid rig, with a clip of its own. */
async function person(): Promise<Uint8Array> {
  const document = new Document()
  const buffer = document.createBuffer()
  const bone = (name: string, at: [number, number, number], ...children: ReturnType<typeof document.createNode>[]) => {
    const node = document.createNode(name).setTranslation(at)
    for (const child of children) node.addChild(child)
    return node
  }
  const side = (name: string, sign: number) => ({
    leg: bone(
      `${name}UpLeg`,
      [0.1 * sign, -0.05, 0],
      bone(`${name}Leg`, [0, -0.45, 0], bone(`${name}Foot`, [0, -0.4, 0])),
    ),
    arm: bone(
      `${name}Arm`,
      [0.2 * sign, 0.1, 0],
      bone(`${name}ForeArm`, [0.3 * sign, 0, 0], bone(`${name}Hand`, [0.25 * sign, 0, 0])),
    ),
  })
  const [left, right] = [side('Left', 1), side('Right', -1)]
  const head = bone('Neck', [0, 0.2, 0], bone('Head', [0, 0.1, 0]))
  const hips = bone('Hips', [0, 1, 0], bone('Spine', [0, 0.3, 0], head, left.arm, right.arm), left.leg, right.leg)
  const joints: ReturnType<typeof document.createNode>[] = []
  hips.traverse((node) => joints.push(node))
  const skin = document.createSkin('rig').setSkeleton(hips)
  for (const joint of joints) skin.addJoint(joint)
  const accessor = (
    type: 'VEC2' | 'VEC3' | 'VEC4' | 'SCALAR',
    array: Float32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>,
  ) => document.createAccessor().setType(type).setArray(array).setBuffer(buffer)
  const material = document.createMaterial('skin').setExtras({ kind: 'cloth' })
  const primitive = document
    .createPrimitive()
    .setMaterial(material)
    .setAttribute('POSITION', accessor('VEC3', new Float32Array([0, 0, 0, 0.3, 0, 0, 0, 1, 0])))
    .setAttribute('NORMAL', accessor('VEC3', new Float32Array([0, 0, 1, 0, 0, 1, 0, 0, 1])))
    .setAttribute('TEXCOORD_0', accessor('VEC2', new Float32Array([0, 0, 1, 0, 0, 1])))
    .setAttribute('JOINTS_0', accessor('VEC4', new Uint8Array(12)))
    .setAttribute('WEIGHTS_0', accessor('VEC4', new Float32Array([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])))
  const mesh = document.createMesh('body').addPrimitive(primitive)
  const body = document.createNode('body').setMesh(mesh).setSkin(skin)
  document.createScene('scene').addChild(hips).addChild(body)
  const input = accessor('SCALAR', new Float32Array([0, 1]))
  const output = accessor('VEC3', new Float32Array([0, 1, 0, 0, 1.2, 0]))
  const sampler = document.createAnimationSampler().setInput(input).setOutput(output)
  const channel = document.createAnimationChannel().setSampler(sampler).setTargetNode(hips).setTargetPath('translation')
  document.createAnimation('hop').addSampler(sampler).addChannel(channel)
  return new NodeIO().writeBinary(document)
}

/** Returns a textured sheet of 3200 triangles whose attributes share one view, with a clip that moves it. */
async function interleaved(): Promise<Uint8Array> {
  const document = sheetDocument(40, 'sheet')
  const buffer = document.getRoot().listBuffers()[0] ?? null
  const uvs = Array.from({ length: 41 * 41 }, (_, at) => [(at % 41) / 40, Math.floor(at / 41) / 40])
  const places = document.createAccessor().setType('VEC2').setArray(new Float32Array(uvs.flat())).setBuffer(buffer)
  document.getRoot().listMeshes()[0]?.listPrimitives()[0]?.setAttribute('TEXCOORD_0', places)
  addClip(document)
  return new NodeIO().setVertexLayout(VertexLayout.INTERLEAVED).writeBinary(document)
}
