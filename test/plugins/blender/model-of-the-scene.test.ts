// Tests on a real Blender that the model is what the scene shows, and that the inspection tells each difference.
import { type Document, NodeIO, type Node as SceneNode } from '@gltf-transform/core'
import { ALL_EXTENSIONS } from '@gltf-transform/extensions'
import { PNG } from 'pngjs'
import t, { type Test } from 'tap'
import { validate } from '../../../plugins/assets/models/validate.ts'
import { artifactOf, settled } from '../../kit/blender.ts'
import { hasPrograms } from '../../kit/components.ts'
import { inFull } from '../../kit/extent.ts'
import { startPlatform } from '../../kit/platform.ts'
import { timeLimit } from '../../kit/time-limit.ts'

t.setTimeout(timeLimit(300))

/** Adds helpers to a script: cubes, and a rig. */
const BEGIN = `
import bpy, math
def cube(name, place=(0, 0, 0)):
    bpy.ops.mesh.primitive_cube_add(location=place)
    bpy.context.object.name = name
    bpy.context.object.data.materials.append(job.material('plain', '#808080'))
    return bpy.context.object
def shape_key(item, name, height):
    if not item.data.shape_keys:
        item.shape_key_add(name='Basis')
    key = item.shape_key_add(name=name)
    for point in key.data:
        point.co.z += height if point.co.z > 0 else 0
    return key
def rig(name, item):
    bpy.ops.object.armature_add()
    armature = bpy.context.object
    armature.name = name
    item.parent = armature
    item.vertex_groups.new(name='Bone').add(range(len(item.data.vertices)), 1, 'REPLACE')
    item.modifiers.new('skin', 'ARMATURE').object = armature
    return armature
def instance(name, collection, place):
    item = bpy.data.objects.new(name, None)
    item.instance_type, item.instance_collection, item.location = 'COLLECTION', collection, place
    bpy.context.scene.collection.objects.link(item)
    return item
`

t.test('a model has the modifiers, shape keys, instances and properties of its scene', async (t) => {
  const run = await start(t)
  if (!run) return
  // A byte order mark, __file__, stereo, a mesh hidden from render, and a thread that never ends are in many scripts.
  const { document, glb, inspection, picture } = await run(`\uFEFF${BEGIN}
import threading, time
assert open(__file__).read().count('bpy') > 3
skinned = cube('Skinned', (0, 0, 1))
skinned.modifiers.new('rounded', 'SUBSURF').levels = 2
shape_key(skinned, 'Taller', 2)
skinned['mood'] = 'calm'
rig('Rig', skinned)
cutter = cube('Cutter', (3, 0, 0))
cutter.hide_render = True
holder = bpy.data.collections.new('Parts')
part = cube('Part')
for collection in list(part.users_collection):
    collection.objects.unlink(part)
holder.objects.link(part)
for place in (4, 7, 10):
    instance('Copy', holder, (place, 0, 0))
marble = bpy.data.materials.new('Marble')
marble.use_nodes = True
noise = marble.node_tree.nodes.new('ShaderNodeTexNoise')
marble.node_tree.links.new(noise.outputs['Color'], marble.node_tree.nodes['Principled BSDF'].inputs['Base Color'])
part.data.materials[0] = marble
bpy.context.scene.render.use_multiview = True
threading.Thread(target=time.sleep, args=(100_000,)).start()
`)
  await t.resolves(validate(glb))
  const skinned = nodeOf(document, 'Skinned')
  t.ok(skinned.getSkin())
  t.equal(trianglesOf(skinned), 192, 'the modifier of a mesh with an armature is applied')
  t.same(skinned.getMesh()?.getExtras().targetNames, ['Taller'])
  t.match(skinned.getExtras(), { mood: 'calm' })
  t.equal(meshNodes(document).length, 4, 'three instances of one mesh, and no cutter')
  t.equal(document.getRoot().listMeshes().length, 2)
  t.match(inspection.totals, { objects: 4, meshes: 2, triangles: 192 + 3 * 12, bones: 1 })
  t.same(
    inspection.warnings.map(({ code, object }) => [code, object]),
    [
      ['hidden_object', 'Cutter'],
      ['material_differs', 'Marble'],
    ],
  )
  t.ok(picture.data.some((byte, at) => at % 4 === 3 && byte > 0))
})

