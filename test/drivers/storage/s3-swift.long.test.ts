import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3'
import t from 'tap'
import { testStorageDriver } from '../../../drivers/storage/conformance.ts'
import { DigestMismatch } from '../../../drivers/storage/interface.ts'
import s3 from '../../../drivers/storage/s3.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { startSwift, swiftMissing } from '../../kit/swift.ts'
import { startProxy } from './proxy.ts'

const missing = swiftMissing()
if (missing && process.env.CI === 'true') t.fail(missing)
else if (missing) t.pass('a server that checks signatures', { skip: missing })
else {
  const swift = await startSwift()
  t.teardown(swift.stop)

  let count = 0
  const config = async (extra = {}) => {
    const { createBucket, stop, ...access } = swift
    const bucket = `blobs-${count++}`
    await createBucket(bucket)
    return { ...access, bucket, prefix: '', forcePathStyle: true, ...extra }
  }

  // Unlike the server of s3.test.ts, this one checks signatures.
  const create = async () => s3.create(await config({ prefix: 'yard/' }), driverContext())
  await testStorageDriver({ name: 's3 (Swift)', create })

  t.test('wrong credentials stop the start with a sentence', async (t) => {
    const context = driverContext()
    await t.rejects(s3.create(await config({ secretAccessKey: 'wrong' }), context), {
      message: /refuses the credentials/,
    })
    await t.rejects(s3.create({ ...(await config()), bucket: 'nowhere' }, context), {
      message: /There is no bucket nowhere/,
    })
  })

  t.test('clients upload to an address of their own', async (t) => {
    const asked: string[] = []
    const proxy = await startProxy(swift.endpoint, { before: async ({ method }) => void asked.push(method ?? '') })
    t.teardown(proxy.close)
    const storage = await s3.create(await config({ publicEndpoint: proxy.address }), driverContext())
    t.teardown(() => storage.close())
    const bytes = Buffer.from('bytes from outside')
    const expected = { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
    const expiresAt = new Date(Date.now() + 60_000)
    const { url, method, headers } = await storage.presignPut('k', expected, { expiresAt, relay: '' })
    t.equal(new URL(url).origin, proxy.address)
    t.equal((await fetch(url, { method, headers, body: bytes })).status, 200, 'signed for that address')
    await storage.commitPut('k', expected)
    t.match(await storage.head('k'), { size: bytes.length })
    t.same(asked, ['PUT'], 'all else goes straight to the server')
  })

  t.test('an upload that is exchanged between check and copy does not become a blob', async (t) => {
    let send = async (_text: string) => {}
    let copies = 0
    const proxy = await startProxy(swift.endpoint, {
      async before({ headers }) {
        if (!headers['x-amz-copy-source']) return
        copies += 1
        await send('bytes of a stranger')
      },
    })
    t.teardown(proxy.close)
    const storage = await s3.create(await config({ endpoint: proxy.address }), driverContext())
    t.teardown(() => storage.close())
    const bytes = Buffer.from('the announced bytes')
    const expected = { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
    const { url, method, headers } = await storage.presignPut('k', expected, {
      expiresAt: new Date(Date.now() + 60_000),
      relay: '',
    })
    send = async (text) => {
      t.equal((await fetch(url, { method, headers, body: text })).status, 200)
    }
    await send('the announced bytes')
    const error = await storage.commitPut('k', expected).catch((error) => error)
    t.ok(error instanceof DigestMismatch, { found: error })
    t.equal(copies, 1)
    t.equal(await storage.head('k'), null)
  })

  t.test('a large body that is refused leaves no parts behind', async (t) => {
    const settings = await config()
    const storage = await s3.create(settings, driverContext())
    t.teardown(() => storage.close())
    const bytes = randomBytes(20 * 1024 * 1024)
    const expected = { sha256: '0'.repeat(64), size: bytes.length }
    await t.rejects(storage.put('large', Readable.from([bytes]), expected))
    const { endpoint, region, ...credentials } = swift
    const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true })
    t.teardown(() => client.destroy())
    await client.send(new CreateMultipartUploadCommand({ Bucket: settings.bucket, Key: 'under way' }))
    const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: settings.bucket }))
    t.same(
      Uploads?.map(({ Key }) => Key),
      ['under way'],
    )
  })
}
