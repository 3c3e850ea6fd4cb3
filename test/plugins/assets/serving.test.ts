import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import { createLog } from '../../../core/observe/log.ts'
import type { AssetRecord } from '../../../plugins/assets/record.ts'
import { Delivery } from '../../../plugins/assets/serving/delivery.ts'
import { zip } from '../deploy/zip-writer.ts'
import { startAssets, untilPrepared } from './kit.ts'
import { sheet } from './models.ts'

const CORS = {
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
}

t.test('an upload by form, and what the API says of it', async (t) => {
  const { ask, upload, platform } = await startAssets(t)
  const bytes = await sheet(20)
  const made = await upload(bytes, { title: 'Sea', tags: 'water, waves', visibility: 'public', license: 'CC-BY-4.0' })
  t.match(made, {
    status: 201,
    body: {
      slug: 'sea',
      tags: ['water', 'waves'],
      license: 'CC-BY-4.0',
      fileUrl: `${platform.portal}/api/assets/sea/file`,
      files: [{ path: 'model.glb', sha256: createHash('sha256').update(bytes).digest('hex') }],
    },
  })
  t.notOk(made.body.files[0].crc32, 'nothing of the inside is told')
  t.match((await ask('/api/assets/sea')).json(), { id: made.body.id })
  t.match((await ask('/api/assets?q=se&kind=model&tag=water')).json(), {
    assets: [{ id: made.body.id }],
    nextCursor: null,
  })
  for (const query of ['q=sky', 'kind=pack', 'tag=fire', 'curated=true', 'rigged=true']) {
    t.match((await ask(`/api/assets?${query}`)).json(), { assets: [] }, query)
  }
  t.match((await ask('/api/assets/sea/manifest')).json(), {
    url: `${platform.portal}/api/assets/sea/file`,
    variants: { source: { size: bytes.length, triangles: 800 } },
  })
  for (const [field, value] of [
    ['license', 'no <script>'],
    ['visibility', 'secret'],
    ['tags', '海&'],
    ['nonsense', 'x'],
    ['kind', 'pack'],
  ] as const) {
    const refused = await upload(bytes, { title: 'Sea', [field]: value })
    t.ok([400, 415].includes(refused.status), field)
    t.match(JSON.stringify(refused.body), field, `${field} is named`)
  }
})

t.test('who may have a private asset', async (t) => {
  const { ask, upload, owner, platform, host } = await startAssets(t)
  const { body: asset } = await upload(await sheet(4), { title: 'Secret' })
  const game = await platform.game(owner, { title: 'Pong' })
  const about = ['', '/file', '/file?variant=source', '/manifest', '/thumbnail']
  for (const path of about) {
    for (const name of [asset.id, asset.slug]) {
      const address = `/api/assets/${name}${path}`
      const mine = await ask(address, { as: 'owner' })
      t.match(
        mine,
        { status: 200, headers: { ...CORS, 'cache-control': 'private, no-store' } },
        `${address}: its owner`,
      )
      for (const as of [undefined, 'other', 'unscoped'] as const) {
        for (const method of ['GET', 'HEAD', 'OPTIONS']) {
          const refused = await ask(address, { as, method, headers: { origin: 'https://game.example' } })
          t.equal(refused.status, 404, `${method} ${address}: ${as}`)
          t.notOk(refused.headers['access-control-allow-origin'], `${method} ${address}: ${as}: no CORS`)
          if (method === 'GET') t.match(refused.json(), { error: { code: 'not_found' } })
        }
      }
    }
  }
  t.equal((await ask(`/api/assets/${asset.id}/file`, { as: 'owner', method: 'OPTIONS' })).status, 204)
  const session = await owner.get(`/assets/${asset.slug}/file`)
  t.match(session, { status: 200, headers: { 'cache-control': 'private, no-store' } }, 'the pages of its owner show it')
  t.notOk(session.headers['access-control-allow-origin'], 'to themselves')
  const proxied = { host: platform.gameHost(game.slug) }
  for (const name of [asset.id, asset.slug]) {
    for (const as of ['owner', undefined] as const) {
      const refused = await ask(`/__service/assets/${name}.glb`, { as, headers: proxied })
      t.match(refused, { status: 404, headers: { 'access-control-allow-origin': '*' } }, 'not through a game')
    }
  }
  t.match((await ask('/api/assets')).json(), { assets: [] }, 'it is in no list')
  t.match((await ask('/api/assets?owner=me', { as: 'owner' })).json(), { assets: [{ id: asset.id }] }, 'but one')
  t.equal((await ask('/api/assets?owner=me')).status, 401)
  t.equal((await ask('/api/assets?owner=me', { as: 'unscoped' })).status, 403)
  t.ok(host)
})

