import type { CallOptions, Connection } from './connection.ts'
import type { GameyardError } from './errors.ts'
import { archivesOf, BUNDLE_BYTES, BUNDLED_BELOW, paddingOf, TAR_END_BYTES, tarHeader } from './tar.ts'

/** The address to which many files are uploaded in one request, as a tar archive. */
export interface BundleAddress {
  url: string
  headers: Record<string, string>
  /** The maximum size of one request. */
  maxBytes: number
}

interface WantedFile {
  sha256: string
  blob: Blob
}

/** The number of times that a broken bundle is continued without any new file having arrived. */
const ATTEMPTS = 3

/**
 * Uploads the small files of a deploy in bundles. After a broken connection, those that have not arrived are sent again.
 *
 * @returns the files that it leaves for requests of their own
 */
export async function sendBundles<File extends WantedFile>(
  connection: Connection,
  bundle: BundleAddress,
  wanted: File[],
  { signal, advance }: CallOptions & { advance: (files: number, bytes: number) => void },
): Promise<File[]> {
  const files = wanted.filter(({ blob }) => blob.size < BUNDLED_BELOW)
  if (files.length < 2) return [...wanted]
  const note = (arrived: WantedFile[]) =>
    advance(
      arrived.length,
      arrived.reduce((sum, { blob }) => sum + blob.size, 0),
    )
  const request = { headers: bundle.headers, signal, anonymous: true, timeoutMs: 600_000 }
  for (const group of archivesOf(files, ({ blob }) => blob.size, Math.min(bundle.maxBytes, BUNDLE_BYTES))) {
    let left = group
    for (let attempt = 1; left.length > 0; attempt++) {
      try {
        const response = await connection.send('PUT', bundle.url, { ...request, body: archiveOf(left) })
        await response.body?.cancel()
        note(left)
        break
      } catch (error) {
        if (!isBroken(error) || attempt >= ATTEMPTS) throw error
        const options = { signal, anonymous: true }
        const missing = new Set((await connection.json<{ missing: string[] }>('GET', bundle.url, options)).missing)
        const arrived = left.filter(({ sha256 }) => !missing.has(sha256))
        if (arrived.length > 0) attempt = 0
        note(arrived)
        left = left.filter(({ sha256 }) => missing.has(sha256))
      }
    }
  }
  return wanted.filter(({ blob }) => blob.size >= BUNDLED_BELOW)
}

/** By its name: an import of the class would make bundlers put the errors into a file of their own. */
const isBroken = (error: unknown): boolean => (error as GameyardError).name === 'ConnectionError'

/** The contents are not copied into the archive. */
const archiveOf = (files: WantedFile[]): Blob =>
  new Blob([
    ...files.flatMap(({ sha256, blob }) => [tarHeader(sha256, blob.size), blob, new Uint8Array(paddingOf(blob.size))]),
    new Uint8Array(TAR_END_BYTES),
  ])