inFull(t)?.test('geometry of nodes, curves, texts, metaballs, shape keys and poses', async (t) => {
  const run = await start(t)
  if (!run) return
  const { document, glb, inspection } = await run(`${BEGIN}
def instance_on_points(item, source=None):
    tree = bpy.data.node_groups.new('points', 'GeometryNodeTree')
    if hasattr(tree, 'interface'):
        tree.interface.new_socket('Geometry', in_out='INPUT', socket_type='NodeSocketGeometry')
        tree.interface.new_socket('Geometry', in_out='OUTPUT', socket_type='NodeSocketGeometry')
    else:
        tree.inputs.new('NodeSocketGeometry', 'Geometry')
        tree.outputs.new('NodeSocketGeometry', 'Geometry')
    start, end = tree.nodes.new('NodeGroupInput'), tree.nodes.new('NodeGroupOutput')
    points = tree.nodes.new('GeometryNodeInstanceOnPoints')
    cone = tree.nodes.new('GeometryNodeMeshCone')
    tree.links.new(start.outputs[0], points.inputs['Points'])
    tree.links.new(cone.outputs['Mesh'], points.inputs['Instance'])
    tree.links.new(points.outputs['Instances'], end.inputs[0])
    item.modifiers.new('points', 'NODES').node_group = tree

instance_on_points(cube('Field', (0, -20, 0)))
bpy.ops.curve.primitive_bezier_curve_add()
curve = bpy.context.object
curve.name, curve.data.bevel_depth = 'Rope', 0.1
curve.modifiers.new('two', 'ARRAY')
bpy.ops.object.text_add()
bpy.context.object.name, bpy.context.object.data.extrude = 'Sign', 0.1
bpy.ops.object.metaball_add(location=(0, 9, 0))
bpy.context.object.name = 'Drop'

mirrored = cube('Mirrored', (0, 20, 0))
mirrored.modifiers.new('mirror', 'MIRROR')
key = shape_key(mirrored, 'Taller', 2)
for frame in (1, 10):
    key.value = frame / 10
    key.keyframe_insert('value', frame=frame)
welded = cube('Welded', (0, 30, 0))
shape_key(welded, 'Flat', 0)
for point in welded.data.shape_keys.key_blocks['Flat'].data:
    point.co = (0, 0, 0)
welded.modifiers.new('weld', 'WELD')

posed = cube('Posed', (0, 0, 0))
rig('Poser', posed).pose.bones[0].location = (0, 7, 0)
bpy.data.actions.new('Unused').use_fake_user = True
plane = cube('Floor', (0, 40, 0))
bpy.data.scenes.new('Another')
`)
  await t.resolves(validate(glb))
  const field = meshNodes(document).filter((node) => node.getName().startsWith('Field'))
  t.equal(field.length, 8, 'one cone on each corner')
  t.equal(new Set(field.map((node) => node.getMesh())).size, 1)
  t.equal(document.getRoot().listScenes().length, 1)
  t.ok(nodeOf(document, 'Rope').getMesh())
  t.ok(nodeOf(document, 'Sign').getMesh())
  t.ok(meshNodes(document).some((node) => node.getName().startsWith('Drop')))
  t.same(nodeOf(document, 'Mirrored').getMesh()?.getExtras().targetNames, ['Taller'])
  t.equal(trianglesOf(nodeOf(document, 'Mirrored')), 24)
  const [weights] = document
    .getRoot()
    .listAnimations()
    .flatMap((animation) => animation.listChannels())
  t.equal(weights?.getTargetPath(), 'weights', 'the animation of a shape key is kept')
  const bone = document
    .getRoot()
    .listNodes()
    .find((node) => node.getName() === 'Bone')
  t.ok(Math.abs((bone?.getWorldTranslation()[1] ?? 0) - 7) < 0.01, 'a pose without an animation is in the model')
  const told = inspection.warnings.filter(({ code }) => code !== 'no_material')
  t.same(
    told.map(({ code, object }) => [code, object]),
    [
      ['shape_keys_lost', 'Welded'],
      ['animation_lost', 'Unused'],
    ],
  )
})

