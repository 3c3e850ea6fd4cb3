import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { type Storage, StorageUnavailable } from '../../drivers/storage/interface.ts'
import local from '../../drivers/storage/local.ts'
import { driverContext } from './driver-context.ts'
import { type Fault, faultyStorage } from './fault-storage.ts'

const pieces = ['the first piece ', 'and the second']
const bytes = pieces.join('')
const expected = { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
const body = () => Readable.from(pieces.map((piece) => Buffer.from(piece)))

/** Creates a real storage on disk with one blob, `there`, and wraps it with a fault. */
async function setUp(t: Test, fault: Fault) {
  const dataDir = await mkdtemp(join(tmpdir(), 'gameyard-fault-'))
  t.teardown(() => rm(dataDir, { recursive: true }))
  const inner = await local.create({ path: 'blobs', reserveBytes: 0 }, driverContext({ dataDir }))
  await inner.put('there', body(), expected)
  return { inner, storage: faultyStorage(inner, fault) }
}

const presign = { expiresAt: new Date(Date.now() + 60_000), relay: 'http://localhost/relay' }
const operations: Record<string, (storage: Storage) => Promise<unknown>> = {
  put: (storage) => storage.put('new', body(), expected),
  get: async (storage) => text(await storage.get('there')),
  copy: (storage) => storage.copy('there', 'new', expected),
  head: (storage) => storage.head('there'),
  delete: (storage) => storage.delete('there'),
  list: (storage) => Array.fromAsync(storage.list('')),
  presignPut: (storage) => storage.presignPut('new', expected, presign),
  commitPut: (storage) => storage.commitPut('there', expected),
  ping: (storage) => storage.ping(),
}
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error) => error,
  )

for (const mode of ['before', 'after', 'mid-stream'] as const)
  t.test(`every operation can fail ${mode}, once`, async (t) => {
    for (const [name, operation] of Object.entries(operations)) {
      const { storage } = await setUp(t, { failOn: 2, mode })
      await storage.ping()
      t.ok((await errorOf(operation(storage))) instanceof StorageUnavailable, name)
      t.equal(storage.operations, 2)
      await operation(storage)
      t.equal(storage.operations, 3, `${name} works again`)
    }
  })

t.test('before means without effect, after means with it', async (t) => {
  for (const [mode, size] of [
    ['before', null],
    ['mid-stream', null],
    ['after', { size: bytes.length }],
  ] as const) {
    const { inner, storage } = await setUp(t, { failOn: 1, mode })
    await errorOf(storage.put('new', body(), expected))
    t.same(await inner.head('new'), size, mode)
  }
})

t.test('a get that breaks off gives its first piece', async (t) => {
  const { storage } = await setUp(t, { failOn: 1, mode: 'mid-stream' })
  const stream = await storage.get('there')
  let seen = ''
  const error = await errorOf(
    (async () => {
      for await (const chunk of stream) seen += chunk
    })(),
  )
  t.ok(error instanceof StorageUnavailable)
  t.ok(bytes.startsWith(seen) && seen.length > 0)
})

t.test('the error can be another one', async (t) => {
  const { storage } = await setUp(t, { failOn: 1, error: new Error('on fire') })
  await t.rejects(storage.head('there'), { message: 'on fire' })
})
