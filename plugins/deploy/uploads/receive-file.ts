import type { IncomingMessage } from 'node:http'
import { UploadCut } from '../../../core/data/spool.ts'
import { PayloadTooLarge } from '../../../core/errors.ts'
import { formatBytes } from '../../../core/format-bytes.ts'
import { drainBody } from '../../../core/http/drain-body.ts'
import { DigestMismatch, type Storage } from '../../../drivers/storage/interface.ts'
import type { Deploys } from '../deploys.ts'
import { LengthRequired, SizeMismatch, UploadRefused } from '../errors.ts'
import type { DeployLimits } from '../schemas.ts'

/**
 * The upload relay: receives the bytes of a presigned upload for storages without a server of their own. The address is
 * the credential; it is verified before any of the body is read.
 *
 * @param url path and query of the request, unchanged
 * @throws UploadRefused, LengthRequired, SizeMismatch, DigestMismatch (nothing is kept), UploadCut, DeployExpired
 */
export async function receive(
  { deploys, storage, limits }: { deploys: Deploys; storage: Storage; limits: DeployLimits },
  { deployId, sha256, url, body }: { deployId: string; sha256: string; url: string; body: IncomingMessage },
): Promise<void> {
  const file = (await deploys.manifests.contentsOf(deployId))?.get(sha256)
  if (!file || !storage.verifyRelay(url, { sha256, size: file.size })) throw new UploadRefused()
  await deploys.uploads.mustTakeFiles(deployId)
  const length = body.headers['content-length']
  if (length === undefined) throw new LengthRequired()
  if (Number(length) > limits.deployFileBytes) {
    throw new PayloadTooLarge(`A file has at most ${formatBytes(limits.deployFileBytes)}.`)
  }
  if (Number(length) !== file.size) throw new SizeMismatch(file.path, file.size, length)

  try {
    await deploys.uploads.store(deployId, { sha256, size: file.size }, body)
  } catch (error) {
    // A broken socket causes an error of its own. A complete body is not the reason for a later error.
    if (!body.complete && (body.errored || body.destroyed)) throw new UploadCut().with({ cause: error })
    await drainBody(body)
    throw error instanceof DigestMismatch ? new DigestMismatch(file.path) : error
  }
}
