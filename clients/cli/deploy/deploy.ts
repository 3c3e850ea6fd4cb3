import type { Api } from '../api.ts'
import { CliError } from '../errors.ts'
import { type BundleAddress, missingFiles } from './bundles.ts'
import type { Build } from './folder.ts'
import { type HashedFile, hashFiles } from './hash.ts'
import { Journal } from './journal.ts'
import type { Replacements } from './replacements.ts'
import { sendFiles } from './send.ts'
import type { Upload } from './upload.ts'

export interface DeployRequest {
  game: { id: string; slug: string; title: string }
  build: Build
  message?: string | undefined
  /** Publishes at a preview address only; the live version does not change. */
  preview?: boolean
  /** The path of the room script in the build. */
  room?: string | undefined
  /** Ends the live rooms, so that new ones begin with this script. */
  restartRooms?: boolean
  /** Publishes files although they hold a secret that works on the platform. */
  allowSecrets?: boolean
  /** The program's state folder. */
  stateFolder: string
  signal?: AbortSignal | undefined
}

/** Progress events of a deploy. */
export interface DeployProgress {
  hashing(files: number, bytes: number): void
  /** Called when the deploy resumes an interrupted attempt. */
  resuming(startedAt: string, arrived: number): void
  uploading(files: number, bytes: number, unchanged: number): void
  advance(bytes: number): void
  arrived(files: number): void
  waiting(reason: string): void
  publishing(): void
}

/** The response of `POST /api/deploy/{id}/finalize`, and the statistics of this deploy. */
export interface DeployResult extends Replacements {
  deployId: string
  url: string
  playUrl: string
  manageUrl: string
  previewUrl?: string | null
  auth: unknown
  multiplayer: unknown
  /** Whether it is served cross-origin isolated, and why, in words. Absent from older platforms. */
  isolation?: { on: boolean; reason: string }
  /** What the platform found in the build. Absent from older platforms. */
  build?: {
    engine: { name: string; version: string | null } | null
    notes: { level: 'info' | 'warning'; code: string; path?: string; message: string }[]
  } | null
  files: number
  bytes: number
  /** The number of files that this run sent. */
  uploaded: number
  uploadedBytes: number
  /** Whether the deploy resumed an interrupted attempt. */
  resumed: boolean
  leftOut: string[]
  /** The name of the only page, which is published as `index.html`. */
  startPage?: string
}

interface Started {
  deployId: string
  uploads: Upload[]
  unchanged: number
  /** Absent when nothing is to be uploaded, and from older platforms. */
  bundle?: BundleAddress
}

/**
 * Publishes a build: announces its files, uploads the missing ones, and puts all of them live at once. After an
 * interruption the next call with the same build resumes where this one stopped.
 */