inFull(t)?.test('instances of a rigged collection keep their skins', async (t) => {
  const run = await start(t)
  if (!run) return
  const { document, inspection } = await run(`${BEGIN}
holder = bpy.data.collections.new('Character')
body = cube('Body')
body.modifiers.new('rounded', 'SUBSURF')
for item in (rig('Rig', body), body):
    for collection in list(item.users_collection):
        collection.objects.unlink(item)
    holder.objects.link(item)
instance('Left', holder, (0, 0, 0))
instance('Right', holder, (5, 0, 0))
`)
  t.equal(document.getRoot().listSkins().length, 2)
  t.match(inspection.totals, { objects: 2, triangles: 96, bones: 2 })
  t.same(inspection.warnings, [])
})

inFull(t)?.test('an error of a script for another version names this version and the difference', async (t) => {
  const run = await start(t)
  if (!run) return
  const old = run.version.startsWith('3.')
  const script = old
    ? 'bpy.data.armatures.new("x").collections.new("y")'
    : 'bpy.data.meshes.new("x").use_auto_smooth = True'
  const failed = await run.failing(script)
  t.match(failed, { code: 'script_error', message: /^line 1: AttributeError: / })
  t.match(failed.message, `This is Blender ${run.version}. `)
  t.match(failed.message, old ? /Groups of bones since 4\.0/ : /Smooth shading by angle since 4\.1/)
  const { body } = await run.program.get('/api/blender/v1/capabilities')
  t.equal(Object.keys(body)[0], 'blenderVersion')
  t.ok(body.versionDifferences.length > 8)
  t.match(await run.failing('bpy.ops.mesh.primitive_cube_add()\nbpy.context.object.hide_render = True'), {
    code: 'empty_scene',
    message: /Cube is hidden from render/,
  })
})

interface Inspection {
  totals: Record<string, number>
  warnings: { code: string; object: string | null; message: string }[]
}

/** Starts a platform with Blender. @returns a function that runs a script; null, after marking the test as skipped */
async function start(t: Test) {
  if (!hasPrograms(t, 'blender', 'bwrap')) return null
  const platform = await startPlatform(t, { config: { blender: { driver: 'subprocess' } } })
  const program = await platform.program(await platform.signUp())
  const ended = async (script: string) => {
    const { status, body } = await program.post('/api/blender/v1/jobs', { name: 'x', script })
    t.equal(status, 202)
    return settled(program, body.id)
  }
  const run = async (script: string) => {
    const job = await ended(script)
    t.match(job, { status: 'completed', error: null })
    const file = (name: string) => artifactOf(platform, program, job.id, name)
    const glb = await file('model.glb')
    return {
      glb,
      document: await new NodeIO().registerExtensions(ALL_EXTENSIONS).readBinary(glb),
      inspection: JSON.parse(String(await file('inspection.json'))) as Inspection,
      picture: PNG.sync.read(await file('preview.png')),
    }
  }
  const version = (await program.get('/api/blender/health')).body.blenderVersion as string
  const failing = async (script: string) => (await ended(script)).error as { code: string; message: string }
  return Object.assign(run, { program, version, failing })
}

const meshNodes = (document: Document): SceneNode[] =>
  document
    .getRoot()
    .listNodes()
    .filter((node) => node.getMesh())

function nodeOf(document: Document, name: string): SceneNode {
  const found = document
    .getRoot()
    .listNodes()
    .find((node) => node.getName() === name)
  if (!found) throw new Error(`The model has no node ${name}.`)
  return found
}

function trianglesOf(node: SceneNode): number {
  const primitives = node.getMesh()?.listPrimitives() ?? []
  return primitives.reduce((sum, primitive) => sum + (primitive.getIndices()?.getCount() ?? 0) / 3, 0)
}
