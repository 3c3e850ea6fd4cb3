import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type * as aws from '@aws-sdk/client-s3'
import Type, { type Static } from 'typebox'
import { bucketKeys } from '../../core/config.ts'
import { type DriverContext, defineDriver } from '../../core/driver.ts'
import {
  assertKey,
  assertPrefix,
  BlobNotFound,
  DigestMismatch,
  type Expected,
  type PresignedPut,
  type Range,
  type Storage,
  StorageUnavailable,
  verified,
} from './interface.ts'
import { isInvalidRange, isNotFound, isPreconditionFailed, nullWhenNotFound, translate, unusable } from './s3-errors.ts'

const S3Config = Type.Object(
  {
    ...bucketKeys,
    publicEndpoint: Type.Optional(
      Type.String({
        pattern: '^https?://[^?#]+$',
        description: 'Address at which clients reach the server to upload, where that is another than endpoint.',
      }),
    ),
  },
  { additionalProperties: false },
)

/**
 * Stores each blob as an object of a bucket on Amazon S3 or a server that implements its protocol.
 *
 * A presigned upload goes to a staging object and is copied to its key on the server once verified, since the holder of
 * the address could upload again. The server needs neither conditional writes nor checksums: a digest that it does not
 * know is ignored, and the object is read instead. docs/hosted-services.md has every header. A lifecycle rule that
 * aborts incomplete multipart uploads is recommended; uploads from browsers need a CORS rule for PUT.
 */
export default defineDriver({
  family: 'storage',
  name: 's3',
  config: S3Config,

  async create(config, context): Promise<Storage> {
    const [sdk, { Upload }, { getSignedUrl }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('@aws-sdk/lib-storage'),
      import('@aws-sdk/s3-request-presigner'),
    ])
    const options = (endpoint: string | undefined): aws.S3ClientConfig => ({
      ...(endpoint ? { endpoint } : {}),
      region: config.region,
      credentials: { accessKeyId: config.accessKeyId, secretAccessKey: config.secretAccessKey },
      forcePathStyle: config.forcePathStyle,
      maxAttempts: 3,
      // Otherwise the SDK adds CRC32 checksums in trailers, which many servers refuse. The driver has its own digests.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: 3_000,
        requestTimeout: 30_000,
        throwOnRequestTimeout: true,
        socketTimeout: 60_000,
        ...(config.ca === undefined ? {} : { httpsAgent: { ca: config.ca } }),
      },
    })
    const client = new sdk.S3Client(options(config.endpoint))
    try {
      await client.send(new sdk.HeadBucketCommand({ Bucket: config.bucket }))
    } catch (error) {
      client.destroy()
      throw unusable(config, error)
    }
    // The signer sends no requests. It needs the public address, because the signature covers it.
    const signer = config.publicEndpoint ? new sdk.S3Client(options(config.publicEndpoint)) : client
    const storage = new S3Storage({ ...sdk, Upload, getSignedUrl }, { client, signer }, config, context)
    storage.removeAbandoned().catch((error) => context.log.warn(error, 'abandoned uploads could not be removed'))
    return storage
  },
})

type Sdk = typeof import('@aws-sdk/client-s3') &
  Pick<typeof import('@aws-sdk/lib-storage'), 'Upload'> &
  Pick<typeof import('@aws-sdk/s3-request-presigner'), 'getSignedUrl'>

type Listed = { key: string; size: number; modifiedAt: Date }

const MiB = 1024 * 1024
/** A body up to this size is buffered and sent at once; a larger body is sent in parts as it arrives. */
const SINGLE_PUT_BYTES = 16 * MiB
const PART_BYTES = 8 * MiB
const MAX_PARTS = 10_000
/** Keys never contain `~`, so staging objects can't collide with blobs. */
const STAGING = '~incoming/'
const ABANDONED_AFTER = 48 * 60 * 60 * 1000
/** The maximum lifetime of a SigV4 presigned request: seven days. */
const MAX_PRESIGN_SECONDS = 604_800