t.test('headers of public assets, to the letter', async (t) => {
  const { ask, upload, owner, platform } = await startAssets(t)
  const bytes = await sheet(4)
  const { body: asset } = await upload(bytes, { title: 'Crate', visibility: 'public' })
  const game = await platform.game(owner, { title: 'Pong' })
  const expected = {
    ...CORS,
    'cache-control': 'public, max-age=86400',
    'content-type': 'model/gltf-binary',
    'content-length': String(bytes.length),
    'accept-ranges': 'bytes',
    'x-service-variant': 'source',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    etag: `"${asset.files[0].sha256}"`,
  }
  const proxied = { host: platform.gameHost(game.slug) }
  for (const [path, headers] of [
    [`/api/assets/${asset.id}/file`, {}],
    ['/api/assets/crate/file?variant=lod', {}],
    [`/__service/assets/${asset.id}.glb`, proxied],
    ['/__service/assets/crate.glb', proxied],
  ] as const) {
    const whole = await ask(path, { headers })
    t.match(whole, { status: 200, headers: expected }, path)
    t.ok(whole.body.equals(bytes))
    const head = await ask(path, { headers, method: 'HEAD' })
    t.match(head, { status: 200, headers: expected }, `HEAD ${path}`)
    t.equal(head.body.length, 0)
    const part = await ask(path, { headers: { ...headers, range: 'bytes=4-11' } })
    t.match(part, {
      status: 206,
      headers: { ...CORS, 'content-range': `bytes 4-11/${bytes.length}`, 'content-length': '8' },
    })
    t.same(part.body, bytes.subarray(4, 12))
    const beyond = await ask(path, { headers: { ...headers, range: 'bytes=99999999-' } })
    t.match(beyond, { status: 416, headers: { ...CORS, 'content-range': `bytes */${bytes.length}` } })
    const same = await ask(path, { headers: { ...headers, 'if-none-match': `"x", ${expected.etag}` } })
    t.match(same, {
      status: 304,
      headers: { ...CORS, etag: expected.etag, 'cache-control': expected['cache-control'] },
    })
    t.equal(same.body.length, 0)
    const preflight = await ask(path, {
      method: 'OPTIONS',
      headers: { ...headers, origin: 'https://game.example', 'access-control-request-method': 'GET' },
    })
    t.match(preflight, {
      status: 204,
      headers: { 'access-control-allow-origin': '*', 'access-control-allow-methods': 'GET, HEAD, OPTIONS' },
    })
    t.match(await ask(path, { method: 'DELETE', headers }), { status: 405, headers: CORS }, 'and nothing else')
  }
  const unpublished = await ask(`/api/assets/${asset.id}/unpublish`, { as: 'owner', method: 'POST' })
  t.match(unpublished.json(), { visibility: 'private' })
  t.equal((await ask('/api/assets/crate/file')).status, 404, 'taken back at once')
  t.equal((await ask('/__service/assets/crate.glb', { headers: proxied })).status, 404)
  t.equal((await ask('/api/assets/crate/publish', { as: 'other', method: 'POST' })).status, 404)
  t.equal((await ask('/api/assets/crate/publish', { as: 'owner', method: 'POST' })).status, 200)
  t.equal((await ask('/api/assets/crate/file')).status, 200)
})

