import { type BundleAddress, sendBundles } from './bundles.ts'
import type { CallOptions, Connection } from './connection.ts'

/** How far an upload is. */
export interface UploadProgress {
  files: number
  uploadedFiles: number
  bytes: number
  uploadedBytes: number
}

interface WantedFile {
  sha256: string
  blob: Blob
  uploadUrl: string
  headers: object
}

/**
 * Uploads the files that a deploy wants: small ones in bundles, the others one by one.
 *
 * @param options `parallel`: the number of parallel uploads of large files
 */
export async function uploadFiles(
  connection: Connection,
  bundle: BundleAddress | undefined,
  wanted: WantedFile[],
  {
    signal,
    parallel,
    onProgress,
  }: CallOptions & { parallel: number; onProgress: ((progress: UploadProgress) => void) | undefined },
): Promise<void> {
  const bytes = wanted.reduce((sum, { blob }) => sum + blob.size, 0)
  const progress = { files: wanted.length, uploadedFiles: 0, bytes, uploadedBytes: 0 }
  onProgress?.({ ...progress })
  const advance = (files: number, bytes: number) => {
    progress.uploadedFiles += files
    progress.uploadedBytes += bytes
    onProgress?.({ ...progress })
  }
  const waiting = bundle ? await sendBundles(connection, bundle, wanted, { signal, advance }) : [...wanted]
  const upload = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { uploadUrl, blob, headers } = next
      // The address may belong to another service, so the request carries no token.
      const request = { body: blob, headers: headers as Record<string, string>, signal, anonymous: true }
      const response = await connection.send('PUT', uploadUrl, { ...request, timeoutMs: 600_000 })
      await response.body?.cancel()
      advance(1, blob.size)
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, waiting.length) }, upload))
}
