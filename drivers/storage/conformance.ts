import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { DriverContext } from '../../core/driver.ts'
import { BlobNotFound, DigestMismatch, InvalidKey, type Storage, StorageUnavailable } from './interface.ts'

/** What the suite must know of a driver. */
export interface StorageSuite {
  /** Stands before the name of every test. */
  name: string
  /** Opens an empty storage. Called twice, the second time for the test that closes one. */
  create(): Promise<Storage>
  /** Takes away what `create` made, after the storage was closed. */
  destroy?(storage: Storage): Promise<void>
  /** What the driver, or the server that it is tested with, can't do. Everything is expected by default. */
  supports?: {
    /** false: presigned requests are let through with a wrong signature, too late or with another size. */
    verifiesSignatures?: boolean
    /** false: `list` gives every key, but in another order. */
    ordersKeys?: boolean
    /** false: blobs pass through memory as a whole. */
    streams?: boolean
  }
}

const MiB = 1024 * 1024

/**
 * The promises of `Storage`, one test each. Every driver passes it, ours and a stranger's:
 *
 *     import { testContext, testStorageDriver } from 'gameyard/drivers/storage/conformance'
 *     testStorageDriver({ name: 'mine', create: () => mine.create({ … }, testContext(folder)) })
 *
 * It runs on tap, so `tap` must be among the driver's own development dependencies.
 */
export function testStorageDriver({ name, create, destroy, supports = {} }: StorageSuite): Promise<unknown> {
  const { verifiesSignatures = true, ordersKeys = true, streams = true } = supports
  return t.test(`${name} storage`, async (t) => {
    const storage = await create()
    t.teardown(async () => {
      await storage.close()
      await destroy?.(storage)
    })
    await t.test('blobs', (t) => testBlobs(t, storage, ordersKeys))
    await t.test('refusals', (t) => testRefusals(t, storage))
    await t.test('streams', { skip: !streams && 'the driver keeps blobs in memory' }, (t) => testMemory(t, storage))
    await t.test('presigned uploads', (t) => testPresigned(t, storage, verifiesSignatures))
    await t.test('life', async (t) => testLife(t, storage, await create(), destroy))
  })
}

/** A context as the kernel gives it to drivers, with the real clock and a silent log. */
export function testContext(dataDir: string): DriverContext {
  return {
    dataDir,
    portalUrl: 'http://localhost:8080',
    clock: { now: () => new Date() },
    log: pino({ level: 'silent' }),
    secret: (purpose) => createHash('sha256').update(`a secret for tests: ${purpose}`).digest(),
  }
}

async function testBlobs(t: Test, storage: Storage, ordersKeys: boolean): Promise<void> {
  await t.test('a blob comes back as it was stored', async (t) => {
    const { key, bytes } = await stored(storage, randomBytes(100_000))
    t.ok(bytes.equals(await read(storage, key)))
    t.same(await storage.head(key), { size: bytes.length })
  })

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

async function testRefusals(t: Test, storage: Storage): Promise<void> {
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
      await rejectsWith(t, storage.delete(key), InvalidKey, `delete ${name}`)
      await rejectsWith(t, storage.presignPut(key, expectedOf(bytes), presign), InvalidKey, `presignPut ${name}`)
      await rejectsWith(t, storage.commitPut(key, expectedOf(bytes)), InvalidKey, `commitPut ${name}`)
    }
    await rejectsWith(t, storage.head('x'.repeat(513)), InvalidKey, '513 bytes')
    await rejectsWith(t, storage.head('x'.repeat(256)), InvalidKey, 'a segment of 256 bytes')
    await rejectsWith(t, keys(storage, '../'), InvalidKey, 'list ../')
  })
}

async function testMemory(t: Test, storage: Storage): Promise<void> {
  await t.test('a blob of 64 MiB passes in less than 48 MiB of memory', async (t) => {
    const piece = randomBytes(MiB)
    const hash = createHash('sha256')
    for (let i = 0; i < 64; i++) hash.update(piece)
    const expected = { sha256: hash.digest('hex'), size: 64 * MiB }
    const memory = measureMemory()
    const body = Readable.from(
      (async function* () {
        for (let i = 0; i < 64; i++) {
          if (i % 8 === 7) memory.sample()
          yield piece
        }
      })(),
      { objectMode: false },
    )
    const key = unique()
    await storage.put(key, body, expected)
    t.ok(memory.growth() < 48 * MiB, `put grew by ${memory.growth()} bytes`)

    const reading = measureMemory()
    let size = 0
    for await (const chunk of await storage.get(key)) {
      const before = size
      size += chunk.length
      if (Math.floor(before / (8 * MiB)) < Math.floor(size / (8 * MiB))) reading.sample()
    }
    t.equal(size, expected.size)
    t.ok(reading.growth() < 48 * MiB, `get grew by ${reading.growth()} bytes`)
    await storage.delete(key)
  })
}