t.test('a game has pictures and sounds at its own address, each with its extension', async (t) => {
  const { ask, upload, owner, platform } = await startAssets(t)
  const picture = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
  const sound = Buffer.from('OggS sound')
  await upload(picture, { title: 'Dot', visibility: 'public' })
  await upload(sound, { title: 'Beep', visibility: 'public' })
  await upload(picture, { title: 'Hidden' })
  await upload(zip([{ name: 'a.gif', bytes: picture }]), { title: 'Kit', visibility: 'public' })
  const headers = { host: platform.gameHost((await platform.game(owner, { title: 'Pong' })).slug) }
  // The second request is answered by the fast path.
  for (const time of ['first', 'second']) {
    const [dot, beep] = [
      await ask('/__service/assets/dot.gif', { headers }),
      await ask('/__service/assets/beep.ogg', { headers }),
    ]
    t.match(
      [dot, beep],
      [
        { status: 200, headers: { ...CORS, 'content-type': 'image/gif' } },
        { status: 200, headers: { ...CORS, 'content-type': 'audio/ogg' } },
      ],
      time,
    )
    t.same([dot.body, beep.body], [picture, sound])
    for (const name of [
      'dot.png',
      'dot.glb',
      'dot',
      'dot.gif.gif',
      'hidden.gif',
      'kit.zip',
      'kit.null',
      'kit.gif',
      'none.gif',
    ])
      t.equal((await ask(`/__service/assets/${name}`, { headers })).status, 404, name)
  }
})

t.test('a pack is a ZIP that the usual tools unpack, always the same, and each of its files', async (t) => {
  const { ask, upload, platform, owner } = await startAssets(t)
  const model = await sheet(6)
  const contents: Record<string, Buffer> = {
    'models/crate.glb': model,
    'readme.txt': Buffer.from('Crates.\n'),
    'empty.bin': Buffer.alloc(0),
    'trap.html': Buffer.from('<script>alert(1)</script>'),
    'models/größe.txt': Buffer.from('umlaut'),
  }
  const archive = zip([
    ...Object.entries(contents).map(([path, data]) => ({ name: `pack/${path}`, bytes: data })),
    { name: '__MACOSX/._pack', bytes: Buffer.from('litter') },
  ])
  const { body: pack, status } = await upload(archive, { title: 'Crates', visibility: 'public' }, 'crates.zip')
  t.equal(status, 201, JSON.stringify(pack))
  t.match(pack, { kind: 'pack', variants: { source: { triangles: 72 } } })
  t.same(
    pack.files.map(({ path }: { path: string }) => path),
    Object.keys(contents).sort(),
  )
  const whole = await ask('/api/assets/crates/file')
  t.match(whole, {
    status: 200,
    headers: {
      ...CORS,
      'content-type': 'application/zip',
      'cache-control': 'public, max-age=86400',
      'content-length': String(pack.variants.source.size),
      'x-service-variant': 'source',
    },
  })
  t.ok((await ask('/api/assets/crates/file?variant=lod')).body.equals(whole.body), 'byte for byte')
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-pack-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'pack.zip'), whole.body)
  const listed = execFileSync('python3', ['-c', CHECK_ZIP, join(folder, 'pack.zip')]).toString()
  t.same(JSON.parse(listed), Object.fromEntries(Object.entries(contents).map(([path, { length }]) => [path, length])))
  for (const range of ['bytes=0-99', 'bytes=30-1000', 'bytes=-60', `bytes=${pack.variants.source.size - 1}-`]) {
    const part = await ask('/api/assets/crates/file', { headers: { range } })
    t.equal(part.status, 206, range)
    const [, start, end] = /(\d+)-(\d+)/.exec(part.headers['content-range'] ?? '') ?? []
    t.ok(part.body.equals(whole.body.subarray(Number(start), Number(end) + 1)), range)
  }
  const etag = whole.headers.etag as string
  t.equal((await ask('/api/assets/crates/file', { headers: { 'if-none-match': etag } })).status, 304)
  for (const [path, data] of Object.entries(contents)) {
    const file = await ask(`/api/assets/crates/file?path=${encodeURIComponent(path)}`)
    t.equal(file.status, 200, path)
    t.ok(file.body.equals(data), path)
  }
  t.match(await ask('/api/assets/crates/file?path=trap.html'), {
    headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment; filename="trap.html"' },
  })
  for (const path of ['nothing', '../models/crate.glb', '/etc/passwd', 'models', 'MODELS/crate.glb']) {
    t.equal((await ask(`/api/assets/crates/file?path=${encodeURIComponent(path)}`)).status, 404, path)
  }
  await platform.app.assets.changes.curate('crates', true)
  for (const query of ['', '?path=readme.txt']) {
    const { headers } = await ask(`/api/assets/crates/file${query}`)
    t.equal(headers['cache-control'], 'public, max-age=31536000, immutable', 'a curated one is kept for good')
  }
  for (const [method, path] of [
    ['DELETE', ''],
    ['POST', '/unpublish'],
  ] as const) {
    const refused = await ask(`/api/assets/crates${path}`, { as: 'owner', method })
    t.match(refused.json(), { error: { code: 'asset_curated' } }, `${method} ${path}: games count on it`)
  }
  t.ok(owner.id)
})

