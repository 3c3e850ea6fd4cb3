// Tests simplified variants of models that the real Blender created.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getBounds, NodeIO } from '@gltf-transform/core'
import { ALL_EXTENSIONS } from '@gltf-transform/extensions'
import { draco, meshopt } from '@gltf-transform/functions'
import draco3d from 'draco3dgltf'
import { validateBytes } from 'gltf-validator'
import { MeshoptDecoder, MeshoptEncoder } from 'meshoptimizer'
import t, { type Test } from 'tap'
import { lostIn } from '../../../plugins/assets/models/compare.ts'
import { readParts } from '../../../plugins/assets/models/container.ts'
import { ALL, inFull } from '../../kit/extent.ts'
import { blenderModels } from './blender.ts'
import { startAssets, untilPrepared } from './kit.ts'
import { addClip, confetti, edited, type Free, mesh, sheet, surface, tiledSheet, wave } from './models.ts'

async function decoders(): Promise<NodeIO> {
  await MeshoptDecoder.ready
  await MeshoptEncoder.ready
  return new NodeIO().registerExtensions(ALL_EXTENSIONS).registerDependencies({
    'draco3d.decoder': await draco3d.createDecoderModule(),
    'draco3d.encoder': await draco3d.createEncoderModule(),
    'meshopt.decoder': MeshoptDecoder,
    'meshopt.encoder': MeshoptEncoder,
  })
}

/** The platform of all tests here but one, because each platform's worker thread would compile everything anew. */
let shared: ReturnType<typeof startAssets> | undefined
const sharedAssets = () => (shared ??= startAssets(t))

t.test('models become lighter, stay valid and keep their shape', async (t) => {
  const few = ['smooth']
  const models = blenderModels(t, ALL ? [...few, 'flat', 'mixamo', 'textured', 'several', 'huge'] : few)
  if (!models) return
  const io = await decoders()
  const smooth = models.get('smooth') as Buffer
  for (const [name, transform] of [
    ['draco', draco()],
    ...(ALL ? ([['meshopt', meshopt({ encoder: MeshoptEncoder })]] as const) : []),
  ] as const) {
    const document = await io.readBinary(smooth)
    await document.transform(transform)
    models.set(name, Buffer.from(await io.writeBinary(document)))
  }
  const { ask, upload, platform } = await sharedAssets()
  for (const [name, bytes] of models) {
    const made = await upload(bytes, { title: name, visibility: 'public' })
    t.equal(made.status, 201, `${name}: ${JSON.stringify(made.body).slice(0, 300)}`)
  }
  for (const [name, bytes] of models) {
    const { source, lod } = await served(t, { ask, platform, io }, name, bytes)
    t.ok(lod, `${name} has a simplified form`)
    if (lod) t.ok(lod.triangles <= source.triangles * 0.6, `${name}: ${lod.triangles} of ${source.triangles} triangles`)
    const picture = await ask(`/api/assets/${name}/thumbnail`)
    t.match(picture, { status: 200, headers: { 'content-type': 'image/png' } }, `${name}: a picture of it`)
  }
})

t.test('models with KTX2 textures become lighter, and keep their textures as they are', async (t) => {
  const io = await decoders()
  const { ask, upload, platform } = await sharedAssets()
  for (const encoding of ALL ? (['uastc', 'etc1s'] as const) : (['etc1s'] as const)) {
    const bytes = await tiledSheet(40, encoding)
    const made = await upload(bytes, { title: encoding, visibility: 'public' })
    t.match(made, { status: 201, body: { variants: { source: { triangles: 3200 } } } })
    const { lod } = await served(t, { ask, platform, io }, encoding, bytes)
    t.ok(lod && lod.triangles < 1600, `${encoding}: ${lod?.triangles} triangles`)
    const sent = await io.readBinary((await ask(`/api/assets/${encoding}/file?variant=lod`)).body)
    const [texture] = sent.getRoot().listTextures()
    const [before] = (await io.readBinary(bytes)).getRoot().listTextures()
    t.equal(texture?.getMimeType(), 'image/ktx2')
    t.same(texture?.getImage(), before?.getImage(), `${encoding}: byte for byte`)
    t.same(
      sent
        .getRoot()
        .listExtensionsRequired()
        .map(({ extensionName }) => extensionName),
      ['KHR_texture_basisu'],
    )
    const picture = await ask(`/api/assets/${encoding}/thumbnail`)
    t.match(picture, { status: 200, headers: { 'content-type': 'image/png' } }, `${encoding}: a picture of it`)
  }
})