async function testPresigned(t: Test, storage: Storage, verifiesSignatures: boolean): Promise<void> {
  const relay = await startRelay(storage)
  t.teardown(relay.close)
  const skip = !verifiesSignatures && 'the server does not check signatures'
  const inAMinute = () => new Date(Date.now() + 60_000)

  await t.test('what is sent to a presigned address is a blob once committed', async (t) => {
    for (const bytes of [randomBytes(50_000), Buffer.alloc(0)]) {
      const { key, send } = await relay.presign(bytes, inAMinute())
      t.ok((await send(bytes)) < 300)
      await storage.commitPut(key, expectedOf(bytes))
      t.ok(bytes.equals(await read(storage, key)))
      await storage.commitPut(key, expectedOf(bytes))
      t.same(await keys(storage, key), [key], 'and committing it again changes nothing')
    }
  })

  await t.test('commits at once all succeed', async (t) => {
    const bytes = randomBytes(50_000)
    const { key, send } = await relay.presign(bytes, inAMinute())
    await send(bytes)
    await Promise.all(Array.from({ length: 5 }, () => storage.commitPut(key, expectedOf(bytes))))
    t.ok(bytes.equals(await read(storage, key)))
  })

  await t.test('a commit without an upload is refused', async (t) => {
    const bytes = randomBytes(10)
    const { key } = await relay.presign(bytes, inAMinute())
    await rejectsWith(t, storage.commitPut(key, expectedOf(bytes)), BlobNotFound)
    t.equal(await storage.head(key), null)
  })

  await t.test('other bytes of the same size never become the blob', async (t) => {
    const bytes = Buffer.from('the announced bytes')
    const { key, send } = await relay.presign(bytes, inAMinute())
    await send(Buffer.from('bytes of a stranger'))
    await t.rejects(storage.commitPut(key, expectedOf(bytes)))
    t.equal(await storage.head(key), null)
    t.same(await keys(storage, key), [])
    await send(bytes)
    await storage.commitPut(key, expectedOf(bytes))
    t.equal(String(await read(storage, key)), 'the announced bytes', 'and the right ones still may come')
  })

  await t.test('an upload that breaks off never becomes a blob', async (t) => {
    const bytes = randomBytes(1_000_000)
    const { key, abort } = await relay.presign(bytes, inAMinute())
    await abort(bytes.subarray(0, 500_000))
    await t.rejects(storage.commitPut(key, expectedOf(bytes)))
    t.equal(await storage.head(key), null)
  })

  await t.test('a presigned address can not change a committed blob', async (t) => {
    const bytes = Buffer.from('the announced bytes')
    const { key, send } = await relay.presign(bytes, inAMinute())
    await send(bytes)
    await storage.commitPut(key, expectedOf(bytes))
    await send(Buffer.from('bytes of a stranger'))
    t.equal(String(await read(storage, key)), 'the announced bytes', 'after another upload')
    await storage.commitPut(key, expectedOf(bytes))
    t.equal(String(await read(storage, key)), 'the announced bytes', 'after another commit')
  })

  await t.test('a request with another signature is refused', { skip }, async (t) => {
    const bytes = randomBytes(10)
    const { key, url, send } = await relay.presign(bytes, inAMinute())
    const forged = url.replace(/(signature=)(.)/i, (_, name, first) => name + (first === 'a' ? 'b' : 'a'))
    t.not(forged, url)
    t.ok((await send(bytes, forged)) >= 400)
    t.ok((await send(bytes, url.replace(/\?.*/, ''))) >= 400, 'and so is one without')
    await rejectsWith(t, storage.commitPut(key, expectedOf(bytes)), BlobNotFound)
  })

  await t.test('a request after its time is refused', { skip }, async (t) => {
    const bytes = randomBytes(10)
    const { key, send } = await relay.presign(bytes, new Date(Date.now() + 1000))
    await sleep(2500)
    t.ok((await send(bytes)) >= 400)
    await rejectsWith(t, storage.commitPut(key, expectedOf(bytes)), BlobNotFound)
  })

  await t.test('a request with another size is refused', { skip }, async (t) => {
    const bytes = randomBytes(10)
    const { key, send } = await relay.presign(bytes, inAMinute())
    t.ok((await send(randomBytes(11))) >= 400)
    t.ok((await send(randomBytes(9))) >= 400)
    await rejectsWith(t, storage.commitPut(key, expectedOf(bytes)), BlobNotFound)
  })

  await t.test('a relay signature holds for its address, digest and size only', async (t) => {
    const bytes = randomBytes(10)
    const { url, key } = await relay.presign(bytes, inAMinute())
    const expected = expectedOf(bytes)
    t.equal(storage.verifyRelay(url, expected), url.startsWith(relay.address), 'a relay driver knows its own')
    t.notOk(storage.verifyRelay(url, { ...expected, size: 11 }))
    t.notOk(storage.verifyRelay(url, { ...expected, sha256: expectedOf(Buffer.from('other')).sha256 }))
    t.notOk(storage.verifyRelay(url.replace(key, `${key}x`), expected))
    t.notOk(storage.verifyRelay(url.replace('?', '?a=b&'), expected))
    t.notOk(storage.verifyRelay(`${url}&a=b`, expected))
    t.notOk(storage.verifyRelay('', expected))
    t.notOk(storage.verifyRelay('/relay?expires=99999999999&signature=x', expected))
  })
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

/** Plays the platform's part of presigned uploads: the route behind the relay address, and the client. */
async function startRelay(storage: Storage) {
  const uploads = new Map<string, { key: string; expected: { sha256: string; size: number } }>()
  const server = createServer(async (request, response) => {
    const upload = uploads.get(request.url?.split('?')[0] ?? '')
    response.statusCode = 403
    if (upload && storage.verifyRelay(request.url as string, upload.expected))
      response.statusCode = await storage.put(upload.key, request, upload.expected).then(
        () => 200,
        (error) => error.statusCode ?? 500,
      )
    request.resume()
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    address,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
    async presign(bytes: Buffer, expiresAt: Date) {
      const key = unique()
      const expected = expectedOf(bytes)
      const relay = `${address}/relay/${key}`
      uploads.set(new URL(relay).pathname, { key, expected })
      const { url, method, headers } = await storage.presignPut(key, expected, { expiresAt, relay })
      return {
        key,
        url,
        /** Sends a body as a client would, and gives the status of the answer. */
        async send(body: Buffer, to = url): Promise<number> {
          const response = await fetch(to, { method, headers, body: new Uint8Array(body) })
          await response.arrayBuffer()
          return response.status
        },
        /** Announces the whole, sends a part and goes away. */
        async abort(part: Buffer): Promise<void> {
          const sending = request(url, { method, headers: { ...headers, 'content-length': bytes.length } })
          sending.on('error', () => {})
          await new Promise((resolve) => sending.write(part, resolve))
          await sleep(200)
          sending.destroy()
          await sleep(500)
        },
      }
    },
  }
}

/** Passes when a promise is rejected with an error of the class. */
async function rejectsWith(t: Test, promise: Promise<unknown>, Expected: typeof InvalidKey, name?: string) {
  const error = await promise.then(
    () => null,
    (error) => error,
  )
  t.ok(error instanceof Expected, name ?? 'rejects', { found: error })
}

/** A key that no other test uses. */
const unique = () => `conformance/${randomUUID()}`

const expectedOf = (bytes: Buffer) => ({
  sha256: createHash('sha256').update(bytes).digest('hex'),
  size: bytes.length,
})

/** A stream that comes in pieces, as from a socket. */
function chunked(bytes: Buffer): Readable {
  const pieces = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, i) =>
    bytes.subarray(i * 65_536, (i + 1) * 65_536),
  )
  return Readable.from(pieces, { objectMode: false })
}

async function stored(storage: Storage, bytes: Buffer, key = unique()) {
  await storage.put(key, chunked(bytes), expectedOf(bytes))
  return { key, bytes }
}

const read = async (storage: Storage, key: string, range?: { start: number; end: number }) =>
  buffer(await storage.get(key, range))

const keys = async (storage: Storage, prefix: string) =>
  (await Array.fromAsync(storage.list(prefix))).map((blob) => blob.key)

/** Watches how far the bytes in buffers rise above where they are now, garbage not counted. */
function measureMemory() {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const now = () => {
    collect()
    return process.memoryUsage().arrayBuffers
  }
  const start = now()
  let highest = start
  return {
    sample() {
      highest = Math.max(highest, now())
    },
    growth: () => highest - start,
  }
}
