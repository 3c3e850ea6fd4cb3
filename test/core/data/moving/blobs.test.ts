// Blobs between a folder and a bucket.
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { BlobCheckpoint } from '../../../../core/data/moving/blob-checkpoint.ts'
import { type BlobPair, copyBlobs, type MovedStorage, refuseForeignBlobs } from '../../../../core/data/moving/blobs.ts'
import type { Storage } from '../../../../drivers/storage/interface.ts'
import local from '../../../../drivers/storage/local.ts'
import s3 from '../../../../drivers/storage/s3.ts'
import { driverContext } from '../../../kit/driver-context.ts'
import { faultyStorage } from '../../../kit/fault-storage.ts'
import { startBucketServer } from '../../../kit/s3rver.ts'

const server = await startBucketServer(['blobs'])
t.teardown(server.close)

const newFolder = (t: Test) => {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-blobs-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
const inFolder = (dataDir: string) => local.create({ path: 'blobs', reserveBytes: 0 }, driverContext({ dataDir }))
let buckets = 0
const inBucket = () => s3.create({ ...server.access, bucket: 'blobs', prefix: `p${buckets++}/` }, driverContext())

const store = (storage: Storage, key: string, bytes: Buffer) =>
  storage.put(key, Readable.from([bytes], { objectMode: false }), {
    sha256: createHash('sha256').update(bytes).digest('hex'),
    size: bytes.length,
  })

/** Small blobs, an empty one, and one that is not kept in memory. */
async function fill(storage: Storage): Promise<void> {
  for (let number = 0; number < 30; number++)
    await store(storage, `games/${number % 3}/${number}`, randomBytes(number * 7))
  await store(storage, 'media/large', randomBytes(5 * 1024 * 1024))
  await store(storage, 'a-b/c', Buffer.from('a'))
  await store(storage, 'a/c', Buffer.from('b'))
}

const contentsOf = async (storage: Storage) => {
  const found: Record<string, string> = {}
  for await (const { key } of storage.list(''))
    found[key] = createHash('sha256')
      .update(await buffer(await storage.get(key)))
      .digest('hex')
  return found
}

const pairOf = (source: Storage, target: Storage, parts: Partial<BlobPair> = {}): BlobPair => ({
  source,
  target,
  comparedUpTo: '',
  compared() {},
  progress() {},
  ...parts,
})

t.test('blobs are the same in a bucket, and back in a folder', async (t) => {
  const [folder, bucket, back] = [await inFolder(newFolder(t)), await inBucket(), await inFolder(newFolder(t))]
  await fill(folder)
  const before = await contentsOf(folder)
  t.match(await copyBlobs(pairOf(folder, bucket), true), { blobs: 33, copied: 33 })
  t.same(await contentsOf(bucket), before)
  await copyBlobs(pairOf(bucket, back), true)
  t.same(await contentsOf(back), before)
})

t.test('a further pass copies what is new, and the last one deletes what the source no longer has', async (t) => {
  const [source, target] = [await inFolder(newFolder(t)), await inFolder(newFolder(t))]
  await fill(source)
  await copyBlobs(pairOf(source, target), false)
  await source.delete('a/c')
  await store(source, 'a/d', Buffer.from('new'))
  t.match(await copyBlobs(pairOf(source, target), false), { copied: 1 })
  t.ok(await target.head('a/c'))
  await copyBlobs(pairOf(source, target), true)
  t.same(await contentsOf(target), await contentsOf(source))
})

t.test('an interrupted copy goes on, and reads again only what was not compared', async (t) => {
  const folder = newFolder(t)
  const [source, target] = [await inFolder(newFolder(t)), await inFolder(folder)]
  await fill(source)
  const checkpoint = await BlobCheckpoint.open(folder, 'one')
  await t.rejects(
    copyBlobs(
      pairOf(source, faultyStorage(target, { failOn: 40 }), { compared: (key) => checkpoint.reach(key) }),
      false,
    ),
    {
      name: 'MoveError',
      message: /^The target can't be used now \(The storage does not answer\): run the same command/,
    },
  )
  await checkpoint.flush()
  t.equal((await BlobCheckpoint.open(folder, 'other')).resumed, false)
  const again = await BlobCheckpoint.open(folder, 'one')
  t.ok(again.resumed && again.key !== '')
  const read: string[] = []
  const watched: MovedStorage = {
    list: (prefix) => source.list(prefix),
    head: (key) => source.head(key),
    put: (key, body, expected) => source.put(key, body, expected),
    delete: (key) => source.delete(key),
    get(key) {
      read.push(key)
      return source.get(key)
    },
  }
  await copyBlobs({ ...pairOf(source, target, { comparedUpTo: again.key }), source: watched }, false)
  t.ok(read.length > 0 && read.every((key) => key > again.key))
  t.same(await contentsOf(target), await contentsOf(source))
})

t.test('other bytes under the same key are found', async (t) => {
  const folder = newFolder(t)
  const [source, target] = [await inFolder(newFolder(t)), await inFolder(folder)]
  await store(source, 'a/c', Buffer.from('right'))
  await copyBlobs(pairOf(source, target), false)
  writeFileSync(join(folder, 'blobs/a/c'), 'wrong')
  await t.rejects(copyBlobs(pairOf(source, target), true), { name: 'MoveError', message: /a\/c is not the same/ })
  writeFileSync(join(folder, 'blobs/a/c'), 'short')
  rmSync(join(folder, 'blobs/a/c'))
  await copyBlobs(pairOf(source, target), true)
  t.same(await contentsOf(target), await contentsOf(source))
})

t.test('a storage with other blobs is refused', async (t) => {
  const [source, target] = [await inFolder(newFolder(t)), await inBucket()]
  await fill(source)
  await refuseForeignBlobs(source, target)
  await copyBlobs(pairOf(source, target), false)
  await refuseForeignBlobs(source, target)
  await store(target, 'foreign', Buffer.from('x'))
  await t.rejects(refuseForeignBlobs(source, target), { name: 'MoveError', message: /not empty: it has foreign/ })
})
