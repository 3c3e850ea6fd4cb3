import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  archivesOf,
  BUNDLE_BYTES,
  BUNDLED_BELOW,
  paddingOf,
  TAR_END_BYTES,
  tarHeader,
  tarSizeOf,
} from '../../sdk/tar.ts'
import { CliError } from '../errors.ts'
import { send, textOf } from '../http.ts'
import type { HashedFile } from './hash.ts'
import { PATIENCE_MS, type UploadProgress, untilAccepted, uploadBody } from './upload.ts'

/** The address to which many files are uploaded in one request, as a tar archive. */
export interface BundleAddress {
  url: string
  method: 'PUT'
  headers: Record<string, string>
  /** The maximum size of one request. */
  maxBytes: number
}

/** Content is passed to the connection in pieces of about this size. */
const PIECE_BYTES = 256 * 1024

/** Splits files into those that are sent in bundles and those that are sent one by one. */
export function splitBySize<Pair extends { file: HashedFile }>(
  pairs: Pair[],
  bundle: BundleAddress | undefined,
): { small: HashedFile[]; others: Pair[] } {
  const small = pairs.filter(({ file }) => file.size < BUNDLED_BELOW)
  if (!bundle || small.length < 2) return { small: [], others: pairs }
  return { small: small.map(({ file }) => file), others: pairs.filter(({ file }) => file.size >= BUNDLED_BELOW) }
}

/** Uploads files in bundles. After a broken connection, those that have not arrived are sent again. */
export async function sendBundles(
  files: HashedFile[],
  bundle: BundleAddress,
  progress: UploadProgress,
  { signal, patienceMs = PATIENCE_MS }: { signal?: AbortSignal | undefined; patienceMs?: number } = {},
): Promise<void> {
  const most = Math.min(bundle.maxBytes, BUNDLE_BYTES)
  for (const group of archivesOf(files, ({ size }) => size, most)) {
    let left = group
    const patience = { since: Date.now(), ms: patienceMs }
    await untilAccepted(patience, progress, signal, async (advance) => {
      const body = { size: sizeOf(left), open: () => archiveOf(left, advance) }
      const failure = await uploadBody(bundle.url, { name: 'The build', headers: bundle.headers, body, signal })
      if (!failure) return null
      if (failure.passing) {
        // Some of the files may have arrived before the connection broke.
        const missing = await missingFiles(bundle, signal).catch(() => null)
        const arrived = missing ? left.filter(({ sha256 }) => !missing.has(sha256)) : []
        if (arrived.length > 0) {
          patience.since = Date.now()
          left = left.filter(({ sha256 }) => missing?.has(sha256))
          await progress.arrived(arrived)
        }
      }
      return left.length === 0 ? null : failure
    })
    if (left.length > 0) await progress.arrived(left)
  }
}

/** Asks which files of the deploy have not arrived. */
export async function missingFiles(
  { url }: BundleAddress,
  signal: AbortSignal | undefined,
): Promise<Set<string> | null> {
  const answer = await send({ method: 'GET', url, signal })
  const text = await textOf(answer)
  return answer.status === 200 ? new Set(JSON.parse(text).missing as string[]) : null
}

const sizeOf = (files: HashedFile[]): number => files.reduce((sum, { size }) => sum + tarSizeOf(size), TAR_END_BYTES)

/** Reads files into a tar archive. @param advance called with the bytes of files */
function archiveOf(files: HashedFile[], advance: (bytes: number) => void): Readable {
  const pieces = async function* () {
    let parts: Uint8Array[] = []
    let bytes = 0
    for (const file of files) {
      // Reading a small file at once takes a fraction of what a stream takes.
      const content = readFileSync(file.file)
      if (content.length !== file.size) throw changed(file)
      parts.push(tarHeader(file.sha256, file.size), content, new Uint8Array(paddingOf(file.size)))
      bytes += file.size
      if (bytes < PIECE_BYTES) continue
      yield Buffer.concat(parts)
      advance(bytes)
      parts = []
      bytes = 0
      await nextTurn()
    }
    yield Buffer.concat([...parts, new Uint8Array(TAR_END_BYTES)])
    advance(bytes)
  }
  return Readable.from(pieces(), { objectMode: false, highWaterMark: PIECE_BYTES })
}

const changed = ({ path }: HashedFile) =>
  new CliError(`${path} changed while it was being sent.`, {
    code: 'digest_mismatch',
    hint: 'Run the same command again when the build is finished.',
  })