class S3Storage implements Storage {
  readonly remote = true
  readonly #sdk: Sdk
  readonly #client: aws.S3Client
  /** The client that presigns requests. */
  readonly #signer: aws.S3Client
  readonly #bucket: string
  readonly #prefix: string
  readonly #clock: DriverContext['clock']
  #closed = false

  constructor(
    sdk: Sdk,
    { client, signer }: { client: aws.S3Client; signer: aws.S3Client },
    config: Static<typeof S3Config>,
    context: DriverContext,
  ) {
    this.#sdk = sdk
    this.#client = client
    this.#signer = signer
    this.#bucket = config.bucket
    this.#prefix = config.prefix
    this.#clock = context.clock
  }

  async put(key: string, body: Readable, expected: Expected): Promise<void> {
    const target = this.#object(key)
    const blob = await this.head(key)
    const chunks = verified(key, body, expected)
    if (blob) {
      for await (const _ of chunks);
      if (blob.size !== expected.size) throw new DigestMismatch(key)
    } else if (expected.size <= SINGLE_PUT_BYTES) {
      const input = { ...target, Body: Buffer.concat(await Array.fromAsync(chunks)), ChecksumSHA256: base64(expected) }
      await this.#run(key, () => this.#client.send(new this.#sdk.PutObjectCommand(input)))
    } else {
      await this.#putInParts(key, chunks, expected.size)
    }
  }

