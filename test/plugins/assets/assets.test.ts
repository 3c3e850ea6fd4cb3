import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { PNG } from 'pngjs'
import t, { type Test } from 'tap'
import { startPlatform } from '../../kit/platform.ts'
import { zip } from '../deploy/zip-writer.ts'
import { sheet } from './models.ts'

/** Starts a platform with a player, and returns a function that writes bytes to disk. */
async function withFiles(t: Test) {
  const platform = await startPlatform(t, { only: ['oauth-idp', 'tokens', 'quotas', 'games', 'assets'] })
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-assets-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { assets, events } = platform.app
  const received: string[] = []
  for (const name of ['asset.created', 'asset.changed', 'asset.deleted'] as const) {
    events.on(name, ({ assetId }) => void received.push(`${name} ${assetId}`))
  }
  let files = 0
  const put = (bytes: Uint8Array | string, name = 'model.glb') => {
    const path = join(folder, String(++files))
    writeFileSync(path, bytes)
    return { path, name }
  }
  const blobs = async () => {
    const keys: string[] = []
    for await (const { key } of platform.app.storage.list('assets/')) keys.push(key)
    return keys
  }
  return { platform, assets, put, blobs, received, owner: (await platform.signUp()).id }
}

t.test('a model is measured, stored as it is, and found by id and slug', async (t) => {
  const { assets, put, owner, received } = await withFiles(t)
  const bytes = await sheet(10)
  const fields = { title: 'Wavy Sheet', tags: ['cloth'], license: 'CC0-1.0', visibility: 'public' as const }
  const made = await assets.create(owner, fields, put(bytes, 'C:\\models\\my sheet.blend'))
  t.match(made, {
    id: /^ast_/,
    slug: 'wavy-sheet',
    kind: 'model',
    visibility: 'public',
    license: 'CC0-1.0',
    rigged: false,
    animations: [],
    files: [{ path: 'my sheet.glb', size: bytes.length, contentType: 'model/gltf-binary' }],
    variants: { source: { size: bytes.length, triangles: 200 } },
    source: { kind: 'upload' },
  })
  t.same(received[0], `asset.created ${made.id}`)
  t.match(await assets.find('wavy-sheet', null), { id: made.id })
  const opened = await assets.open(made.id, { variant: 'source' })
  t.match(opened, { size: bytes.length, variant: 'source' })
  t.ok(bytes.equals(await buffer(opened.stream)), 'the very bytes')
  const part = await assets.open(made.id, { variant: 'source', range: { start: 4, end: 7 } })
  t.same(await buffer(part.stream), bytes.subarray(4, 8))
  const second = await assets.create(owner, fields, put(bytes))
  t.equal(second.slug, 'wavy-sheet-2')
})

t.test("a private asset is nobody's but its owner's", async (t) => {
  const { assets, put, owner, platform } = await withFiles(t)
  const made = await assets.create(owner, { title: 'Secret' }, put(await sheet(2)))
  t.equal(made.visibility, 'private', 'which it is by default')
  const other = (await platform.signUp()).id
  for (const name of [made.id, made.slug]) {
    t.match(await assets.find(name, owner), { id: made.id })
    t.equal(await assets.find(name, null), null)
    t.equal(await assets.find(name, other), null)
  }
})

t.test('a public asset is changed by its owner alone', async (t) => {
  const { assets, put, owner, platform } = await withFiles(t)
  const { id, slug } = await assets.create(owner, { title: 'Crate', visibility: 'public' }, put(await sheet(2)))
  const other = await platform.signUp()
  const program = await platform.program(other)
  const noSuch = { status: 404, body: { error: { code: 'not_found' } } }
  for (const client of [other, program]) {
    for (const name of [id, slug]) {
      t.match(await client.patch(`/api/assets/${name}`, { title: 'Mine' }), noSuch)
      t.match(await client.post(`/api/assets/${name}/unpublish`), noSuch)
      t.match(await client.delete(`/api/assets/${name}`), noSuch)
    }
  }
  await t.rejects(assets.mustOwn(other.id, id), { code: 'not_found' }, 'whatever asks')
  t.match(await assets.find(id, null), { title: 'Crate', visibility: 'public' })
})

t.test('the output of a job becomes one asset, however often it is handed in', async (t) => {
  const { assets, put, owner, blobs } = await withFiles(t)
  const file = put(await sheet(2))
  const fields = { title: 'Made', source: { kind: 'blender' as const, jobId: 'job_1' } }
  const [first, ...others] = await Promise.all(Array.from({ length: 4 }, () => assets.create(owner, fields, file)))
  t.match(first?.source, { kind: 'blender', jobId: 'job_1' })
  for (const other of others) t.equal(other.id, first?.id)
  t.equal((await assets.create(owner, fields, file)).id, first?.id)
  t.equal((await blobs()).filter((key) => !key.includes(first?.id ?? '')).length, 0, 'nothing of the others stays')
})