const CHECK_ZIP = `
import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
assert all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
print(json.dumps({entry.filename: entry.file_size for entry in archive.infolist()}))`

t.test('what is deleted is gone, and its address is nobody else’s', async (t) => {
  const { ask, upload, platform } = await startAssets(t)
  const { body: asset } = await upload(await sheet(4), { title: 'Rock', visibility: 'public' })
  const moved = await ask(`/api/assets/${asset.id}`, {
    as: 'owner',
    method: 'PATCH',
    body: Buffer.from(JSON.stringify({ slug: 'stone' })),
    headers: { 'content-type': 'application/json', 'content-length': '16' },
  })
  t.match(moved.json(), { slug: 'stone' })
  t.match((await ask('/api/assets/rock')).json(), { id: asset.id }, 'its former address leads to it')
  t.equal((await ask('/api/assets/stone', { as: 'other', method: 'DELETE' })).status, 404)
  // A file that the preparation has just stored would go only when it notices that the model is gone.
  await untilPrepared(platform, asset.id)
  t.equal((await ask('/api/assets/stone', { as: 'owner', method: 'DELETE' })).status, 204)
  for (const name of ['rock', 'stone', asset.id]) t.equal((await ask(`/api/assets/${name}/file`)).status, 404, name)
  const left: string[] = []
  for await (const { key } of platform.app.storage.list('assets/')) left.push(key)
  t.same(left, [], 'nothing of it is stored')
  const stranger = await platform.signUp()
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-rock-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'rock.glb'), await sheet(4))
  const file = { path: join(folder, 'rock.glb'), name: 'rock.glb' }
  t.equal((await platform.app.assets.create(stranger.id, { title: 'Rock' }, file)).slug, 'rock-2')
})

t.test('a client that went away while the storage was asked leaves nothing open', async (t) => {
  const streams: Readable[] = []
  const blobs = {
    file: async () => null,
    open: async () => {
      streams.push(Readable.from([Buffer.alloc(300_000)], { objectMode: false }))
      return streams.at(-1) as Readable
    },
  }
  const delivery = new Delivery({ blobs, log: createLog('silent') })
  const file = {
    path: 'a.bin',
    size: 300_000,
    sha256: 'a'.repeat(64),
    contentType: 'application/octet-stream',
    crc32: 1,
  }
  const files = [file, { ...file, path: 'b.bin' }, { ...file, path: 'c.bin' }]
  const asset = { id: 'ast_1', slug: 'pack', kind: 'pack', visibility: 'public', files } as unknown as AssetRecord
  const audience = { door: 'studio', shared: true } as const
  const gone = () => {
    const request = new IncomingMessage(new Socket())
    request.method = 'GET'
    const raw = new ServerResponse(request)
    raw.destroy()
    return [request, { raw, hijack: () => {} }] as const
  }
  const piece = { ...file, name: 'a.bin', variant: 'source' } as const
  await delivery.send(...gone(), { asset, piece, audience })
  await delivery.sendZip(...gone(), { asset, audience })
  t.same(
    streams.map(({ destroyed }) => destroyed),
    [true, true, true],
    'the file, and of the archive its first and the one opened ahead',
  )
})
