import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { BlobNotFound, DigestMismatch, type Storage } from '../interface.ts'
import { expectedOf, keys, MiB, read, rejectsWith, stored, unique } from './kit.ts'

/** Tests reading of whole blobs, ranges and lists. */
export async function testBlobs(t: Test, storage: Storage, ordersKeys: boolean): Promise<void> {
  await t.test('a blob comes back as it was stored', async (t) => {
    const { key, bytes } = await stored(storage, randomBytes(100_000))
    t.ok(bytes.equals(await read(storage, key)))
    t.same(await storage.head(key), { size: bytes.length })
  })

  await t.test(
    'many blobs are stored at once',
    { skip: !storage.putAll && 'the driver stores them one by one' },
    async (t) => {
      const base = unique()
      const { key: existing, bytes: before } = await stored(storage, Buffer.from('is there'), `${base}/a/0`)
      const blobs = [before, Buffer.alloc(0), ...Array.from({ length: 300 }, () => randomBytes(3000))].map(
        (bytes, index) => ({ key: `${base}/${'abc'[index % 3]}/${index}`, bytes, sha256: expectedOf(bytes).sha256 }),
      )
      for (let times = 0; times < 2; times++) await storage.putAll?.(blobs)
      for (const { key, bytes } of blobs) if (!bytes.equals(await read(storage, key))) t.fail(`${key} has other bytes`)
      t.equal((await keys(storage, `${base}/`)).length, blobs.length)
      const longer = { key: existing, bytes: Buffer.from('is longer'), sha256: '' }
      await rejectsWith(t, storage.putAll?.([longer]) as Promise<void>, DigestMismatch)
      t.equal(String(await read(storage, existing)), 'is there')
    },
  )

  await t.test('an empty blob is a blob', async (t) => {
    const { key } = await stored(storage, Buffer.alloc(0))
    t.same(await storage.head(key), { size: 0 })
    t.equal((await read(storage, key)).length, 0)
  })

  await t.test('a blob of 20 MiB comes back as it was stored', async (t) => {
    const { key, bytes } = await stored(storage, randomBytes(20 * MiB))
    t.ok(bytes.equals(await read(storage, key)))
    await storage.delete(key)
  })

  await t.test('a key may have every allowed character and 512 bytes', async (t) => {
    for (const key of [`${unique()}/A-z_0.9`, `${unique()}/${'d/'.repeat(150)}`.padEnd(512, 'x')]) {
      const { bytes } = await stored(storage, randomBytes(10), key)
      t.ok(bytes.equals(await read(storage, key)))
    }
  })

  await t.test('a range gives its bytes, both ends included', async (t) => {
    const { key } = await stored(storage, Buffer.from('0123456789'))
    for (const [start, end, expected] of [
      [0, 0, '0'],
      [2, 5, '2345'],
      [9, 9, '9'],
      [0, 9, '0123456789'],
      [7, 1000, '789'],
      [10, 20, ''],
    ] as const)
      t.equal(String(await read(storage, key, { start, end })), expected, `bytes ${start} to ${end}`)
  })

  await t.test('what is not there has no head and no bytes', async (t) => {
    const key = unique()
    t.equal(await storage.head(key), null)
    await rejectsWith(t, storage.get(key), BlobNotFound)
    await rejectsWith(t, storage.get(key, { start: 0, end: 1 }), BlobNotFound)
  })

  await t.test('a deleted blob is gone, and deleting it again is no error', async (t) => {
    const { key } = await stored(storage, Buffer.from('short-lived'))
    await storage.delete(key)
    t.equal(await storage.head(key), null)
    await rejectsWith(t, storage.get(key), BlobNotFound)
    await storage.delete(key)
    await stored(storage, Buffer.from('here again'), key)
    t.equal(String(await read(storage, key)), 'here again')
  })

  await t.test('a copy is a blob of its own, and leaves a blob that is there alone', async (t) => {
    const bytes = randomBytes(100_000)
    const { key } = await stored(storage, bytes)
    const to = unique()
    for (let times = 0; times < 2; times++) await storage.copy(key, to, expectedOf(bytes))
    await storage.delete(key)
    t.ok(bytes.equals(await read(storage, to)))
    const { key: other } = await stored(storage, randomBytes(10))
    await rejectsWith(t, storage.copy(other, to, { ...expectedOf(bytes), size: 10 }), DigestMismatch)
    await rejectsWith(t, storage.copy(to, unique(), { ...expectedOf(bytes), size: 10 }), DigestMismatch)
    t.ok(bytes.equals(await read(storage, to)))
  })

  await t.test('what is not there is not copied', async (t) => {
    const to = unique()
    await rejectsWith(t, storage.copy(unique(), to, expectedOf(Buffer.from('x'))), BlobNotFound)
    t.equal(await storage.head(to), null)
  })

  await t.test('copies of one blob to one key at once leave one whole blob', async (t) => {
    const { key, bytes } = await stored(storage, randomBytes(300_000))
    const to = unique()
    await Promise.all(Array.from({ length: 4 }, () => storage.copy(key, to, expectedOf(bytes))))
    t.ok(bytes.equals(await read(storage, to)))
  })

  await t.test('keys are listed in byte order, with size and time', async (t) => {
    const base = unique()
    const names = ['a/b', 'a-b', 'a.b', 'B', 'a0', 'a/c/d', 'b', 'a/B', '_', 'a/c-', '0/1/2/3']
    for (const name of names) await stored(storage, Buffer.from(name), `${base}/${name}`)
    const blobs = await Array.fromAsync(storage.list(`${base}/`))
    if (!ordersKeys) blobs.sort((a, b) => (a.key < b.key ? -1 : 1))
    t.same(
      blobs.map(({ key, size }) => ({ key, size })),
      [...names].sort().map((name) => ({ key: `${base}/${name}`, size: name.length })),
    )
    for (const { modifiedAt } of blobs) t.ok(Math.abs(modifiedAt.getTime() - Date.now()) < 120_000)
    t.ok((await keys(storage, '')).includes(`${base}/B`), 'the empty prefix lists everything')
  })

  await t.test('a prefix may end anywhere', async (t) => {
    const base = unique()
    for (const name of ['ab/c', 'ab/cd', 'abc', 'b']) await stored(storage, Buffer.from(name), `${base}/${name}`)
    t.same(await keys(storage, `${base}/ab`), [`${base}/ab/c`, `${base}/ab/cd`, `${base}/abc`])
    t.same(await keys(storage, `${base}/ab/`), [`${base}/ab/c`, `${base}/ab/cd`])
    t.same(await keys(storage, `${base}/ab/c`), [`${base}/ab/c`, `${base}/ab/cd`])
    t.same(await keys(storage, `${base}/x/y`), [])
  })
}
