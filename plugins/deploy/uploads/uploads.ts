import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { NotFound } from '../../../core/errors.ts'
import { BlobNotFound, DigestMismatch, type Storage } from '../../../drivers/storage/interface.ts'
import { blobKey, uploadKey } from '../blobs/blobs.ts'
import { knownBlobs, type Uploader } from '../blobs/known-blobs.ts'
import { forEach } from '../concurrency.ts'
import { type DeployRow, uploaderOf } from '../entities.ts'
import { DeployClosed, DeployExpired, IncompleteDeploy } from '../errors.ts'
import type { Contents } from '../manifest/manifests.ts'
import type { DeployState, NewFile, StartedDeploy } from '../schemas.ts'
import { SecretCheck } from '../secrets/secret-check.ts'
import type { VerifiedFile } from './batch-writer.ts'
import { UploadLog } from './upload-log.ts'

/** The number of uploads that are verified concurrently. */
const CONCURRENCY = 16
/** The number of upload addresses that are signed in one turn of the event loop. */
const SIGNED_AT_ONCE = 500
/** The maximum number of missing files in a response. */
const SHOWN = 100

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'identity' | 'origins'> & { storage: Storage }

/** What is read of a deploy whose files are verified. */
type UploadedDeploy = Pick<DeployRow, 'id' | 'ownerId' | 'playerId' | 'gameId'>

/** The announced data of a file. */
export type ExpectedFile = Pick<NewFile, 'sha256' | 'size'>

/**
 * The uploads of open deploys: their addresses, their arrival, and their verification. A file reaches the storage in
 * one of two ways: through this server, which hashes it as it streams, or straight from the client, in which case
 * `verify` hashes it.
 */
export class Uploads {
  readonly #parts: Parts
  readonly #log: UploadLog
  readonly #secrets: SecretCheck

  constructor(parts: Parts) {
    this.#parts = parts
    this.#log = new UploadLog(parts.db)
    this.#secrets = new SecretCheck(parts)
  }

  /** Returns the address to which a file of a deploy is uploaded. */
  async presign(deployId: string, file: NewFile, expiresAt: Date): Promise<StartedDeploy['uploads'][number]> {
    const { storage, origins } = this.#parts
    const { url, method, headers } = await storage.presignPut(uploadKey(deployId, file.sha256), file, {
      expiresAt,
      relay: `${origins.portal}/api/deploy/${deployId}/files/${file.sha256}`,
    })
    return { path: file.path, uploadUrl: url, method, headers }
  }

  /** Returns the addresses of several files. */
  async presignAll(deployId: string, files: readonly NewFile[], expiresAt: Date): Promise<StartedDeploy['uploads']> {
    const uploads: StartedDeploy['uploads'] = []
    for (let start = 0; start < files.length; start += SIGNED_AT_ONCE) {
      await nextTurn()
      const some = files.slice(start, start + SIGNED_AT_ONCE)
      for (const upload of await Promise.all(some.map((file) => this.presign(deployId, file, expiresAt)))) {
        uploads.push(upload)
      }
    }
    return uploads
  }

  /**
   * Stores a file of a deploy, and records that it arrived.
   *
   * @throws DigestMismatch, StorageFull: nothing is kept
   * @throws NotFound, DeployClosed, DeployExpired
   */
  async store(deployId: string, expected: ExpectedFile, body: Readable): Promise<void> {
    const scanned = this.#secrets.scan(deployId, expected.sha256, body)
    await this.#parts.storage.put(blobKey(expected.sha256), scanned.body, expected)
    await scanned.record()
    await this.#record(deployId, expected.sha256)
  }

