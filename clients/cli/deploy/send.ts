import { type BundleAddress, sendBundles, splitBySize } from './bundles.ts'
import type { HashedFile } from './hash.ts'
import { type Upload, type UploadProgress, uploadFiles } from './upload.ts'

/**
 * Uploads files: small ones in bundles, and meanwhile the others one by one, since the platform waits for its disk
 * after each. The first failure stops all of it.
 */
export async function sendFiles(
  pairs: { upload: Upload; file: HashedFile }[],
  bundle: BundleAddress | undefined,
  progress: UploadProgress,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const { small, others } = splitBySize(pairs, bundle)
  const stop = new AbortController()
  const options = { signal: signal ? AbortSignal.any([signal, stop.signal]) : stop.signal }
  const failures: unknown[] = []
  const noted = (error: unknown) => {
    failures.push(error)
    stop.abort()
  }
  await Promise.all([
    bundle ? sendBundles(small, bundle, progress, options).catch(noted) : null,
    uploadFiles(others, progress, options).catch(noted),
  ])
  if (failures.length > 0) throw failures[0]
}
