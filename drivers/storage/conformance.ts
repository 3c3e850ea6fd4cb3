import { createHash } from 'node:crypto'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { DriverContext } from '../../core/driver.ts'
import { testBlobs } from './conformance/blobs.ts'
import { chunked, expectedOf, keys, rejectsWith } from './conformance/kit.ts'
import { testMemory } from './conformance/memory.ts'
import { testPresigned } from './conformance/presigned.ts'
import { testRefusals } from './conformance/refusals.ts'
import { type Storage, StorageUnavailable } from './interface.ts'

/** The facts about a driver that the suite needs. */
export interface StorageSuite {
  /** Prefix of the name of every test. */
  name: string
  /** Opens an empty storage. It is called twice, the second time for the test of `close`. */
  create(): Promise<Storage>
  /** Removes what `create` made, after the storage is closed. */
  destroy?(storage: Storage): Promise<void>
  /** Missing abilities of the driver or its test server. By default everything is expected. */
  supports?: {
    /** false: accepts presigned requests with a wrong signature, after their expiry, or with another size. */
    verifiesSignatures?: boolean
    /** false: a copy removes its target for a moment, or permanently if the source disappears meanwhile. */
    copiesAtomically?: boolean
    /** false: `list` returns every key, but in another order. */
    ordersKeys?: boolean
    /** false: buffers whole blobs in memory. */
    streams?: boolean
  }
}

/**
 * The contract of `Storage`, one test for each promise. Built-in and external drivers pass the same suite:
 *
 *     import { testContext, testStorageDriver } from 'gameyard/drivers/storage/conformance'
 *     testStorageDriver({ name: 'mine', create: () => mine.create({ … }, testContext(folder)) })
 *
 * It runs on tap, so `tap` must be among the driver's own development dependencies.
 */
export function testStorageDriver({ name, create, destroy, supports = {} }: StorageSuite): Promise<unknown> {
  const { ordersKeys = true, streams = true } = supports
  return t.test(`${name} storage`, async (t) => {
    const storage = await create()
    t.teardown(async () => {
      await storage.close()
      await destroy?.(storage)
    })
    await t.test('blobs', (t) => testBlobs(t, storage, ordersKeys))
    await t.test('refusals', (t) => testRefusals(t, storage))
    await t.test('streams', { skip: !streams && 'the driver keeps blobs in memory' }, (t) => testMemory(t, storage))
    await t.test('presigned uploads', (t) => testPresigned(t, storage, supports))
    await t.test('life', async (t) => testLife(t, storage, await create(), destroy))
  })
}

/** A context like that of the kernel, with the real clock and a silent log. */
export function testContext(dataDir: string): DriverContext {
  return {
    dataDir,
    portalUrl: 'http://localhost:8080',
    clock: { now: () => new Date() },
    log: pino({ level: 'silent' }),
    secret: (purpose) => createHash('sha256').update(`a secret for tests: ${purpose}`).digest(),
  }
}

async function testLife(t: Test, storage: Storage, other: Storage, destroy: StorageSuite['destroy']): Promise<void> {
  await t.test('ping answers while the storage is there', async () => storage.ping())

  await t.test('after close every method says that the storage does not answer', async (t) => {
    t.teardown(() => destroy?.(other))
    await other.close()
    const bytes = Buffer.from('late')
    const presign = { expiresAt: new Date(Date.now() + 60_000), relay: 'http://localhost/relay' }
    await rejectsWith(t, other.put('late', chunked(bytes), expectedOf(bytes)), StorageUnavailable, 'put')
    await rejectsWith(t, other.get('late'), StorageUnavailable, 'get')
    await rejectsWith(t, other.head('late'), StorageUnavailable, 'head')
    await rejectsWith(t, other.delete('late'), StorageUnavailable, 'delete')
    await rejectsWith(t, keys(other, ''), StorageUnavailable, 'list')
    await rejectsWith(t, other.presignPut('late', expectedOf(bytes), presign), StorageUnavailable, 'presignPut')
    await rejectsWith(t, other.commitPut('late', expectedOf(bytes)), StorageUnavailable, 'commitPut')
    await rejectsWith(t, other.ping(), StorageUnavailable, 'ping')
  })
}