  /**
   * Does the same for many small files, with few waits for the disk and one transaction.
   *
   * @param files at most a few MB together
   * @throws DigestMismatch, StorageFull, NotFound, DeployClosed, DeployExpired: any of the files may be kept
   */
  async storeAll(deployId: string, files: readonly VerifiedFile[]): Promise<void> {
    const { storage } = this.#parts
    if (storage.putAll)
      await storage.putAll(files.map(({ sha256, bytes }) => ({ key: blobKey(sha256), bytes, sha256 })))
    else {
      await forEach(CONCURRENCY, files, ({ sha256, bytes }) =>
        storage.put(blobKey(sha256), Readable.from([bytes], { objectMode: false }), { sha256, size: bytes.length }),
      )
    }
    await this.#secrets.scanAll(deployId, files)
    const noted = await this.#log.addAll(
      deployId,
      files.map(({ sha256 }) => sha256),
    )
    if (!noted) await this.mustTakeFiles(deployId)
  }

  /**
   * Records files whose bytes the caller knows to be in the storage, because it has stored them itself.
   *
   * @throws NotFound, DeployClosed, DeployExpired
   */
  async adopt(deployId: string, files: readonly NewFile[]): Promise<void> {
    await forEach(CONCURRENCY, files, (file) => this.#secrets.scanStored(deployId, file))
    const digests = files.map(({ sha256 }) => sha256)
    if (digests.length > 0 && !(await this.#log.addAll(deployId, digests))) await this.mustTakeFiles(deployId)
  }

  /** Lists the digests of files that have not arrived. Direct uploads to the storage count after `verify` only. */
  async missing(deployId: string, contents: Contents): Promise<string[]> {
    const [deploy] = await this.#parts.db.query<Uploader>(
      `select coalesce(player_id, owner_id) as "playerId", game_id as "gameId" from deploys where id = ?`,
      [deployId],
    )
    if (!deploy) throw new NotFound('deploy')
    const there = await this.#known(deploy, [...contents.keys()])
    for (const sha256 of await this.#received(deployId)) there.add(sha256)
    return [...contents.keys()].filter((sha256) => !there.has(sha256))
  }

  #known(uploader: Uploader, digests: string[]): Promise<Set<string>> {
    return knownBlobs((sql, values) => this.#parts.db.query(sql, values), uploader, digests)
  }

  async #received(deployId: string): Promise<string[]> {
    const sql = 'select sha256 from deploy_uploads where deploy_id = ?'
    return (await this.#parts.db.query<{ sha256: string }>(sql, [deployId])).map(({ sha256 }) => sha256)
  }

  /** The record counts for this deploy only until it is finalized. */
  async #record(deployId: string, sha256: string): Promise<void> {
    if (!(await this.#log.add(deployId, sha256))) await this.mustTakeFiles(deployId)
  }

  /** Requires a deploy that accepts files. @throws NotFound, DeployClosed, DeployExpired */
  async mustTakeFiles(deployId: string): Promise<void> {
    const [row] = await this.#parts.db.query<{ state: DeployState; expiresAt: number }>(
      'select state, expires_at as "expiresAt" from deploys where id = ?',
      [deployId],
    )
    if (!row) throw new NotFound('deploy')
    this.mustBeOpen({ state: row.state, expiresAt: new Date(row.expiresAt) })
  }

  /** Does the same for a deploy that has been read. @throws DeployClosed, DeployExpired */
  mustBeOpen({ state, expiresAt }: Pick<DeployRow, 'state' | 'expiresAt'>): void {
    if (state === 'failed' || isFinalized({ state })) throw new DeployClosed()
    if (state === 'expired' || expiresAt <= this.#parts.clock.now()) throw new DeployExpired()
  }

  /**
   * Verifies the files that were uploaded for this deploy. Files of earlier deploys were verified then, files that came
   * through this server before they were recorded, and blobs that an open deploy names are never removed.
   *
   * @param allowSecrets whether the files may hold secrets that work on this platform
   * @throws IncompleteDeploy with the paths that are missing, or whose bytes are not the announced ones
   * @throws LiveSecret
   */
  async verify(deploy: UploadedDeploy, contents: Contents, allowSecrets: boolean): Promise<void> {
    await this.#verifyBytes(deploy, contents)
    if (!allowSecrets) await this.#secrets.refuse(deploy.id, contents)
  }

  async #verifyBytes(deploy: UploadedDeploy, contents: Contents): Promise<void> {
    const { db } = this.#parts
    const relayed = new Set(await this.#received(deploy.id))
    const owned = await this.#known(uploaderOf(deploy), [...contents.keys()])
    const missing: { path: string; message: string }[] = []
    const unverified = [...contents].filter(([sha256]) => !owned.has(sha256) && !relayed.has(sha256))
    await forEach(CONCURRENCY, unverified, async ([sha256, { size, path }]) => {
      try {
        await this.#moveToBlobs(deploy.id, { sha256, size, path })
      } catch (error) {
        if (error instanceof BlobNotFound) {
          // A concurrent finalize of the same deploy may have been faster: it records a file before it deletes the
          // upload.
          const sql = 'select 1 as one from deploy_uploads where deploy_id = ? and sha256 = ?'
          if ((await db.query(sql, [deploy.id, sha256])).length > 0) return
          if ((await this.#known(uploaderOf(deploy), [sha256])).has(sha256)) return
          missing.push({ path, message: 'has not been uploaded' })
        } else if (error instanceof DigestMismatch) missing.push({ path, message: 'was uploaded with other bytes' })
        else throw error
      }
    })
    if (missing.length === 0) return
    missing.sort((a, b) => (a.path < b.path ? -1 : 1))
    throw new IncompleteDeploy(
      `${missing[0]?.path} ${missing[0]?.message}${missing.length > 1 ? `, and ${missing.length - 1} more` : ''}`,
    ).with({ details: missing.slice(0, SHOWN) })
  }

  /** Moves a direct upload in the storage to its blob key. @throws BlobNotFound, DigestMismatch */
  async #moveToBlobs(deployId: string, expected: ExpectedFile & { path: string }): Promise<void> {
    const { storage } = this.#parts
    const from = uploadKey(deployId, expected.sha256)
    await storage.commitPut(from, expected)
    await storage.copy(from, blobKey(expected.sha256), expected)
    await this.#secrets.scanStored(deployId, expected)
    await this.#record(deployId, expected.sha256)
    await storage.delete(from)
  }
}

/** Whether a deploy is live or was live, or has a preview, so that all its files exist. */
export const isFinalized = ({ state }: Pick<DeployRow, 'state'>): boolean => state === 'live' || state === 'superseded'
