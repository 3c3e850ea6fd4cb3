import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Clock } from '../../core/clock.ts'
import { defineError, RETRY_SOON, StorageFull } from '../../core/errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    storage: Storage
  }
}

/** The expected size in bytes and hex SHA-256 of a blob. */
export interface Expected {
  sha256: string
  size: number
}

/** A small blob whose bytes have the digest. */
export interface VerifiedBlob {
  key: string
  bytes: Buffer
  sha256: string
}

/** Bytes `start` to `end`, both inclusive, with `start` at most `end`, as in RFC 9110 section 14. */
export interface Range {
  start: number
  end: number
}

/**
 * A request that a client without credentials may send until it expires: method, address and headers, unchanged. The
 * body is exactly the announced bytes, with their number as `Content-Length`.
 */
export interface PresignedPut {
  url: string
  method: 'PUT'
  headers: Record<string, string>
}

/**
 * Storage of blobs: game builds, media, assets, job artifacts. The family `storage`.
 *
 * Keys are `/`-separated, 1 to 512 bytes of `[A-Za-z0-9._/-]`, without empty, `.` or `..` segments and with no segment
 * over 255 bytes. The platform chooses them, never a user. Any other key is refused with `InvalidKey` (see
 * `assertKey`). Since a driver may store blobs as files, no key is the folder of another (`a` beside `a/b`), and no two
 * keys differ only in case.
 *
 * A blob is immutable. It appears complete, atomically and durably, or not at all, also when the process dies midway.
 * Two uploads to one key always carry the same bytes; keys that contain a digest ensure it.
 *
 * Every method may throw `StorageUnavailable` after the driver's own retries, and throws it after `close`.
 */
export interface Storage {
  /** Whether the storage is remote, so that caching frequently read blobs on this machine pays. */
  readonly remote?: boolean
  /**
   * Stores a stream. An existing blob is left unchanged, once the stream has proved to match.
   *
   * Rejects with the stream's own error when the stream fails: nothing is kept. The stream is not destroyed when `put`
   * rejects, so that an HTTP request can still be answered; the caller ends it.
   *
   * @throws DigestMismatch when the bytes are not the expected ones (nothing is kept), or the key holds a blob of
   *   another size
   * @throws StorageFull (core/errors.ts) when there is no room: nothing is kept
   */
  put(key: string, body: Readable, expected: Expected): Promise<void>
  /**
   * Stores many small blobs with few waits for the disk. All are durable when it resolves; when it rejects, any of them
   * may have been stored. Existing blobs are left unchanged. Drivers have it where it is faster than many calls of
   * `put` at once.
   *
   * @param blobs at most a few MB together; the caller has verified their digests
   * @throws DigestMismatch when a key holds a blob of another size
   * @throws StorageFull
   */
  putAll?(blobs: readonly VerifiedBlob[]): Promise<void>
  /**
   * Streams a blob or a range of it. A `range.end` past the last byte is cut; a range that begins past it is empty. The
   * caller reads the stream to its end or destroys it.
   *
   * @throws BlobNotFound
   */
  get(key: string, range?: Range): Promise<Readable>
  /**
   * Opens a blob as a file of this machine, which is faster than a stream. Only drivers that store blobs as files have
   * it. The caller closes the file.
   *
   * @throws BlobNotFound
   */
  openFile?(key: string): Promise<FileHandle>
  /** Returns the metadata of a blob, or null when it does not exist. */
  head(key: string): Promise<{ size: number } | null>
  /**
   * Makes a blob available under a second key. Where the storage supports it, the bytes do not pass through the
   * platform. An existing blob is left unchanged.
   *
   * @param expected size and digest of `from`, as it was stored
   * @throws BlobNotFound when `from` does not exist
   * @throws DigestMismatch when `from` or `to` holds a blob of another size
   * @throws StorageFull
   */
  copy(from: string, to: string, expected: Expected): Promise<void>
  /** Removes a blob; a missing blob is no error. */
  delete(key: string): Promise<void>
  /**
   * Lists all keys that begin with `prefix` (no need to end at a `/`; empty for all), in byte order. Unfinished and
   * abandoned uploads are not listed.
   */
  list(prefix: string): AsyncIterable<{ key: string; size: number; modifiedAt: Date }>
  /**
   * Creates a request by which a client stores exactly these bytes, without a route that needs sign-in. The blob exists
   * only after `commitPut`.
   *
   * @param relay an address of the platform that accepts the upload for drivers without a server of their own: such a
   *   driver returns it with a signature added to the end of its query, bound to its path and query, the digest, the
   *   size and the expiry. The route behind it calls `verifyRelay` and then stores by `put`
   */
  presignPut(key: string, expected: Expected, options: { expiresAt: Date; relay: string }): Promise<PresignedPut>
  /** Whether a request to a relay address (`url`, including its query) has a valid signature that has not expired. */
  verifyRelay(url: string, expected: Expected): boolean
  /**
   * Completes a presigned upload: verifies the bytes and makes them a blob. Repeating the call is no error, and neither
   * is an existing blob, no matter who stored it. Owners who may not have each other's bytes must therefore not share a key.
   *
   * @throws BlobNotFound when nothing was uploaded
   * @throws DigestMismatch when other bytes were uploaded; they are deleted
   */
  commitPut(key: string, expected: Expected): Promise<void>
  /**
   * The space on the disk of this machine, for drivers that store blobs there: `free` bytes, of which `reserve` are
   * kept for everything except blobs. A blob that would use the reserve is refused with `StorageFull`.
   */
  room?(): Promise<{ free: number; reserve: number }>
  /** Rejects when the storage can't be reached; used by /readyz. */
  ping(): Promise<void>
  close(): Promise<void>
}

