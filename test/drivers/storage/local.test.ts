// In a process of its own: it measures how much memory this one takes.
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { StorageFull } from '../../../core/errors.ts'
import { testStorageDriver } from '../../../drivers/storage/conformance.ts'
import { InvalidKey, StorageUnavailable } from '../../../drivers/storage/interface.ts'
import local from '../../../drivers/storage/local.ts'
import { driverContext, manualClock } from '../../kit/driver-context.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'gameyard-local-'))
t.teardown(() => rm(dataDir, { recursive: true }))

let count = 0
const nextPath = () => `blobs${count++}`
const create = (path = nextPath(), overrides = {}) =>
  local.create({ path, reserveBytes: 0 }, driverContext({ dataDir, ...overrides }))
const expectedOf = (bytes: Buffer) => ({ sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length })
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error) => error,
  )
const bytes = Buffer.from('some bytes')
const put = (storage: Awaited<ReturnType<typeof create>>, key: string, content = bytes) =>
  storage.put(key, Readable.from([content]), expectedOf(content))

await testStorageDriver({ name: 'local', create })

t.test('a refused or broken upload leaves no file', async (t) => {
  const path = nextPath()
  const storage = await create(path)
  await errorOf(storage.put('a', Readable.from([bytes]), { ...expectedOf(bytes), size: 3 }))
  await errorOf(storage.put('a', Readable.from([bytes]), expectedOf(Buffer.from('others'))))
  await put(storage, 'b/c')
  await put(storage, 'b/c')
  t.same((await readdir(join(dataDir, path), { recursive: true })).sort(), ['b', 'b/c', '~incoming', '~journals'])
})

t.test('abandoned uploads go at the next start once they are a day old', async (t) => {
  const path = nextPath()
  const clock = manualClock()
  await create(path, { clock })
  const incoming = join(dataDir, path, '~incoming')
  for (const [name, hours] of [
    ['old', 25],
    ['young', 23],
  ] as const) {
    await writeFile(join(incoming, name), 'half an upl')
    await utimes(join(incoming, name), clock.now(), new Date(clock.now().getTime() - hours * 3_600_000))
  }
  await create(path, { clock })
  t.same(await readdir(incoming), ['young'])
})

t.test('symbolic links are not followed', async (t) => {
  const path = nextPath()
  const storage = await create(path)
  const root = join(dataDir, path)
  const outside = join(dataDir, `outside-${path}`)
  await mkdir(outside)
  await writeFile(join(outside, 'secret'), 'secret')
  await symlink(outside, join(root, 'folder'))
  await symlink(join(outside, 'secret'), join(root, 'file'))

  for (const key of ['folder/secret', 'file']) {
    t.equal(await storage.head(key), null)
    t.match(await errorOf(storage.get(key)), { statusCode: 404 })
    await storage.delete(key)
  }
  t.same(await Array.fromAsync(storage.list('')), [])
  t.same(await Array.fromAsync(storage.list('folder/')), [])
  t.ok((await errorOf(put(storage, 'folder/new'))) instanceof InvalidKey)
  t.same(await readdir(outside), ['secret'])
})

t.test('a folder that is a link itself is the choice of whoever made it', async (t) => {
  const [path, real] = [nextPath(), join(dataDir, 'elsewhere')]
  await mkdir(real)
  await symlink(real, join(dataDir, path))
  const storage = await create(path)
  await put(storage, 'a/b')
  t.same(await storage.head('a/b'), { size: bytes.length })
})

t.test('a key that is the folder of another is refused', async (t) => {
  const storage = await create()
  await put(storage, 'a/b')
  t.ok((await errorOf(put(storage, 'a'))) instanceof InvalidKey)
  t.ok((await errorOf(put(storage, 'a/b/c'))) instanceof InvalidKey)
  t.equal(await storage.head('a'), null)
  t.equal(await storage.head('a/b/c'), null)
  await storage.delete('a')
  t.same(await storage.head('a/b'), { size: bytes.length })
})

t.test('a blob that nobody reads to its end does no harm', async (t) => {
  const storage = await create()
  await put(storage, 'a', randomBytes(1_000_000))
  for (let i = 0; i < 20; i++) await storage.get('a')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  for (let i = 0; i < 5; i++) {
    collect()
    await sleep(10)
  }
  t.same(await storage.head('a'), { size: 1_000_000 })
})

t.test('a folder that is gone makes the storage unavailable', async (t) => {
  const path = nextPath()
  const storage = await create(path)
  await rm(join(dataDir, path), { recursive: true })
  t.ok((await errorOf(storage.ping())) instanceof StorageUnavailable)
  t.ok((await errorOf(put(storage, 'a'))) instanceof StorageUnavailable)
})

t.test('a folder that cannot be made stops the start with a sentence', async (t) => {
  const path = nextPath()
  await writeFile(join(dataDir, path), 'a file')
  await t.rejects(create(path), { name: 'StartupError', message: /storage folder .* can't be used/ })
})

const run = promisify(execFile)
const disk = join(dataDir, 'disk')
await mkdir(disk)
const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).then(
  () => true,
  () => false,
)
if (mounted) t.teardown(() => run('umount', [disk]))

t.test(
  'a full disk refuses a blob and keeps nothing of it',
  {
    skip: !mounted && 'mounting a small file system takes a privilege that is missing here',
  },
  async (t) => {
    const storage = await local.create({ path: 'blobs', reserveBytes: 0 }, driverContext({ dataDir: disk }))
    await put(storage, 'small', randomBytes(100_000))
    const error = await errorOf(put(storage, 'large', randomBytes(2_000_000)))
    t.ok(error instanceof StorageFull, { found: error })
    t.equal(await storage.head('large'), null)
    t.same(await readdir(join(disk, 'blobs', '~incoming')), [])
    await put(storage, 'also-small', randomBytes(100_000))
    t.same(
      (await Array.fromAsync(storage.list(''))).map(({ key }) => key),
      ['also-small', 'small'],
    )
  },
)
