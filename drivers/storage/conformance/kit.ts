import { createHash, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { InvalidKey, Storage } from '../interface.ts'

export const MiB = 1024 * 1024

/** Asserts that a promise is rejected with an error of the class. */
export async function rejectsWith(t: Test, promise: Promise<unknown>, Expected: typeof InvalidKey, name?: string) {
  const error = await promise.then(
    () => null,
    (error) => error,
  )
  t.ok(error instanceof Expected, name ?? 'rejects', { found: error })
}

/** Returns a key that no other test uses. */
export const unique = () => `conformance/${randomUUID()}`

export const expectedOf = (bytes: Buffer) => ({
  sha256: createHash('sha256').update(bytes).digest('hex'),
  size: bytes.length,
})

/** Creates a stream that delivers pieces, like a socket. */
export function chunked(bytes: Buffer): Readable {
  const pieces = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, i) =>
    bytes.subarray(i * 65_536, (i + 1) * 65_536),
  )
  return Readable.from(pieces, { objectMode: false })
}

export async function stored(storage: Storage, bytes: Buffer, key = unique()) {
  await storage.put(key, chunked(bytes), expectedOf(bytes))
  return { key, bytes }
}

export const read = async (storage: Storage, key: string, range?: { start: number; end: number }) =>
  buffer(await storage.get(key, range))

export const keys = async (storage: Storage, prefix: string) =>
  (await Array.fromAsync(storage.list(prefix))).map((blob) => blob.key)