export const InvalidKey = defineError('invalid_key', 400, 'The storage key %s has a form that is not allowed.')
export const BlobNotFound = defineError('blob_not_found', 404, 'There is no blob %s.')
export const DigestMismatch = defineError('digest_mismatch', 422, 'The bytes of %s are not the ones announced.')
export const StorageUnavailable = defineError('storage_unavailable', 503, 'The storage does not answer.', RETRY_SOON)

/**
 * Checks the free space before an upload, so that it is refused before its bytes arrive.
 *
 * @param bytes number of bytes to store, where that is known
 * @throws StorageFull when the upload would use the reserve
 */
export async function assertRoom(storage: Pick<Storage, 'room'>, bytes = 0): Promise<void> {
  const room = await storage.room?.()
  if (room && room.free - bytes < room.reserve) throw new StorageFull()
}

/** @throws InvalidKey when the form of a key violates the rules of `Storage` */
export function assertKey(key: string): void {
  if (!/^[A-Za-z0-9._/-]{1,512}$/.test(key) || !key.split('/').every(isSegment)) throw new InvalidKey(key)
}

/** Like `assertKey`, for the prefix of a key: its last segment may be cut anywhere, and it may be empty. */
export function assertPrefix(prefix: string): void {
  const segments = prefix.split('/')
  const cut = segments.pop() as string
  if (!/^[A-Za-z0-9._/-]{0,512}$/.test(prefix) || !segments.every(isSegment) || cut.length > 255)
    throw new InvalidKey(prefix)
}

const isSegment = (segment: string) => segment !== '' && segment !== '.' && segment !== '..' && segment.length <= 255

/**
 * Passes the bytes of `body` on and verifies them: an error follows the last chunk when they are not the expected ones.
 * Bytes written until then must not become a blob.
 *
 * @throws DigestMismatch at the first surplus byte, else at the end
 */
export async function* verified(key: string, body: Readable, expected: Expected): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    size += chunk.length
    if (size > expected.size) throw new DigestMismatch(key)
    hash.update(chunk)
    yield chunk
  }
  if (size !== expected.size || hash.digest('hex') !== expected.sha256) throw new DigestMismatch(key)
}

/**
 * `presignPut` and `verifyRelay` for a storage without a server of its own: HMAC-SHA256 over the relay's path and
 * query, the digest, the size and the expiry. Scheme and host are left out, since a proxy may change them.
 *
 * @param secret 32 bytes, the same on every node: `context.secret('storage/<driver>/presign')`
 */
export function relaySignatures(secret: Buffer, clock: Clock) {
  const sign = (relay: string, { sha256, size }: Expected, expires: number) => {
    const path = relay.replace(/^[a-z]+:\/\/[^/?#]*/, '')
    return createHmac('sha256', secret).update(`PUT\n${path}\n${sha256}\n${size}\n${expires}`).digest('base64url')
  }
  return {
    presign(expected: Expected, { relay, expiresAt }: { relay: string; expiresAt: Date }): PresignedPut {
      const expires = Math.floor(expiresAt.getTime() / 1000)
      const query = `expires=${expires}&signature=${sign(relay, expected, expires)}`
      return {
        method: 'PUT',
        url: relay + (relay.includes('?') ? '&' : '?') + query,
        headers: { 'content-type': 'application/octet-stream' },
      }
    },
    verify(url: string, expected: Expected): boolean {
      const [, relay, expires, signature] = /^(.+)[?&]expires=(\d{1,12})&signature=([\w-]{43})$/.exec(url) ?? []
      if (!relay || !signature) return false
      const right = sign(relay, expected, Number(expires))
      const holds = timingSafeEqual(Buffer.from(signature), Buffer.from(right))
      return holds && Number(expires) * 1000 > clock.now().getTime()
    },
  }
}
