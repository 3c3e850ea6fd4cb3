// Tests kits as people download them: models with pictures beside them, alone, in archives, and as a loader finds them.
import { type Document, NodeIO } from '@gltf-transform/core'
import { PNG } from 'pngjs'
import t from 'tap'
import { until } from '../../kit/until.ts'
import { zipOf } from '../deploy/zip-writer.ts'
import { startAssets } from './kit.ts'
import { sheetDocument } from './models.ts'

const PICTURE = PNG.sync.write(Object.assign(new PNG({ width: 4, height: 4 }), { data: Buffer.alloc(64, 0xc0) }))

t.test('the models of a kit refer to a picture beside them, and a loader finds it', async (t) => {
  const { ask, upload, platform } = await startAssets(t)
  const external = toGlb(await partsOf(texturedSheet(), { images: 'Textures/colour%20map.png' }))
  const { json, files } = await partsOf(texturedSheet(), { buffers: 'tree.bin', images: '../wood/bark.png' })
  const kit = {
    'Kit/Models/GLB format/crate.glb': external,
    'Kit/Models/GLB format/Textures/colour map.png': PICTURE,
    'Kit/gltf/tree.gltf': Buffer.from(JSON.stringify(json)),
    'Kit/gltf/tree.bin': files.buffers,
    'Kit/wood/bark.png': PICTURE,
    'Kit/Overview.html': Buffer.from('<script>alert(1)</script>'),
  }
  const { status, body: pack } = await upload(zipOf(kit), { title: 'Kit', visibility: 'public' }, 'kit.zip')
  t.equal(status, 201, JSON.stringify(pack))
  t.match(pack, { kind: 'pack', variants: { source: { triangles: 2 * 72 } } })

  const manifest = (await ask(`/api/assets/${pack.id}/manifest`)).json() as { files: { path: string; url: string }[] }
  for (const { path, url } of manifest.files) {
    t.equal(url, `${platform.portal}/api/assets/kit/files/${path.split('/').map(encodeURIComponent).join('/')}`)
    const file = await ask(new URL(url).pathname)
    t.equal(file.status, 200, path)
    t.ok(file.body.equals(kit[`Kit/${path}` as keyof typeof kit]), `${path} is kept as it is`)
    t.match(file.headers, { 'access-control-allow-origin': '*', 'x-content-type-options': 'nosniff' })
  }
  for (const path of ['Models/GLB%20format/crate.glb', 'gltf/tree.gltf']) {
    const loaded = await load(ask, `/api/assets/kit/files/${path}`)
    t.equal(loaded.getRoot().listTextures()[0]?.getImage()?.length, PICTURE.length, `${path} has its picture`)
  }
  const html = await ask('/api/assets/kit/files/Overview.html')
  t.match(html.headers, { 'content-type': 'application/octet-stream', 'content-disposition': /^attachment/ })
  for (const path of ['nothing', '..%2f..%2fmanifest', 'gltf', 'GLTF/tree.gltf', '%00']) {
    t.match(await ask(`/api/assets/kit/files/${path}`), { status: /^40[04]$/ }, path)
  }
  const picture = await until(async () => (await platform.app.assets.get(pack.id)).thumbnailSha256)
  t.ok(picture, 'the picture of a pack is its first model')
})

