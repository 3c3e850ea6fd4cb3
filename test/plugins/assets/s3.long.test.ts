// Tests assets on an S3 server that checks signatures: fetched once, then served from the local copy.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startSwift, swiftMissing } from '../../kit/swift.ts'
import { until } from '../../kit/until.ts'
import { zip } from '../deploy/zip-writer.ts'
import { startAssets } from './kit.ts'
import { sheet } from './models.ts'

const missing = swiftMissing()
const options = missing && process.env.CI !== 'true' ? { skip: missing } : {}

t.test('what a remote storage holds is fetched once', options, async (t) => {
  if (missing) throw new Error(missing)
  const swift = await startSwift()
  t.teardown(() => swift.stop())
  await swift.createBucket('assets')
  const { endpoint, region, accessKeyId, secretAccessKey } = swift
  const account = { endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true }
  const { ask, upload, platform } = await startAssets(t, {
    config: { storage: { driver: 's3', bucket: 'assets', ...account } },
  })
  const { storage, assets } = platform.app
  const model = await sheet(120)
  t.ok(model.length > 256 * 1024, 'more than is kept in memory')
  await upload(model, { title: 'Sea', visibility: 'public' })
  const files = { 'a.bin': Buffer.alloc(300_000, 1), 'b.txt': Buffer.from('hello'), 'c.bin': Buffer.alloc(400_000, 2) }
  const archive = zip(Object.entries(files).map(([name, bytes]) => ({ name, bytes })))
  await upload(archive, { title: 'Pack', visibility: 'public' }, 'pack.zip')

  const source = await ask('/api/assets/sea/file?variant=source')
  t.ok(source.status === 200 && source.body.equals(model))
  const whole = await ask('/api/assets/pack/file')
  t.equal(whole.body.length, Number(whole.headers['content-length']))
  const copies = join(platform.app.config.dataDir, 'cache/assets')
  for (const name of ['sea', 'pack']) {
    const { id, files } = await assets.get(name)
    for (const { sha256 } of files) {
      // A copy is complete shortly after its first reader has all bytes.
      await until(() => existsSync(join(copies, sha256)))
      await storage.delete(`assets/${id}/${sha256}`)
    }
  }
  const again = await ask('/api/assets/sea/file?variant=source', { headers: { range: 'bytes=1000-300999' } })
  t.equal(again.status, 206)
  t.ok(again.body.equals(model.subarray(1000, 301_000)), 'from the copy, though the storage has lost it')
  t.ok((await ask('/api/assets/pack/file')).body.equals(whole.body), 'a pack too')
  const part = await ask('/api/assets/pack/file', { headers: { range: 'bytes=299000-301000' } })
  t.ok(part.body.equals(whole.body.subarray(299_000, 301_001)))
})
