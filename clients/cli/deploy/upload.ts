import { createReadStream } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { backOff, isPassing, problemIn, retryAfterMs } from '../api.ts'
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
  arrived(files: HashedFile[]): Promise<void>
  /** Called while the platform does not respond. */
  waiting(reason: string): void
}

/**
 * The number of parallel uploads. More would not be faster on one internet connection; one would wait too long between
 * small files.
 */
const CONCURRENCY = 8
/** How long the platform may be unreachable, for example during a restart, before the deploy fails, in milliseconds. */
export const PATIENCE_MS = 15_000

/** Uploads files in parallel. A file is sent again when the connection breaks, until `PATIENCE_MS` has passed. */
export async function uploadFiles(
  uploads: { upload: Upload; file: HashedFile }[],
  progress: UploadProgress,
  { signal, patienceMs = PATIENCE_MS }: { signal?: AbortSignal | undefined; patienceMs?: number },
): Promise<void> {
  const patience: Patience = { since: Date.now(), ms: patienceMs }
  await forEach(CONCURRENCY, uploads, async ({ upload, file }) => {
    await untilAccepted(patience, progress, signal, (advance) => {
      const open = () =>
        createReadStream(file.file, { highWaterMark: 256 * 1024 }).on('data', (chunk) => advance(chunk.length))
      const body = { size: file.size, open }
      return uploadBody(upload.uploadUrl, { name: file.path, headers: upload.headers, body, signal })
    })
    await progress.arrived([file])
  })
}

/** A clock that all uploads share, which measures the time since the platform last accepted something. */
export interface Patience {
  since: number
  ms: number
}

/** Repeats an upload while the platform is unreachable or busy, until the patience is at its end. */
export async function untilAccepted(
  patience: Patience,
  progress: UploadProgress,
  signal: AbortSignal | undefined,
  attempt: (advance: (bytes: number) => void) => Promise<Failure | null>,
): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    let sent = 0
    const failure = await attempt((bytes) => {
      sent += bytes
      progress.advance(bytes)
    })
    if (!failure) {
      patience.since = Date.now()
      return
    }
    progress.advance(-sent)
    if (!failure.passing || Date.now() - patience.since > patience.ms) throw failure.error
    progress.waiting(failure.error.message)
    await wait(failure.afterMs ?? Math.min(backOff(attempts), 4000), undefined, { signal })
  }
}

export interface Failure {
  error: CliError
  /** Whether another attempt may succeed. */
  passing: boolean
  afterMs?: number | null
}

interface UploadRequest {
  /** What is uploaded, for messages. */
  name: string
  headers: Record<string, string>
  body: { size: number; open: () => NodeJS.ReadableStream }
  signal: AbortSignal | undefined
}

/** Sends one body to a signed address. */
export async function uploadBody(url: string, { name, headers, body, signal }: UploadRequest): Promise<Failure | null> {
  try {
    const answer = await send({ method: 'PUT', url, headers, body, signal })
    const text = await textOf(answer)
    if (answer.status < 300) return null
    const { code, message } = problemIn(text) ?? { code: 'failed', message: `it was answered with ${answer.status}` }
    const error = new CliError(`${name} was not taken: ${message}`, { code, ...hintFor(answer.status, code, name) })
    return { error, passing: isPassing(answer.status, code), afterMs: retryAfterMs(answer) }
  } catch (error) {
    if (signal?.aborted || error instanceof CliError) throw error
    if (error instanceof ConnectionError) return { error: unreachable(new URL(url).origin, error), passing: true }
    throw new CliError(`${fileOf(error) ?? name} can't be read: ${fileReason(error)}.`, {
      code: 'unreadable',
      cause: error,
    })
  }
}

const fileOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).path

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