t.test('a .gltf becomes one file: alone with data URIs, or as the only model of an archive', async (t) => {
  const { ask, upload } = await startAssets(t)
  const { json, files } = await partsOf(texturedSheet(), { buffers: 'scene.bin', images: 'textures/wood.png' })
  const archive = zipOf({
    'scene.gltf': Buffer.from(`\uFEFF${JSON.stringify(json)}`),
    'scene.bin': files.buffers,
    'textures/wood.png': PICTURE,
    'license.txt': Buffer.from('CC0'),
  })
  const dataUri = (type: string, bytes: Uint8Array) => `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
  const embedded = structuredClone(json)
  embedded.buffers[0].uri = dataUri('application/octet-stream', files.buffers)
  embedded.images[0].uri = dataUri('image/png', PICTURE)
  embedded.extras = { author: 'somebody' }
  const alone = Buffer.from(JSON.stringify(embedded, null, 2))
  for (const [bytes, name] of [
    [archive, 'scene.zip'],
    [alone, 'scene.gltf'],
  ] as const) {
    const { status, body } = await upload(bytes, { title: 'Scene', visibility: 'public' }, name)
    t.equal(status, 201, JSON.stringify(body))
    t.match(body, { kind: 'model', files: [{ path: 'scene.glb', contentType: 'model/gltf-binary' }] })
    const file = await ask(`/api/assets/${body.id}/file`)
    const document = await new NodeIO().readBinary(new Uint8Array(file.body))
    t.ok(Buffer.from(document.getRoot().listTextures()[0]?.getImage() ?? []).equals(PICTURE), name)
    t.equal(document.getRoot().listMeshes()[0]?.listPrimitives()[0]?.getIndices()?.getCount(), 3 * 72)
  }
  const pack = await upload(archive, { title: 'As it is', kind: 'pack' }, 'scene.zip')
  t.match(pack, { status: 201, body: { kind: 'pack' } }, 'unless its maker wants a pack')
  const vrm = await upload(toGlb(await partsOf(texturedSheet(), {})), { title: 'Person' }, 'person.vrm')
  t.match(vrm, { status: 201, body: { kind: 'model', files: [{ path: 'person.glb' }] } })
})

t.test('references that lead out of the archive, or to nothing, are refused with their place', async (t) => {
  const { upload } = await startAssets(t)
  const uris = ['../b.png', 'missing.png', '/etc/passwd', 'file:///etc/passwd', 'https://example.com/a.png', '%zz']
  for (const uri of uris) {
    const model = toGlb(await partsOf(texturedSheet(), { images: uri }))
    const refused = await upload(zipOf({ 'a.glb': model, 'b.png': PICTURE }), { title: 'x' }, 'x.zip')
    t.match(refused, { status: 400, body: { error: { message: /^a\.glb is .*not in the archive/ } } }, uri)
    t.match(refused.body.error.details, [{ path: '/images/0/uri' }])
  }
  const alone = await upload(toGlb(await partsOf(texturedSheet(), { images: 'b.png' })), { title: 'x' })
  t.match(alone, { status: 400, body: { error: { code: 'invalid_model', message: /upload a ZIP archive/ } } })
  const { json, files } = await partsOf(texturedSheet(), { buffers: 'a.bin' })
  for (const [changed, message] of [
    [{ ...json, asset: { version: '1.0' } }, /version 1\.0/],
    [{ ...json, asset: {} }, /without the version/],
    [{ ...json, buffers: [{ ...json.buffers[0], byteLength: 1_000_000 }] }, /instead of 1000000/],
    [{ ...json, bufferViews: [{ buffer: 7, byteLength: 4 }] }, /buffer that is not there/],
  ] as const) {
    const archive = zipOf({ 'a.gltf': Buffer.from(JSON.stringify(changed)), 'a.bin': files.buffers })
    t.match(await upload(archive, { title: 'x' }, 'a.zip'), { status: 400, body: { error: { message } } })
  }
})

t.test('small faults are mended when the maker says so, and the answer says what was done', async (t) => {
  const { ask, upload } = await startAssets(t)
  const document = sheetDocument(6, 'sheet')
  const normal = document.getRoot().listMeshes()[0]?.listPrimitives()[0]?.getAttribute('NORMAL')
  for (const at of [0, 5]) normal?.setElement(at, [0, 0, at])
  const faulty = Buffer.concat([await new NodeIO().writeBinary(document), Buffer.alloc(8)])
  const refused = await upload(faulty, { title: 'Sheet' })
  t.match(refused, { status: 400, body: { error: { code: 'invalid_model', message: /has \d+\. .*repair=true/ } } })
  const unit = await upload(faulty.subarray(0, -8), { title: 'Sheet' })
  t.match(unit, { status: 400, body: { error: { message: /2 errors: .*repair=true/ } } }, 'both say how')
  const mended = await upload(faulty, { title: 'Sheet', repair: 'true', visibility: 'public' })
  t.match(mended, {
    status: 201,
    body: { repairs: [/^8 bytes after the end/, /^2 vectors of NORMAL \(\/accessors\/\d\) have the length 1 now\.$/] },
  })
  const { body } = await ask(`/api/assets/${mended.body.id}/file`)
  t.equal(body.length, faulty.length - 8)
  t.notOk('repairs' in ((await ask(`/api/assets/${mended.body.id}`)).json() as object), 'only the upload says it')
  const sound = await upload(faulty.subarray(0, -8), { title: 'Sheet', repair: 'false' })
  t.equal(sound.status, 400, 'normals alone are a fault too')

  const said = /2 vectors of NORMAL \(\/accessors\/\d\) have the length 1 now\.$/
  const fields = { title: 'Sheet', repair: 'true', visibility: 'public' }
  const textured = texturedSheet()
  const normals = textured.getRoot().listMeshes()[0]?.listPrimitives()[0]?.getAttribute('NORMAL')
  for (const at of [0, 5]) normals?.setElement(at, [0, 0, at])
  const { json, files } = await partsOf(textured, { buffers: 'data.bin' })
  const uri = `data:application/octet-stream;base64,${files.buffers.toString('base64')}`
  const alone = Buffer.from(JSON.stringify({ ...json, buffers: [{ ...json.buffers[0], uri }] }))
  t.equal((await upload(alone, { title: 'Sheet' }, 'sheet.gltf')).status, 400)
  t.match(await upload(alone, fields, 'sheet.gltf'), { status: 201, body: { kind: 'model', repairs: [said] } })
  const gltf = Buffer.from(JSON.stringify(json))
  const sole = zipOf({ 'kit/sheet.gltf': gltf, 'kit/data.bin': files.buffers })
  t.equal((await upload(sole, { title: 'Sheet' }, 'kit.zip')).status, 400)
  t.match(await upload(sole, fields, 'kit.zip'), { status: 201, body: { kind: 'model', repairs: [said] } })
  const pack = zipOf({ 'a.gltf': gltf, 'b.gltf': gltf, 'data.bin': files.buffers, 'c.glb': faulty })
  const kept = await upload(pack, fields, 'kit.zip')
  const first = /^a\.gltf: 2 vectors of NORMAL/
  t.match(kept, { status: 201, body: { kind: 'pack', repairs: [first, /^c\.glb: 8 bytes/, /^c\.glb: 2 vectors/] } })
  const data = (await ask(`/api/assets/${kept.body.id}/files/data.bin`)).body
  t.equal(data.length, files.buffers.length)
  t.notOk(data.equals(files.buffers), 'the file that both share is repaired once')
  t.equal((await ask(`/api/assets/${kept.body.id}/files/c.glb`)).body.length, faulty.length - 8)
})

t.test('a clip whose name can’t be part of an address is refused at the upload', async (t) => {
  const { upload, platform, owner } = await startAssets(t)
  for (const name of ['..', '.']) {
    const document = sheetDocument(6, 'sheet')
    for (const clip of ['rise', name]) {
      const accessor = (type: 'SCALAR' | 'VEC3', numbers: number[]) =>
        document
          .createAccessor()
          .setType(type)
          .setArray(new Float32Array(numbers))
          .setBuffer(document.getRoot().listBuffers()[0] ?? null)
      const sampler = document.createAnimationSampler().setInput(accessor('SCALAR', [0, 1]))
      sampler.setOutput(accessor('VEC3', [0, 1, 0, 0, 2, 0]))
      const channel = document.createAnimationChannel().setSampler(sampler).setTargetPath('translation')
      channel.setTargetNode(document.getRoot().listNodes()[0] ?? null)
      document.createAnimation(clip).addSampler(sampler).addChannel(channel)
    }
    t.match(await upload(await new NodeIO().writeBinary(document), { title: 'Sheet' }), {
      status: 400,
      body: { error: { code: 'invalid_model', details: [{ path: '/animations/1/name', message: `is ${name}` }] } },
    })
  }
  const { body } = await upload(await new NodeIO().writeBinary(sheetDocument(6, 'sheet')), { title: 'Sheet' })
  const program = await platform.program(owner)
  const applied = await program.post(`/api/assets/${body.id}/animations`, { from: body.id, clip: '..' })
  t.match(applied, { status: 400, body: { error: { message: /has no address/ } } })
})

function texturedSheet(): Document {
  const document = sheetDocument(6, 'sheet')
  const [primitive] = document.getRoot().listMeshes()[0]?.listPrimitives() ?? []
  const uvs = Float32Array.from({ length: 49 * 2 }, (_, at) => (at % 14) / 14)
  const buffer = document.getRoot().listBuffers()[0] ?? null
  primitive?.setAttribute('TEXCOORD_0', document.createAccessor().setType('VEC2').setArray(uvs).setBuffer(buffer))
  primitive?.getMaterial()?.setBaseColorTexture(document.createTexture('c').setImage(PICTURE).setMimeType('image/png'))
  return document
}

/** Returns the JSON of a document and its files, with other addresses; without an address, in the binary chunk. */
async function partsOf(document: Document, { buffers, images }: { buffers?: string; images?: string }) {
  const { json, resources } = await new NodeIO().writeJSON(document)
  // biome-ignore lint/suspicious/noExplicitAny: tests change it freely
  const free = json as any
  const bytes = (list: 'buffers' | 'images') => Buffer.from(resources[free[list][0].uri] ?? [])
  const files = { buffers: bytes('buffers'), images: bytes('images') }
  free.buffers[0].uri = buffers
  free.images[0].uri = images
  if (images === undefined) {
    free.bufferViews.push({ buffer: 0, byteOffset: files.buffers.length, byteLength: files.images.length })
    files.buffers = Buffer.concat([files.buffers, files.images])
    free.buffers[0].byteLength = files.buffers.length
    free.images[0] = { bufferView: free.bufferViews.length - 1, mimeType: 'image/png' }
  }
  return { json: free, files }
}

function toGlb({ json, files }: Awaited<ReturnType<typeof partsOf>>): Buffer {
  const padded = (bytes: Buffer, fill: number) => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3, fill)])
  const chunk = (type: number, bytes: Buffer) => {
    const header = Buffer.alloc(8)
    header.writeUInt32LE(bytes.length, 0)
    header.writeUInt32LE(type, 4)
    return Buffer.concat([header, bytes])
  }
  const body = Buffer.concat([
    chunk(0x4e4f534a, padded(Buffer.from(JSON.stringify(json)), 0x20)),
    chunk(0x004e4942, padded(files.buffers, 0)),
  ])
  const header = Buffer.from('glTF\x02\0\0\0\0\0\0\0', 'latin1')
  header.writeUInt32LE(12 + body.length, 8)
  return Buffer.concat([header, body])
}

/** Loads a model as loaders do: what it refers to is fetched relative to its own address. */
async function load(ask: Awaited<ReturnType<typeof startAssets>>['ask'], path: string): Promise<Document> {
  const io = new NodeIO()
  const { body } = await ask(path)
  const isBinary = body.toString('latin1', 0, 4) === 'glTF'
  const end = isBinary ? 20 + body.readUInt32LE(12) : body.length
  const parsed = {
    json: JSON.parse(String(body.subarray(isBinary ? 20 : 0, end))),
    resources: (isBinary ? { '@glb.bin': new Uint8Array(body.subarray(end + 8)) } : {}) as Record<
      string,
      Uint8Array<ArrayBuffer>
    >,
  }
  for (const { uri } of [...(parsed.json.buffers ?? []), ...(parsed.json.images ?? [])]) {
    if (uri === undefined) continue
    const fetched = await ask(new URL(uri, `http://studio${path}`).pathname)
    if (fetched.status !== 200) throw new Error(`${uri} of ${path} is answered with ${fetched.status}.`)
    parsed.resources[uri] = new Uint8Array(fetched.body)
  }
  return io.readJSON(parsed)
}
