import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
// @ts-expect-error It has no types.
import S3rver from 's3rver'

/** A running S3 server in this process, with the values that a client needs. */
export interface BucketServer {
  access: { endpoint: string; region: string; accessKeyId: string; secretAccessKey: string; forcePathStyle: true }
  directory: string
  port: number
  /** Stops the server; its folder stays. */
  stop(): Promise<void>
  /** Stops the server and removes its folder. */
  close(): Promise<void>
}

/**
 * Starts s3rver on a loopback port.
 *
 * @param options `directory` and `port`: those of an earlier server; without them a new temporary folder and a free port
 */
export async function startBucketServer(
  buckets: string[],
  options: { directory?: string; port?: number } = {},
): Promise<BucketServer> {
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'gameyard-s3-')))
  const server = new S3rver({
    address: '127.0.0.1',
    port: options.port ?? 0,
    silent: true,
    directory,
    configureBuckets: buckets.map((name) => ({ name, configs: [] })),
  })
  writeBeforeAnswer(server.store)
  const { port } = await server.run()
  const stop = (): Promise<void> => server.close()
  return {
    access: {
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      accessKeyId: 'S3RVER',
      secretAccessKey: 'S3RVER',
      forcePathStyle: true,
    },
    directory,
    port,
    stop,
    async close() {
      await stop()
      await rm(directory, { recursive: true })
    },
  }
}

interface Store {
  getResourcePath(bucket: string, key: string | undefined, resource: string): string
  putMetadata(bucket: string, key: string, metadata: object, md5: string): Promise<void>
  putObject(object: { bucket: string; key: string; metadata: object; content: Buffer | Readable }): Promise<Written>
  putPart(bucket: string, uploadId: string, partNumber: number, content: Readable): Promise<Written>
  copyObject(...input: unknown[]): Promise<unknown>
}
type Written = { size: number; md5: string }

/**
 * Replaces the writing methods of s3rver's store. Its own answer before the file is written, show half of an object
 * meanwhile, and disturb each other at one key; no other S3 server does.
 */
function writeBeforeAnswer(store: Store): void {
  const inTurn = turns()
  const copyObject = store.copyObject.bind(store)
  store.copyObject = (...input) => inTurn(() => copyObject(...input))
  store.putObject = async ({ bucket, key, metadata, content }) => {
    const path = store.getResourcePath(bucket, key, 'object')
    await mkdir(dirname(path), { recursive: true })
    const part = `${path}.${randomUUID()}`
    const written = await write(part, content)
    await inTurn(async () => {
      await mkdir(dirname(path), { recursive: true })
      await rename(part, path)
      await store.putMetadata(bucket, key, metadata, written.md5)
    })
    return written
  }
  store.putPart = async (bucket, uploadId, partNumber, content) => {
    const path = join(store.getResourcePath(bucket, undefined, 'uploads'), uploadId, String(partNumber))
    const written = await write(path, content)
    await writeFile(`${path}.md5`, written.md5)
    return written
  }
}

async function write(path: string, content: Buffer | Readable): Promise<Written> {
  const hash = createHash('md5')
  let size = 0
  const body = content instanceof Readable ? content : Readable.from([content])
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk)
      size += chunk.length
      yield chunk
    }
  }
  try {
    await pipeline(body, counted, createWriteStream(path))
  } catch (error) {
    await rm(path, { force: true })
    throw error
  }
  return { size, md5: hash.digest('hex') }
}

/** Runs what it is given one after the other. */
function turns() {
  let last: Promise<unknown> = Promise.resolve()
  return <Result>(run: () => Promise<Result>): Promise<Result> => {
    const result = last.then(run, run)
    last = result.catch(() => {})
    return result
  }
}
