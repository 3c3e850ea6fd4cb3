import { randomBytes } from 'node:crypto'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { BlobNotFound, type Storage } from '../interface.ts'
import { expectedOf, keys, read, rejectsWith, unique } from './kit.ts'

/** Tests uploads by clients without credentials, over real HTTP. */
export async function testPresigned(
  t: Test,
  storage: Storage,
  { verifiesSignatures = true, copiesAtomically = true }: { verifiesSignatures?: boolean; copiesAtomically?: boolean },
): Promise<void> {
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

  const replaces = !copiesAtomically && 'the server removes the target of a copy before it reads the source'
  await t.test('commits at once all succeed', { skip: replaces }, async (t) => {
    const bytes = randomBytes(50_000)
    const { key, send } = await relay.presign(bytes, inAMinute())
    await send(bytes)
    await Promise.all(Array.from({ length: 5 }, () => storage.commitPut(key, expectedOf(bytes))))
    t.ok(bytes.equals(await read(storage, key)))
    // Small uploads race at more points: the later commit finds no upload.
    const small = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const bytes = Buffer.from(`${index} ${unique()}`)
        const { key, send } = await relay.presign(bytes, inAMinute())
        await send(bytes)
        return { key, expected: expectedOf(bytes) }
      }),
    )
    for (const [index, { key, expected }] of small.entries()) {
      const both = [storage.commitPut(key, expected), storage.commitPut(key, expected)]
      await t.resolves(Promise.all(both), `small ${index}`)
    }
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

  await t.test('a presigned address cannot change a committed blob', async (t) => {
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

/** Implements the platform's part of presigned uploads: the route behind the relay address, and the client. */
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
        /** Sends a body like a client, and returns the status of the response. */
        async send(body: Buffer, to = url): Promise<number> {
          const response = await fetch(to, { method, headers, body: new Uint8Array(body) })
          await response.arrayBuffer()
          return response.status
        },
        /** Announces the whole body, sends a part and disconnects. */
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
