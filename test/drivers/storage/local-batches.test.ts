import { createHash, randomBytes } from 'node:crypto'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import local from '../../../drivers/storage/local.ts'
import { LocalBatches } from '../../../drivers/storage/local-batches.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { until } from '../../kit/until.ts'

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const blobsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => {
    const bytes = randomBytes(2000)
    return { key: `many/${index % 7}/${index}`, bytes, sha256: sha256(bytes) }
  })

async function folder(t: Test): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gameyard-batches-'))
  t.teardown(() => rm(dataDir, { recursive: true }))
  return dataDir
}

const open = (dataDir: string) => local.create({ path: 'blobs', reserveBytes: 0 }, driverContext({ dataDir }))

t.test('what a power cut takes of acknowledged blobs is restored at the next start', async (t) => {
  const dataDir = await folder(t)
  const storage = await open(dataDir)
  const blobs = blobsOf(100)
  await storage.putAll?.(blobs)
  await storage.close()
  const root = join(dataDir, 'blobs')
  const [journal] = await readdir(join(root, '~journals'))
  t.ok(journal, 'the journal is kept until the blobs are durable')
  // File systems lose whole files, their last bytes, or only their content.
  await rm(join(root, 'many/0'), { recursive: true })
  await truncate(join(root, 'many/1/1'), 700)
  await writeFile(join(root, 'many/2/2'), Buffer.alloc(2000))
  const again = await open(dataDir)
  t.teardown(() => again.close())
  for (const { key, bytes } of blobs) if (!bytes.equals(await readFile(join(root, key)))) t.fail(`${key} was lost`)
  t.same(await readdir(join(root, '~journals')), [])
  t.equal((await Array.fromAsync(again.list(''))).length, blobs.length, 'nothing else is listed')
})

t.test('incomplete files of a process that died are removed at the next start', async (t) => {
  const dataDir = await folder(t)
  const storage = await open(dataDir)
  const blobs = blobsOf(20)
  await storage.putAll?.(blobs)
  await storage.close()
  const root = join(dataDir, 'blobs')
  const [journal] = await readdir(join(root, '~journals'))
  // The process died before it renamed the twelfth file.
  const { key } = blobs[11] as (typeof blobs)[number]
  const incomplete = join(root, dirname(key), `~${journal}-11`)
  await rm(join(root, key))
  await writeFile(incomplete, 'half a')
  const names = async () => (await readdir(root, { recursive: true })).filter((name) => /~.*-\d+$/.test(name))
  t.equal((await names()).length, 1)
  t.equal((await Array.fromAsync((await open(dataDir)).list(''))).length, blobs.length)
  t.same(await names(), [])
})

t.test('a batch of small and large blobs is stored, also where a folder has been removed', async (t) => {
  const dataDir = await folder(t)
  const storage = await open(dataDir)
  t.teardown(() => storage.close())
  await storage.putAll?.(blobsOf(20))
  await rm(join(dataDir, 'blobs/many'), { recursive: true })
  const blobs = [10, 70_000, 2000, 900_000].map((size, index) => {
    const bytes = randomBytes(size)
    return { key: `many/3/${index}`, bytes, sha256: sha256(bytes) }
  })
  await storage.putAll?.(blobs)
  for (const { key, bytes } of blobs) t.ok(bytes.equals(await readFile(join(dataDir, 'blobs', key))), key)
  for (const { key, bytes } of blobs) {
    const other = bytes.subarray(1)
    await t.rejects(storage.putAll?.([{ key, bytes: other, sha256: sha256(other) }]) as Promise<void>, {
      code: 'digest_mismatch',
    })
  }
})

t.test('a damaged journal restores what it can, and does not prevent the start', async (t) => {
  const dataDir = await folder(t)
  const storage = await open(dataDir)
  const blobs = blobsOf(3)
  await storage.putAll?.(blobs)
  await storage.close()
  const root = join(dataDir, 'blobs')
  const journal = join(root, '~journals', (await readdir(join(root, '~journals')))[0] as string)
  await rm(join(root, 'many'), { recursive: true })
  const bytes = await readFile(journal)
  bytes.writeUInt8(bytes.readUInt8(500) ^ 1, 500)
  await writeFile(journal, bytes.subarray(0, bytes.length - 10))
  await appendFile(join(root, '~journals', 'foreign'), 'not a journal')
  const again = await open(dataDir)
  t.teardown(() => again.close())
  t.same(
    (await Array.fromAsync(again.list(''))).map(({ key }) => key),
    [blobs[1]?.key],
  )
})

t.test('a journal goes once its blobs are durable by themselves', async (t) => {
  const root = join(await folder(t), 'blobs')
  const folders = { journals: join(root, '~journals'), incoming: join(root, '~incoming') }
  for (const path of Object.values(folders)) await mkdir(path, { recursive: true })
  const pathOf = (key: string) => join(root, key)
  const makeFolders = async (key: string) => {
    await mkdir(dirname(pathOf(key)), { recursive: true })
    return [root]
  }
  const batches = new LocalBatches({ ...folders, pathOf, makeFolders }, pino({ level: 'silent' }), 1)
  for (let times = 0; times < 3; times++) await batches.store(blobsOf(20))
  await until(async () => (await readdir(folders.journals)).length === 0)
  await batches.close()
  t.equal((await readdir(root, { recursive: true })).filter((name) => /\d\/\d+$/.test(name)).length, 20)
})
