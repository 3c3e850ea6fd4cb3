import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { DigestMismatch, InvalidKey, type Storage } from '../interface.ts'
import { chunked, expectedOf, keys, MiB, read, rejectsWith, stored, unique } from './kit.ts'

/** Tests the refusal of blobs. */
export async function testRefusals(t: Test, storage: Storage): Promise<void> {
  for (const [what, size] of [
    ['a small body', 1000],
    ['a body of 20 MiB', 20 * MiB],
  ] as const) {
    const bytes = randomBytes(size)
    await t.test(`${what} with another digest, one byte too few or too many leaves nothing`, async (t) => {
      for (const [flaw, expected] of [
        ['another digest', { ...expectedOf(bytes), sha256: expectedOf(Buffer.from('other')).sha256 }],
        ['one byte too few', { ...expectedOf(bytes), size: size + 1 }],
        ['one byte too many', { ...expectedOf(bytes.subarray(0, size - 1)) }],
      ] as const) {
        const key = unique()
        await rejectsWith(t, storage.put(key, chunked(bytes), expected), DigestMismatch, flaw)
        t.equal(await storage.head(key), null, `${flaw}: no head`)
        t.same(await keys(storage, key), [], `${flaw}: not listed`)
      }
    })

    await t.test(`${what} that breaks off leaves nothing, and its error is passed on`, async (t) => {
      const key = unique()
      const broken = Readable.from(
        (async function* () {
          yield* chunked(bytes.subarray(0, size - 10))
          throw new Error('the client went away')
        })(),
        { objectMode: false },
      )
      await t.rejects(storage.put(key, broken, expectedOf(bytes)), { message: 'the client went away' })
      t.equal(await storage.head(key), null)
      t.same(await keys(storage, key), [])
    })

    await t.test(`${what} is not there before it is whole`, async (t) => {
      const key = unique()
      const gate = Promise.withResolvers<void>()
      const slow = Readable.from(
        (async function* () {
          yield* chunked(bytes.subarray(0, size - 1))
          await gate.promise
          yield bytes.subarray(size - 1)
        })(),
        { objectMode: false },
      )
      const put = storage.put(key, slow, expectedOf(bytes))
      await sleep(200)
      t.equal(await storage.head(key), null)
      t.same(await keys(storage, key), [])
      gate.resolve()
      await put
      t.ok(bytes.equals(await read(storage, key)))
      await storage.delete(key)
    })
  }

  await t.test('many puts of one key at once leave one whole blob', async (t) => {
    const key = unique()
    const bytes = randomBytes(300_000)
    await Promise.all(Array.from({ length: 8 }, () => storage.put(key, chunked(bytes), expectedOf(bytes))))
    t.ok(bytes.equals(await read(storage, key)))
    t.same(await keys(storage, key), [key])
  })

  await t.test('a blob that is there stays as it is', async (t) => {
    const { key, bytes } = await stored(storage, Buffer.from('the first'))
    await storage.put(key, chunked(bytes), expectedOf(bytes))
    await rejectsWith(t, storage.put(key, chunked(Buffer.from('a fraud!!')), expectedOf(bytes)), DigestMismatch)
    const other = Buffer.from('something longer')
    await rejectsWith(t, storage.put(key, chunked(other), expectedOf(other)), DigestMismatch)
    t.equal(String(await read(storage, key)), 'the first')
  })

  await t.test('keys of another form are refused by every method', async (t) => {
    const bytes = Buffer.from('no')
    const presign = { expiresAt: new Date(Date.now() + 60_000), relay: 'http://localhost/relay' }
    for (const key of ['', '/a', 'a/', 'a//b', '..', 'a/../b', './a', 'a/.', 'ä', 'a b', 'a\\b', 'a\0', 'a~', '%2e']) {
      const name = JSON.stringify(key)
      await rejectsWith(t, storage.put(key, chunked(bytes), expectedOf(bytes)), InvalidKey, `put ${name}`)
      await rejectsWith(t, storage.get(key), InvalidKey, `get ${name}`)
      await rejectsWith(t, storage.head(key), InvalidKey, `head ${name}`)
      await rejectsWith(t, storage.copy(key, 'b', expectedOf(bytes)), InvalidKey, `copy from ${name}`)
      await rejectsWith(t, storage.copy('b', key, expectedOf(bytes)), InvalidKey, `copy to ${name}`)
      await rejectsWith(t, storage.delete(key), InvalidKey, `delete ${name}`)
      await rejectsWith(t, storage.presignPut(key, expectedOf(bytes), presign), InvalidKey, `presignPut ${name}`)
      await rejectsWith(t, storage.commitPut(key, expectedOf(bytes)), InvalidKey, `commitPut ${name}`)
    }
    await rejectsWith(t, storage.head('x'.repeat(513)), InvalidKey, '513 bytes')
    await rejectsWith(t, storage.head('x'.repeat(256)), InvalidKey, 'a segment of 256 bytes')
    await rejectsWith(t, keys(storage, '../'), InvalidKey, 'list ../')
  })
}
