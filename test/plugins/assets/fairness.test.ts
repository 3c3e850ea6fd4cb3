import { Document, NodeIO } from '@gltf-transform/core'
import t from 'tap'
import { jpegOfScans } from '../../kit/hostile-images.ts'
import { timeLimit } from '../../kit/time-limit.ts'
import { until } from '../../kit/until.ts'
import { startAssets } from './kit.ts'
import { sheet } from './models.ts'

/** A model that takes minutes to draw: it has many pictures that a decoder passes over 64 times. */
async function heavy(): Promise<Buffer> {
  const document = new Document()
  const buffer = document.createBuffer()
  const accessor = (type: 'VEC3' | 'VEC2', values: number[]) =>
    document.createAccessor().setType(type).setArray(new Float32Array(values)).setBuffer(buffer)
  const position = accessor('VEC3', [0, 0, 0, 1, 0, 0, 0, 1, 0])
  const place = accessor('VEC2', [0, 0, 1, 0, 0, 1])
  const mesh = document.createMesh()
  const image = new Uint8Array(jpegOfScans(4096, 64))
  for (let count = 0; count < 20; count++) {
    const texture = document.createTexture(`${count}`).setImage(image).setMimeType('image/jpeg')
    const primitive = document.createPrimitive().setAttribute('POSITION', position).setAttribute('TEXCOORD_0', place)
    mesh.addPrimitive(primitive.setMaterial(document.createMaterial().setBaseColorTexture(texture)))
  }
  document.createScene().addChild(document.createNode().setMesh(mesh))
  return Buffer.from(await new NodeIO().writeBinary(document))
}

t.test('fifty models of one player that take minutes to draw do not delay the upload of another', async (t) => {
  t.setTimeout(timeLimit(60))
  const { platform, owner, other } = await startAssets(t)
  const { app } = platform
  const ended: string[] = []
  app.events.on('asset.changed', ({ assetId }) => void ended.push(assetId))
  const folder = t.testdir({ 'heavy.glb': await heavy(), 'good.glb': await sheet() })
  const create = (playerId: string, name: string) =>
    app.assets.create(playerId, { title: name }, { name, path: `${folder}/${name}` })
  for (let count = 0; count < 50; count++) await create(owner.id, 'heavy.glb')
  await until(async () => {
    const [row] = await app.db.query<{ count: number }>(
      "select count(*) as count from background_jobs where name = 'assets/prepare' and state = 'running'",
    )
    return Number(row?.count) > 0
  })
  const asset = await create(other.id, 'good.glb')
  t.equal(asset.kind, 'model')
  t.strictSame(ended, [], 'before any of the fifty is drawn')
})

t.test('a picture that is too much work gets no thumbnail, and delays nothing', async (t) => {
  const { platform, upload } = await startAssets(t)
  const bad = await upload(jpegOfScans(2048, 1000), { title: 'Scans' }, 'scans.jpg')
  t.equal(bad.status, 201, 'the file itself is served unchanged')
  const good = await upload(jpegOfScans(64, 3), { title: 'Good' }, 'good.jpg')
  const thumbnailOf = async (id: string) => (await platform.app.assets.get(id)).thumbnailSha256
  await until(async () => thumbnailOf(good.body.id))
  t.equal(await thumbnailOf(bad.body.id), null)
})