t.test('a part whose shape would change stays as it is, and the others become lighter', async (t) => {
  const io = await decoders()
  const { ask, upload, platform } = await sharedAssets()
  const parts = [wave(60), confetti(1000)]
  const models = new Map([
    ['apart', await mesh(parts)],
    // VRM exporters write such files: one part uses a small range of the vertex list, whose bounding box says nothing
    // about the part.
    ['shared', await mesh([...parts, surface(40, (x, y) => [x + 5, y, Math.sin(3 * x)])], { shared: true })],
  ])
  for (const [title, bytes] of models) t.equal((await upload(bytes, { title, visibility: 'public' })).status, 201)
  for (const [title, bytes] of models) {
    const { source, lod } = await served(t, { ask, platform, io }, title, bytes)
    t.ok(lod && lod.triangles < source.triangles * 0.5, `${title}: ${lod?.triangles} of ${source.triangles} triangles`)
    t.equal((await prepared({ ask, platform }, title)).lodReason, null)
  }
  const lighter = await io.readBinary((await ask('/api/assets/apart/file?variant=lod')).body)
  const [, kept] = lighter.getRoot().listMeshes()[0]?.listPrimitives() ?? []
  t.same(kept?.getAttribute('POSITION')?.getArray(), new Float32Array(confetti(1000).positions), 'byte for byte')
  t.equal(kept?.getIndices()?.getCount(), 3000)
  const shared = await io.readBinary((await ask('/api/assets/shared/file?variant=lod')).body)
  const [, part] = shared.getRoot().listMeshes()[0]?.listPrimitives() ?? []
  t.equal(part?.getAttribute('POSITION')?.getCount(), 3000, 'of the list that it shared, what it draws')
})

t.test('a lighter form of a model with Draco keeps VRM, animation pointers, and parts as they are', async (t) => {
  const io = await decoders()
  const { ask, upload, platform } = await sharedAssets()
  const document = await io.readBinary(await mesh([wave(60), confetti(1000)]))
  addClip(document)
  await document.transform(draco())
  const source = edited(await io.writeBinary(document), (gltf) => {
    gltf.extensionsUsed.push('VRM', 'KHR_animation_pointer')
    gltf.extensions = { VRM: { humanoid: { humanBones: [{ bone: 'hips', node: 0 }] } } }
    const target = { path: 'pointer', extensions: { KHR_animation_pointer: { pointer: '/nodes/0/translation' } } }
    gltf.animations[0].channels.push({ sampler: 0, target })
  })
  t.equal((await upload(source, { title: 'packed', visibility: 'public' })).status, 201)
  const { lod } = await served(t, { ask, platform, io }, 'packed', Buffer.from(source))
  t.ok(lod && lod.triangles < 8200 / 2, `${lod?.triangles} triangles`)
  const made = (await ask('/api/assets/packed/file?variant=lod')).body
  t.same(lostIn(source, made), [])
  const [before, after] = [readParts(source), readParts(made)]
  for (const part of ['extensions', 'animations', 'nodes', 'materials', 'extensionsRequired']) {
    t.same((after.gltf as Free)[part], (before.gltf as Free)[part], part)
  }
  const dataOf = ({ gltf, binary }: typeof before, part: number) => {
    const { bufferView } = (gltf.meshes as Free)[0].primitives[part].extensions.KHR_draco_mesh_compression
    const { byteOffset = 0, byteLength = 0 } = gltf.bufferViews?.[bufferView] ?? {}
    return Buffer.from(binary?.subarray(byteOffset, byteOffset + byteLength) ?? [])
  }
  t.ok(dataOf(after, 0).length < dataOf(before, 0).length * 0.6, 'the part with fewer triangles is compressed too')
  t.ok(dataOf(after, 1).equals(dataOf(before, 1)), 'the other one is the same')
})

t.test('the record says why there is no lighter form', async (t) => {
  const { ask, upload, platform } = await sharedAssets()
  const models = {
    few_triangles: await sheet(10),
    shape_would_change: await mesh([confetti(1000)]),
    not_smaller: await mesh([confetti(1000, 0.5)]),
  }
  for (const [reason, bytes] of Object.entries(models)) {
    const { body } = await upload(bytes, { title: reason, visibility: 'public' })
    t.match(body, { lodReason: null }, 'nothing is known yet')
    const { lodReason, variants } = await prepared({ ask, platform }, body.slug)
    t.equal(lodReason, reason)
    t.equal(variants.lod, undefined)
  }
})

t.test('the maker decides whether the default address serves the lighter form', async (t) => {
  const { ask, upload, platform } = await sharedAssets()
  const { status, body } = await upload(await sheet(170), { title: 'hill', visibility: 'public', lod: 'off' })
  t.match({ status, body }, { status: 201, body: { lod: 'off', defaultVariant: 'source' } })
  t.ok((await prepared({ ask, platform }, 'hill')).variants.lod, 'there is one')
  const served = async (query = '') => (await ask(`/api/assets/hill/file${query}`)).headers['x-service-variant']
  t.equal(await served(), 'source')
  t.equal(await served('?variant=lod'), 'lod')
  const headers = { 'content-type': 'application/json' }
  const changed = await ask('/api/assets/hill', {
    as: 'owner',
    method: 'PATCH',
    headers,
    body: Buffer.from('{"lod":"auto"}'),
  })
  t.match(changed.json(), { lod: 'auto', defaultVariant: 'lod' })
  t.equal(await served(), 'lod')
  const wrong = await ask('/api/assets/hill', {
    as: 'owner',
    method: 'PATCH',
    headers,
    body: Buffer.from('{"lod":"on"}'),
  })
  t.equal(wrong.status, 400)
})