  /** Sends a body in parts. Completes the upload only after all bytes are verified; otherwise aborts it. */
  async #putInParts(key: string, chunks: AsyncIterable<Buffer>, size: number): Promise<void> {
    let refusal: unknown
    const body = Readable.from(
      (async function* () {
        try {
          yield* chunks
        } catch (error) {
          refusal = error
          throw error
        }
      })(),
      { objectMode: false },
    )
    try {
      await this.#run(key, () =>
        new this.#sdk.Upload({
          client: this.#client,
          params: { ...this.#object(key), Body: body },
          partSize: Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS)),
          queueSize: 2,
        }).done(),
      )
    } catch (error) {
      throw refusal ?? error
    } finally {
      body.destroy()
    }
  }

  async get(key: string, range?: Range): Promise<Readable> {
    const input = { ...this.#object(key), ...(range ? { Range: `bytes=${range.start}-${range.end}` } : {}) }
    try {
      const answer = await this.#run(key, () => this.#client.send(new this.#sdk.GetObjectCommand(input)))
      // A server may ignore a range (RFC 9110 section 14.2), or treat one that ends at byte 0 as the whole.
      const skip = range && !answer.ContentRange ? range.start : 0
      return readable(key, answer.Body as Readable, skip, range ? range.end - range.start + 1 : Infinity)
    } catch (error) {
      if (!isInvalidRange(error)) throw error
      return Readable.from([])
    }
  }

  async copy(from: string, to: string, expected: Expected): Promise<void> {
    const { Bucket, Key } = this.#object(to)
    const [source, blob] = await Promise.all([this.head(from), this.head(to)])
    if (!source) throw new BlobNotFound(from)
    if (source.size !== expected.size) throw new DigestMismatch(from)
    if (blob && blob.size !== expected.size) throw new DigestMismatch(to)
    if (blob) return
    const input = { Bucket, Key, CopySource: `${Bucket}/${this.#object(from).Key}` }
    await this.#copyObject(from, input)
  }

  /**
   * Copies an object. A copy whose source has disappeared is a missing blob, although some servers report a missing
   * bucket.
   */
  async #copyObject(key: string, input: aws.CopyObjectCommandInput): Promise<aws.CopyObjectCommandOutput> {
    try {
      return await this.#run(key, () => this.#client.send(new this.#sdk.CopyObjectCommand(input)))
    } catch (error) {
      throw isNotFound(error) ? new BlobNotFound(key).with({ cause: error }) : error
    }
  }

  async head(key: string): Promise<{ size: number } | null> {
    const found = await this.#headObject(key, this.#object(key).Key)
    return found && { size: found.ContentLength ?? 0 }
  }

  async delete(key: string): Promise<void> {
    await this.#deleteObject(key, this.#object(key).Key)
  }

  async *list(prefix: string): AsyncGenerator<Listed> {
    assertPrefix(prefix)
    for await (const object of this.#listObjects(this.#prefix + prefix)) {
      const key = object.key.slice(this.#prefix.length)
      if (!key.startsWith(STAGING)) yield { ...object, key }
    }
  }

  async *#listObjects(prefix: string): AsyncGenerator<Listed> {
    let next: string | undefined
    do {
      const input = { Bucket: this.#bucket, Prefix: prefix, ...(next ? { ContinuationToken: next } : {}) }
      const page = await this.#run(prefix, () => this.#client.send(new this.#sdk.ListObjectsV2Command(input)))
      for (const { Key, Size, LastModified } of page.Contents ?? [])
        yield { key: Key as string, size: Size ?? 0, modifiedAt: LastModified as Date }
      next = page.IsTruncated ? page.NextContinuationToken : undefined
    } while (next)
  }

  /**
   * Creates an S3 presigned PUT to the staging object. It signs the length and, where the server supports it, the
   * digest.
   */
  async presignPut(key: string, expected: Expected, options: { expiresAt: Date }): Promise<PresignedPut> {
    const { Bucket } = this.#object(key)
    const checksum = base64(expected)
    const command = new this.#sdk.PutObjectCommand({
      Bucket,
      Key: this.#stagingKey(key, expected),
      ContentLength: expected.size,
      ChecksumSHA256: checksum,
    })
    const seconds = Math.floor((options.expiresAt.getTime() - this.#clock.now().getTime()) / 1000)
    return this.#run(key, async () => ({
      method: 'PUT',
      url: await this.#sdk.getSignedUrl(this.#signer, command, {
        expiresIn: Math.min(Math.max(seconds, 1), MAX_PRESIGN_SECONDS),
        unhoistableHeaders: new Set(['x-amz-checksum-sha256']),
      }),
      headers: { 'x-amz-checksum-sha256': checksum },
    }))
  }

  verifyRelay(): boolean {
    return false
  }

  async commitPut(key: string, expected: Expected): Promise<void> {
    const target = this.#object(key)
    const staging = this.#stagingKey(key, expected)
    const [before, upload] = await Promise.all([this.head(key), this.#headObject(key, staging)])
    // Both may be absent when a concurrent commit moved the upload to the key between the two requests.
    const blob = before ?? (upload ? null : await this.head(key))
    if (!blob && !upload) throw new BlobNotFound(key)
    const matches = blob
      ? blob.size === expected.size
      : upload?.ContentLength === expected.size &&
        (await this.#copyVerified(key, staging, target.Key, expected, upload))
    if (upload) await this.#deleteObject(key, staging)
    if (!matches) throw new DigestMismatch(key)
  }

  /**
   * Whether an object has the digest: by the server's own SHA-256 if it computed one, otherwise by reading the object.
   */
  async #hasDigest(key: string, Key: string, expected: Expected, head: aws.HeadObjectCommandOutput): Promise<boolean> {
    const { ChecksumSHA256: checksum, ChecksumType: type } = head
    if (checksum && !checksum.includes('-') && type !== 'COMPOSITE') return checksum === base64(expected)
    const input = { Bucket: this.#bucket, Key, IfMatch: head.ETag }
    const { Body } = await this.#run(key, () => this.#client.send(new this.#sdk.GetObjectCommand(input)))
    const hash = createHash('sha256')
    for await (const chunk of readable(key, Body as Readable)) hash.update(chunk)
    return hash.digest('hex') === expected.sha256
  }

  /**
   * Copies a staging object to its key if its bytes are correct and remain unchanged until they are copied. A server
   * that ignores the condition is detected by the ETag of the copy, which is then read again.
   *
   * @returns whether the blob exists
   */
  async #copyVerified(key: string, from: string, to: string, expected: Expected, head: aws.HeadObjectCommandOutput) {
    const { ETag } = head
    const input = { Bucket: this.#bucket, Key: to, CopySource: `${this.#bucket}/${from}`, CopySourceIfMatch: ETag }
    try {
      if (!(await this.#hasDigest(key, from, expected, head))) return false
      const copy = await this.#copyObject(key, input)
      if (copy.CopyObjectResult?.ETag === ETag) return true
    } catch (error) {
      if (isPreconditionFailed(error)) return false
      // A concurrent commit of the same upload may have been first, and removed the staging object.
      if (error instanceof BlobNotFound && (await this.head(key))) return true
      throw error
    }
    const copied = await this.#headObject(key, to)
    if (copied?.ContentLength === expected.size && (await this.#hasDigest(key, to, expected, copied))) return true
    await this.#deleteObject(key, to)
    return false
  }

  async ping(): Promise<void> {
    await this.#run('', () =>
      this.#client.send(new this.#sdk.HeadBucketCommand({ Bucket: this.#bucket }), {
        abortSignal: AbortSignal.timeout(5_000),
      }),
    ).catch((error) => {
      throw new StorageUnavailable().with({ cause: error.cause ?? error })
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#client.destroy()
    this.#signer.destroy()
  }

  /** Removes staging objects of presigned uploads that nobody committed. */
  async removeAbandoned(): Promise<void> {
    const before = this.#clock.now().getTime() - ABANDONED_AFTER
    for await (const { key, modifiedAt } of this.#listObjects(this.#prefix + STAGING)) {
      if (this.#closed) return
      if (modifiedAt.getTime() < before) await this.#deleteObject(key, key)
    }
  }

  /** Maps a key to its object. All keys are mapped here. */
  #object(key: string): { Bucket: string; Key: string } {
    assertKey(key)
    return { Bucket: this.#bucket, Key: this.#prefix + key }
  }

  #stagingKey(key: string, { sha256 }: Expected): string {
    return `${this.#prefix}${STAGING}${sha256}/${key}`
  }

  #headObject(key: string, Key: string): Promise<aws.HeadObjectCommandOutput | null> {
    const command = new this.#sdk.HeadObjectCommand({ Bucket: this.#bucket, Key, ChecksumMode: 'ENABLED' })
    return this.#run(key, () => this.#client.send(command)).catch(nullWhenNotFound)
  }

  async #deleteObject(key: string, Key: string): Promise<void> {
    const command = new this.#sdk.DeleteObjectCommand({ Bucket: this.#bucket, Key })
    await this.#run(key, () => this.#client.send(command)).catch(nullWhenNotFound)
  }

  /** Runs one operation and translates the SDK's errors. */
  async #run<Result>(key: string, operation: () => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new StorageUnavailable()
    try {
      return await operation()
    } catch (error) {
      throw translate(error, key)
    }
  }
}

/**
 * Reads `length` bytes of a response body after the first `skip`; a broken connection ends it with one of the family's
 * errors.
 */
function readable(key: string, body: Readable, skip = 0, length = Infinity): Readable {
  const chunks = async function* () {
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        const part = chunk.subarray(skip, skip + length)
        skip = Math.max(0, skip - chunk.length)
        length -= part.length
        if (part.length > 0) yield part
        if (length === 0) return
      }
    } catch (error) {
      throw translate(error, key)
    }
  }
  // The generator destroys the body only once it has begun. An unread body would hold one of the few connections.
  return Readable.from(chunks(), { objectMode: false }).once('close', () => body.destroy())
}

const base64 = ({ sha256 }: Expected) => Buffer.from(sha256, 'hex').toString('base64')
