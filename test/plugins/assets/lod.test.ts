// Simplified forms of models that the real Blender made.
import { getBounds, NodeIO } from '@gltf-transform/core'
import { ALL_EXTENSIONS } from '@gltf-transform/extensions'
import { draco, meshopt } from '@gltf-transform/functions'
import draco3d from 'draco3dgltf'
import { validateBytes } from 'gltf-validator'
import { MeshoptDecoder, MeshoptEncoder } from 'meshoptimizer'
import t from 'tap'
import { blenderModels } from './blender.ts'
import { startAssets } from './kit.ts'

const decoders = async () =>
  new NodeIO().registerExtensions(ALL_EXTENSIONS).registerDependencies({
    'draco3d.decoder': await draco3d.createDecoderModule(),
    'draco3d.encoder': await draco3d.createEncoderModule(),
    'meshopt.decoder': MeshoptDecoder,
    'meshopt.encoder': MeshoptEncoder,
  })

t.test('models become lighter, stay valid and keep their shape', async (t) => {
  const names = ['flat', 'smooth', 'textured', 'several', 'mixamo']
  const models = blenderModels(t, process.env.GAMEYARD_HUGE_MODEL ? [...names, 'huge'] : names)
  if (!models) return
  await MeshoptDecoder.ready
  await MeshoptEncoder.ready
  const io = await decoders()
  const smooth = models.get('smooth') as Buffer
  for (const [name, transform] of [
    ['draco', draco()],
    ['meshopt', meshopt({ encoder: MeshoptEncoder })],
  ] as const) {
    const document = await io.readBinary(smooth)
    await document.transform(transform)
    models.set(name, Buffer.from(await io.writeBinary(document)))
  }
  const { ask, upload } = await startAssets(t)
  for (const [name, bytes] of models) {
    const made = await upload(bytes, { title: name, visibility: 'public' })
    t.equal(made.status, 201, `${name}: ${JSON.stringify(made.body).slice(0, 300)}`)
  }
  for (const [name, bytes] of models) {
    const asset = await prepared(ask, name)
    const { source, lod } = asset.variants
    t.ok(lod, `${name} has a simplified form`)
    if (!lod) continue
    const sent = await ask(`/api/assets/${name}/file?variant=lod`)
    t.match(sent, { status: 200, headers: { 'x-service-variant': 'lod', 'content-length': String(lod.size) } }, name)
    t.ok(lod.size < bytes.length, `${name}: ${lod.size} of ${bytes.length} bytes`)
    t.ok(lod.triangles <= source.triangles * 0.6, `${name}: ${lod.triangles} of ${source.triangles} triangles`)
    const report = await validateBytes(sent.body)
    t.same(
      report.issues.messages.filter(({ severity }) => severity === 0),
      [],
      `${name}: the validator finds no error`,
    )
    const [before, after] = await Promise.all([io.readBinary(bytes), io.readBinary(sent.body)])
    const boxes = [before, after].map((document) => getBounds(document.getRoot().listScenes()[0] as never))
    const [was, is] = boxes as [(typeof boxes)[0], (typeof boxes)[0]]
    for (const end of ['min', 'max'] as const) {
      for (const axis of [0, 1, 2] as const) {
        const size = was.max[axis] - was.min[axis]
        t.ok(Math.abs(was[end][axis] - is[end][axis]) <= 0.02 * size, `${name}: its box, ${end} ${'xyz'[axis]}`)
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
    for (const texture of after.getRoot().listTextures()) t.ok(Math.max(...(texture.getSize() ?? [0])) <= 1024, name)
    const auto = await ask(`/api/assets/${name}/file`)
    t.equal(auto.headers['x-service-variant'], bytes.length > 1024 * 1024 ? 'lod' : 'source', `${name}: auto`)
    const picture = await ask(`/api/assets/${name}/thumbnail`)
    t.match(picture, { status: 200, headers: { 'content-type': 'image/png' } }, `${name}: a picture of it`)
  }
})

interface Prepared {
  variants: { source: { size: number; triangles: number }; lod?: { size: number; triangles: number } }
}

/** The asset once its simplified form is there; as it is after a minute or two otherwise. */
async function prepared(ask: Awaited<ReturnType<typeof startAssets>>['ask'], name: string): Promise<Prepared> {
  for (let tries = 0; ; tries++) {
    const asset = (await ask(`/api/assets/${name}`)).json() as Prepared
    if (asset.variants.lod || tries > 1500) return asset
    await new Promise((done) => setTimeout(done, 100))
  }
}