t.test('models of before are looked at again: what could not be animated or made lighter then', async (t) => {
  const models = blenderModels(t, ['handless'])
  if (!models) return
  const { ask, upload, platform } = await startAssets(t)
  const { app } = platform
  await upload(models.get('handless') as Buffer, { title: 'figure', visibility: 'public' })
  await prepared({ ask, platform }, 'figure')
  const asEarlier = 'update assets set humanoid = ?, prepared_by = null, lod_sha256 = null, lod_size = null'
  await app.db.execute(asEarlier, [false])
  await app.assets.preparation.renew()
  t.ok((await prepared({ ask, platform }, 'figure')).variants.lod, 'it has a lighter form now')
  t.equal((await app.assets.get('figure')).humanoid, true)
  await app.assets.preparation.renew()
  t.same(await app.db.query(`select id from background_jobs where name = 'assets/prepare'`), [], 'once')
})

inFull(t)?.test('models that others made are served as they are, and lighter', async (t) => {
  const folder = process.env.GAMEYARD_MODELS
  if (!folder) {
    if (process.env.CI === 'true') t.fail('GAMEYARD_MODELS names no folder')
    else t.pass('skipped', { skip: 'no models (set GAMEYARD_MODELS to a folder with .glb files)' })
    return
  }
  const paths = globSync('**/*.glb', { cwd: folder }).sort()
  const step = Math.max(1, Math.floor(paths.length / Number(process.env.GAMEYARD_MODELS_COUNT ?? 8)))
  const io = await decoders()
  const { ask, upload, platform } = await sharedAssets()
  let refused = 0
  for (const [index, path] of paths.entries()) {
    // Of the controller models, the hands are rigged.
    if (index % step !== 0 && !/hand/.test(path)) continue
    const bytes = readFileSync(join(folder, path))
    const title = `model ${index}`
    const { status } = await upload(bytes, { title, visibility: 'public' })
    const { numErrors } = (await validateBytes(bytes)).issues
    t.equal(status, numErrors === 0 ? 201 : 400, `${path}: taken in when the validator finds no error (${numErrors})`)
    if (status === 201) await served(t, { ask, platform, io }, title.replace(' ', '-'), bytes)
    else refused++
  }
  t.comment(`${refused} refused by the validator`)
})

/** Checks every variant of a served model. */
async function served(
  t: Test,
  { ask, platform, io }: Pick<Started, 'ask' | 'platform'> & { io: NodeIO },
  name: string,
  bytes: Buffer,
) {
  const { source, lod } = (await prepared({ ask, platform }, name)).variants
  const whole = await ask(`/api/assets/${name}/file?variant=source`)
  t.ok(whole.body.equals(bytes), `${name}: as it was uploaded`)
  const auto = await ask(`/api/assets/${name}/file`)
  t.equal(auto.headers['x-service-variant'], lod && bytes.length > 1024 * 1024 ? 'lod' : 'source', `${name}: auto`)
  if (!lod) return { source, lod }
  const sent = await ask(`/api/assets/${name}/file?variant=lod`)
  t.match(sent, { status: 200, headers: { 'x-service-variant': 'lod', 'content-length': String(lod.size) } }, name)
  t.ok(lod.size < bytes.length, `${name}: ${lod.size} of ${bytes.length} bytes`)
  const { messages } = (await validateBytes(sent.body)).issues
  t.same(
    messages.filter(({ severity }) => severity === 0),
    [],
    `${name}: the validator finds no error`,
  )
  const [before, after] = await Promise.all([io.readBinary(bytes), io.readBinary(sent.body)])
  const boxes = [before, after].map((document) => getBounds(document.getRoot().listScenes()[0] as never))
  const [was, is] = boxes as [(typeof boxes)[0], (typeof boxes)[0]]
  const diagonal = Math.hypot(...was.max.map((side, axis) => side - (was.min[axis] as number)))
  for (const end of ['min', 'max'] as const) {
    for (const axis of [0, 1, 2] as const) {
      t.ok(Math.abs(was[end][axis] - is[end][axis]) <= 0.02 * diagonal, `${name}: its box, ${end} ${'xyz'[axis]}`)
    }
  }
  const named = [before, after].map((document) =>
    document
      .getRoot()
      .listNodes()
      .map((node) => node.getName())
      .sort(),
  )
  t.same(named[1], named[0], `${name}: every node by its name`)
  for (const texture of after.getRoot().listTextures()) {
    if (/jpeg|png/.test(texture.getMimeType())) t.ok(Math.max(...(texture.getSize() ?? [0])) <= 1024, name)
  }
  return { source, lod }
}

type Started = Awaited<ReturnType<typeof startAssets>>

interface Prepared {
  lodReason: string | null
  variants: { source: { size: number; triangles: number }; lod?: { size: number; triangles: number } }
}

/** Waits until all variants of an asset exist, and returns it. */
async function prepared({ ask, platform }: Pick<Started, 'ask' | 'platform'>, name: string): Promise<Prepared> {
  const { id } = await platform.app.assets.get(name)
  await untilPrepared(platform, id, 150)
  return (await ask(`/api/assets/${id}`)).json() as Prepared
}