export async function deploy(api: Api, request: DeployRequest, progress: DeployProgress): Promise<DeployResult> {
  const { game, build, message, preview = false, room, restartRooms, allowSecrets, signal } = request
  progress.hashing(build.files.length, total(build.files))
  const files = await hashFiles(build.files, (bytes) => progress.advance(bytes))
  const body = {
    gameId: game.id,
    files: files.map(({ path, size, sha256 }) => ({ path, size, sha256 })),
    ...(message ? { message } : {}),
    ...(room === undefined ? {} : { room }),
  }
  const identity = { baseUrl: api.baseUrl, token: api.connection.token.slice(0, 16), preview, ...body }
  const journal = await Journal.open(request.stateFolder, identity)
  const started = await begin(api, journal, body)
  const { deployId } = started
  const byPath = new Map(files.map((file) => [file.path, file]))
  const resumed = journal.resumedFrom !== null
  const arrived = await journal.arrived(deployId)
  if (resumed && started.bundle) {
    // The journal does not list the files of a bundle that broke off, but the platform does.
    const missing = await missingFiles(started.bundle, signal).catch(() => null)
    const digests = started.uploads.map(({ path }) => byPath.get(path)?.sha256 as string)
    if (missing) for (const sha256 of digests) if (!missing.has(sha256)) arrived.add(sha256)
  }
  if (resumed) progress.resuming(journal.resumedFrom as string, arrived.size)

  let uploaded = 0
  let uploadedBytes = 0
  const sendAll = async (uploads: Upload[]) => {
    const pairs = uploads.map((upload) => ({ upload, file: byPath.get(upload.path) as HashedFile }))
    progress.uploading(pairs.length, total(pairs.map(({ file }) => file)), started.unchanged)
    const watch = {
      advance: (bytes: number) => progress.advance(bytes),
      waiting: (reason: string) => progress.waiting(reason),
      arrived: async (sent: HashedFile[]) => {
        uploaded += sent.length
        uploadedBytes += total(sent)
        await journal.note(
          deployId,
          sent.map(({ sha256 }) => sha256),
        )
        progress.arrived(sent.length)
      },
    }
    try {
      await sendFiles(pairs, started.bundle, watch, { signal })
    } catch (error) {
      throw interrupted(error, uploaded, pairs.length)
    }
  }
  await sendAll(started.uploads.filter(({ path }) => !arrived.has(byPath.get(path)?.sha256 ?? '')))

  progress.publishing()
  const finalize = () =>
    api.post<Omit<DeployResult, 'files'>>(`/api/deploy/${deployId}/finalize`, undefined, {
      query: {
        preview: preview || undefined,
        restartRooms: restartRooms || undefined,
        allowSecrets: allowSecrets || undefined,
      },
      repeatable: true,
      idleMs: 300_000,
    })
  const answer = await finalize().catch(async (error) => {
    // The platform may have lost files that the journal lists as uploaded. These are sent again.
    if (!(error instanceof CliError && error.code === 'incomplete_deploy')) throw error
    const missing = new Set(error.details.map(({ path }) => byPath.get(path)?.sha256))
    const again = started.uploads.filter(({ path }) => missing.has(byPath.get(path)?.sha256))
    if (again.length === 0) throw error
    await sendAll(again)
    return finalize()
  })
  await journal.end()
  return {
    ...answer,
    deployId,
    files: files.length,
    bytes: total(files),
    uploaded,
    uploadedBytes,
    resumed,
    leftOut: build.leftOut,
    ...(build.startPage === undefined ? {} : { startPage: build.startPage }),
  }
}

/** Begins a deploy, or resumes the interrupted one. */
async function begin(api: Api, journal: Journal, body: unknown): Promise<Started> {
  const start = () =>
    api.post<Started>('/api/deploy', body, {
      headers: { 'idempotency-key': journal.key },
      repeatable: true,
      idleMs: 120_000,
    })
  if (journal.resumedFrom) {
    const earlier = await start().catch((error) => {
      // A request that never ended still holds the idempotency key, so this attempt can't be resumed.
      if (error instanceof CliError && error.code === 'conflict') return null
      throw error
    })
    if (earlier && (await takesFiles(api, earlier.deployId))) return earlier
    await journal.restart()
  }
  return start()
}

/** Returns whether a deploy still waits for files. It may have ended without a response to this client. */
async function takesFiles(api: Api, deployId: string): Promise<boolean> {
  try {
    const { state } = await api.get<{ state: string }>(`/api/deploy/${deployId}`)
    return state === 'uploading' || state === 'finalizing'
  } catch (error) {
    // The deploy was removed, or this token may not read it, so a new one begins.
    if (error instanceof CliError && ['not_found', 'missing_scope'].includes(error.code)) return false
    throw error
  }
}

/** Adds to an error how it affects the deploy. */
function interrupted(error: unknown, done: number, all: number): unknown {
  if (!(error instanceof CliError)) return error
  if (error.code !== 'unreachable') return error
  return new CliError(`${error.message} ${done} of ${all} files had been sent.`, {
    code: 'interrupted',
    hint: 'Nothing was published; players see the version before. Run the same command again: it goes on from here.',
    cause: error,
  })
}

const total = (files: { size: number }[]): number => files.reduce((sum, { size }) => sum + size, 0)