t.test('a thumbnail takes the place of the one before', async (t) => {
  const { assets, put, owner, blobs, received } = await withFiles(t)
  const { id } = await assets.create(owner, { title: 'Thing' }, put(await sheet(2)))
  const png = (shade: number) =>
    PNG.sync.write(Object.assign(new PNG({ width: 8, height: 8 }), { data: Buffer.alloc(256, shade) }))
  await assets.setThumbnail(id, png(50))
  const before = (await assets.get(id)).thumbnailSha256
  await assets.setThumbnail(id, png(90))
  const after = (await assets.get(id)).thumbnailSha256
  t.not(before, after)
  const keys = (await blobs()).join()
  t.match(keys, after ?? 'none')
  t.notMatch(keys, before ?? 'none')
  t.ok(received.includes(`asset.changed ${id}`))
  await t.rejects(assets.setThumbnail(id, Buffer.from('<svg/>')), { code: 'asset_refused' })
})

t.test('a picture and a pack are shown by what is in them', async (t) => {
  const { assets, put, owner, platform } = await withFiles(t)
  const paint = (width: number, height: number) => {
    const picture = new PNG({ width, height })
    for (let at = 0; at < picture.data.length; at += 4) picture.data.set([200, (at >> 8) & 0xff, at & 0xff, 255], at)
    return PNG.sync.write(picture)
  }
  const [large, cover, model] = [paint(1200, 800), paint(300, 100), await sheet(6)]
  const pack = (files: Record<string, Buffer>) =>
    put(zip(Object.entries(files).map(([name, bytes]) => ({ name, bytes }))), 'pack.zip')
  const bomb = Buffer.from(cover)
  bomb.writeUInt32BE(60_000, 16)
  bomb.writeUInt32BE(60_000, 20)
  for (const [title, file, size] of [
    ['Sky', put(large, 'sky.png'), [512, 341]],
    ['Covered', pack({ 'a/crate.glb': model, 'a/cover.png': cover }), [300, 100]],
    ['Modelled', pack({ 'a/crate.glb': model, 'a/wood.png': cover }), [512, 384]],
    ['Pictured', pack({ 'a/readme.txt': Buffer.from('hello'), 'a/wood.png': cover }), [300, 100]],
    ['Bomb', put(bomb, 'bomb.png'), null],
    ['Silent', pack({ 'a/readme.txt': Buffer.from('hello'), 'a/notes.txt': Buffer.from('more') }), null],
  ] as const) {
    const { id } = await assets.create(owner, { title }, file)
    // Two runs at once occur when the platform considers a worker lost. A third run is also queued.
    const { signal } = new AbortController()
    await Promise.all([assets.preparation.run(id, signal), assets.preparation.run(id, signal)])
    const { thumbnailSha256: sha256 } = await assets.get(id)
    const picture = sha256 && PNG.sync.read(await buffer(await assets.read(id, sha256)))
    t.same(picture && [picture.width, picture.height], size, title)
  }
  const small = await assets.create(owner, { title: 'Small', visibility: 'public' }, put(cover, 'small.png'))
  const shown = await platform.stranger.get(`/assets/${small.slug}/thumbnail`)
  t.match(shown, { status: 200, headers: { 'content-type': 'image/png' } }, 'by itself at once')
})

t.test('what is no glTF binary is refused with the reason, and leaves nothing', async (t) => {
  const { assets, put, owner, blobs } = await withFiles(t)
  const good = await sheet(2)
  const lying = Buffer.from(good)
  lying.writeUInt32LE(good.length * 2, 8)
  const wrong = Buffer.from(good.toString('latin1').replace('"POSITION":0', '"POSITION":9'), 'latin1')
  const cases: [bytes: Uint8Array | string, code: string, message: RegExp][] = [
    ['<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', 'asset_refused', /not a model/],
    ['<!doctype html><script>alert(1)</script>', 'asset_refused', /not a model/],
    ['', 'asset_refused', /not a model/],
    ['glTF', 'invalid_model', /begin/],
    [lying, 'invalid_model', /announces/],
    [wrong, 'invalid_model', /Khronos/],
  ]
  for (const [bytes, code, message] of cases) {
    await t.rejects(assets.create(owner, { title: 'Bad' }, put(bytes)), { code, message })
  }
  const others: [name: string, bytes: string, message: RegExp][] = [
    ['rook.blend', 'BLENDER-v405', /^This is a project of Blender\. Open it in Blender, and export it as glTF binary/],
    ['rook', 'Kaydara FBX Binary  \0', /^This is a model in the format FBX\. Import it into Blender/],
    ['Rook.OBJ', 'v 0 0 0', /^This is a model in the format OBJ/],
    ['rook.7z', '7z\xbc\xaf', /^This is an archive of another kind\. Pack its files as a ZIP archive\.$/],
    ['rook.constructor', 'x', /not a model/],
  ]
  for (const [name, bytes, message] of others) {
    await t.rejects(assets.create(owner, { title: 'Bad' }, put(bytes, name)), { code: 'asset_refused', message })
  }
  await t.rejects(assets.create(owner, { title: 'Bad', kind: 'audio' }, put(good)), { code: 'asset_refused' })
  t.same(await blobs(), [])
})
