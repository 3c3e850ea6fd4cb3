import { createReadStream } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { backOff, isPassing, problemIn, retryAfter } from '../api.ts'
import { CliError, fileReason } from '../errors.ts'
import { ConnectionError, send, textOf, unreachable } from '../http.ts'
import { forEach } from './concurrently.ts'
import type { HashedFile } from './hash.ts'

/** The upload address of a file's bytes. */
export interface Upload {
  path: string
  uploadUrl: string
  method: 'PUT'
  headers: Record<string, string>
}

/** Progress events of an upload. */
export interface UploadProgress {
  /** Called with the number of sent bytes, or a negative number for bytes to be sent again. */
  advance(bytes: number): void
  arrived(file: HashedFile): Promise<void>
  /** Called while the platform does not respond. */
  waiting(reason: string): void
}

/**
 * The number of parallel uploads. More would not be faster on one internet connection; one would wait too long between
 * small files.
 */
const CONCURRENCY = 8
/** How long the platform may be unreachable, for example during a restart, before the deploy fails, in milliseconds. */
const PATIENCE_MS = 15_000

/** Uploads files in parallel. A file is sent again when the connection breaks, until `PATIENCE_MS` has passed. */
export async function uploadFiles(
  uploads: { upload: Upload; file: HashedFile }[],
  progress: UploadProgress,
  { signal, patienceMs = PATIENCE_MS }: { signal?: AbortSignal | undefined; patienceMs?: number },
): Promise<void> {
  // All uploads share one clock, which measures the time since the platform last accepted a file.
  let lastSuccess = Date.now()
  await forEach(CONCURRENCY, uploads, async ({ upload, file }) => {
    for (let attempt = 1; ; attempt++) {
      let sent = 0
      const advance = (bytes: number) => {
        sent += bytes
        progress.advance(bytes)
      }
      const failure = await put(upload, file, advance, signal)
      if (!failure) {
        lastSuccess = Date.now()
        await progress.arrived(file)
        return
      }
      progress.advance(-sent)
      if (!failure.passing || Date.now() - lastSuccess > patienceMs) throw failure.error
      progress.waiting(failure.error.message)
      await wait(failure.afterMs ?? Math.min(backOff(attempt), 4000), undefined, { signal })
    }
  })
}

interface Failure {
  error: CliError
  /** Whether another attempt may succeed. */
  passing: boolean
  afterMs?: number | null
}

async function put(
  { uploadUrl, method, headers }: Upload,
  { file, path, size }: HashedFile,
  advance: (bytes: number) => void,
  signal: AbortSignal | undefined,
): Promise<Failure | null> {
  try {
    const open = () =>
      createReadStream(file, { highWaterMark: 256 * 1024 }).on('data', (chunk) => advance(chunk.length))
    const answer = await send({ method, url: uploadUrl, headers, body: { size, open }, signal })
    const text = await textOf(answer)
    if (answer.status < 300) return null
    const { code, message } = problemIn(text) ?? { code: 'failed', message: `it was answered with ${answer.status}` }
    const error = new CliError(`${path} was not taken: ${message}`, { code, ...hintFor(answer.status, code, path) })
    return { error, passing: isPassing(answer.status, code), afterMs: retryAfter(answer) }
  } catch (error) {
    if (signal?.aborted) throw error
    if (error instanceof ConnectionError) return { error: unreachable(new URL(uploadUrl).origin, error), passing: true }
    throw new CliError(`${file} can't be read: ${fileReason(error)}.`, { code: 'unreadable', cause: error })
  }
}

function hintFor(status: number, code: string, path: string): { hint?: string } {
  if (code === 'digest_mismatch' || status === 422) {
    return { hint: `${path} changed while it was being sent. Run the same command again when the build is finished.` }
  }
  if (code === 'storage_full') {
    return {
      hint: "The platform's disk is full: its host has to make room. Then run the same command; it goes on from here.",
    }
  }
  return {}
}
