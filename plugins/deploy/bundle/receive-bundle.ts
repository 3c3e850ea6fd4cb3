import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { UploadCut } from '../../../core/data/spool.ts'
import { PayloadTooLarge } from '../../../core/errors.ts'
import { drainBody } from '../../../core/http/drain-body.ts'
import { DigestMismatch } from '../../../drivers/storage/interface.ts'
import type { Deploys } from '../deploys.ts'
import { InvalidBundle, LengthRequired, SizeMismatch, UploadRefused } from '../errors.ts'
import type { Contents } from '../manifest/manifests.ts'
import { BATCHED_FILE_BYTES, BatchWriter } from '../uploads/batch-writer.ts'
import { bundleBytesOf } from './bundle-address.ts'
import { tarEntries } from './tar.ts'

/** A request to the address of a bundle. */
interface BundleRequest {
  deployId: string
  /** Path and query, unchanged. */
  url: string
  body: IncomingMessage
}

/**
 * Receives files of a deploy in a tar archive, in any order, each named by its digest. Whatever ends the request, the
 * files before that count.
 *
 * The address is the credential; it is verified before any of the body is read.
 *
 * @throws UploadRefused, LengthRequired, PayloadTooLarge, InvalidBundle, SizeMismatch, DigestMismatch, UploadCut,
 *   DeployClosed, DeployExpired, StorageFull
 */
export async function receiveBundle(deploys: Deploys, { deployId, url, body }: BundleRequest): Promise<void> {
  const contents = await contentsBehind(deploys, deployId, url)
  await deploys.uploads.mustTakeFiles(deployId)
  const length = body.headers['content-length']
  if (length === undefined) throw new LengthRequired()
  const maxBytes = bundleBytesOf(contents)
  if (Number(length) > maxBytes) throw new PayloadTooLarge(`The files of this deploy have ${maxBytes} bytes as a tar.`)
  try {
    await storeEntries(deploys, deployId, contents, body)
  } catch (error) {
    // A broken socket causes an error of its own. A complete body is not the reason for a later error.
    if (!body.complete && (body.errored || body.destroyed)) throw new UploadCut().with({ cause: error })
    await drainBody(body)
    throw error
  }
}

/**
 * Lists what a deploy still waits for, for a client whose bundle broke off.
 *
 * @param url path and query of the request, unchanged
 * @throws UploadRefused, DeployClosed, DeployExpired
 */
export async function missingFiles(deploys: Deploys, deployId: string, url: string): Promise<string[]> {
  const contents = await contentsBehind(deploys, deployId, url)
  await deploys.uploads.mustTakeFiles(deployId)
  return deploys.uploads.missing(deployId, contents)
}

async function contentsBehind(deploys: Deploys, deployId: string, url: string): Promise<Contents> {
  deploys.bundles.verify(url)
  const contents = await deploys.manifests.contentsOf(deployId)
  if (!contents) throw new UploadRefused()
  return contents
}

async function storeEntries(deploys: Deploys, deployId: string, contents: Contents, body: Readable): Promise<void> {
  const { uploads } = deploys
  // A file that has arrived is not stored again, however often it is sent.
  const wanted = new Set(await uploads.missing(deployId, contents))
  const batches = new BatchWriter((files) => uploads.storeAll(deployId, files))
  const seen = new Set<string>()
  try {
    for await (const { name, size, bytes, chunks } of tarEntries(body)) {
      const file = contents.get(name)
      if (!file)
        throw new InvalidBundle(`${JSON.stringify(name.slice(0, 80))} is not the digest of a file of this deploy`)
      if (seen.has(name)) throw new InvalidBundle(`${name} is in it twice`)
      seen.add(name)
      if (size !== file.size) throw new SizeMismatch(file.path, file.size, size)
      if (!wanted.has(name)) continue
      if (size > BATCHED_FILE_BYTES) {
        await storeLarge(deploys, deployId, { sha256: name, ...file }, Readable.from(chunks(), { objectMode: false }))
        continue
      }
      const content = await bytes()
      if (hash('sha256', content) !== name) throw new DigestMismatch(file.path)
      await batches.add({ sha256: name, bytes: content })
    }
  } catch (error) {
    await batches.finish().catch(() => {})
    throw error
  }
  await batches.finish()
}

async function storeLarge(
  { uploads }: Deploys,
  deployId: string,
  { sha256, size, path }: { sha256: string; size: number; path: string },
  content: Readable,
): Promise<void> {
  try {
    await uploads.store(deployId, { sha256, size }, content)
  } catch (error) {
    throw error instanceof DigestMismatch ? new DigestMismatch(path) : error
  } finally {
    content.destroy()
  }
}
