import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { isPlatformError, NotFound } from '../../core/errors.ts'
import { isId, newId } from '../../core/ids.ts'
import { cutPage, type PageQuery } from '../../core/pagination.ts'
import { BlobNotFound, DigestMismatch, type Storage } from '../../drivers/storage/interface.ts'
import type { Game } from '../games/index.ts'
import { blobKey, ownedBy, reserve, uploadKey } from './blobs.ts'
import { checkFiles } from './check-files.ts'
import { forEach } from './concurrently.ts'
import { DeployRow, DeployUpload, ManifestRow } from './entities.ts'
import { DeployClosed, DeployExpired, DeployIsLive, IncompleteDeploy, NoPreviews, NotRestorable } from './errors.ts'
import { goLive, keepAside } from './go-live.ts'
import { type Contents, type Manifest, Manifests, serialize } from './manifests.ts'
import { previewId, previewUrl } from './previews.ts'
import type {
  Deploy,
  DeployLimits,
  DeployState,
  FinalizedDeploy,
  NewDeploy,
  NewFile,
  StartedDeploy,
} from './schemas.ts'
import { UploadLog } from './upload-log.ts'

declare module '../../core/events.ts' {
  interface DomainEvents {
    /** A game is served from another deploy now. */
    'deploy.live': { gameId: string; deployId: string; slug: string }
    /** A deploy that was not live is no more. */
    'deploy.removed': { gameId: string; deployId: string; slug: string }
  }
}

/** How long a deploy takes uploads. */
const UPLOADS_END_MS = 24 * 60 * 60 * 1000
/** Uploads that are verified side by side. */
const CONCURRENCY = 16
/** Missing files that an answer lists. */
const SHOWN = 100

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events' | 'games' | 'jobs' | 'origins'> & { storage: Storage }

/**
 * Deploys: a build is a manifest (path, digest, size, type), and what a game's origin serves is one manifest. Bytes are
 * kept by digest and never change, so going live is one row that flips.
 */
export class Deploys {
  readonly manifests: Manifests
  readonly #parts: Parts
  readonly #limits: DeployLimits
  readonly #uploads: UploadLog

  constructor(parts: Parts, limits: DeployLimits) {
    this.#parts = parts
    this.#limits = limits
    this.manifests = new Manifests(parts.db)
    this.#uploads = new UploadLog(parts.db)
    parts.events.on('deploy.compressed', ({ deployId }) => this.manifests.forget(deployId))
    parts.events.on('deploy.removed', ({ deployId }) => this.manifests.forget(deployId))
  }

  /**
   * Begins a deploy and says where the bytes are to be sent that are wanted: those that no finalized deploy of the same
   * owner had.
   *
   * @throws NotFound when the game is not the owner's
   * @throws InvalidRequest, PayloadTooLarge for files that can't be published
   */
  async start(ownerId: string, deploy: NewDeploy): Promise<StartedDeploy> {
    const { deployId, wanted, expiresAt, unchanged } = await this.begin(ownerId, deploy)
    const uploads = await Promise.all(wanted.map((file) => this.#presign(deployId, file, expiresAt)))
    return { deployId, uploads, expiresAt: expiresAt.toISOString(), unchanged }
  }

  /** As `start`, for those who bring the bytes themselves, by `store`. */
  async begin(
    ownerId: string,
    { gameId, files, message }: NewDeploy,
  ): Promise<{ deployId: string; wanted: NewFile[]; expiresAt: Date; unchanged: number }> {
    const { db, clock, games } = this.#parts
    const game = await games.mustOwn(ownerId, gameId)
    checkFiles(files, this.#limits)
    const createdAt = clock.now()
    const expiresAt = new Date(createdAt.getTime() + UPLOADS_END_MS)
    const deployId = newId('dep', createdAt)
    const wanted = new Map(files.map((file) => [file.sha256, file]))
    const digests = [...wanted.keys()].sort()
    await db.transaction(async (em) => {
      await reserve(em, digests, createdAt)
      await em.insert(ManifestRow, { deployId, files: serialize(files) })
      await em.insert(DeployRow, {
        id: deployId,
        gameId: game.id,
        ownerId,
        state: 'uploading',
        message: message?.trim() || null,
        failure: null,
        fileCount: files.length,
        unchangedCount: 0,
        totalBytes: files.reduce((sum, file) => sum + file.size, 0),
        createdAt,
        expiresAt,
        liveAt: null,
      })
    })
    // After they are reserved: what is the owner's now stays so for as long as this deploy may be finalized.
    const owned = await ownedBy(db, ownerId, digests)
    const unchanged = files.filter((file) => owned.has(file.sha256)).length
    if (unchanged > 0) await db.em().nativeUpdate(DeployRow, { id: deployId }, { unchangedCount: unchanged })
    return {
      deployId,
      wanted: [...wanted.values()].filter((file) => !owned.has(file.sha256)),
      expiresAt,
      unchanged,
    }
  }

  async #presign(deployId: string, file: NewFile, expiresAt: Date) {
    const { storage, origins } = this.#parts
    const { url, method, headers } = await storage.presignPut(uploadKey(deployId, file.sha256), file, {
      expiresAt,
      relay: `${origins.portal}/api/deploy/${deployId}/files/${file.sha256}`,
    })
    return { path: file.path, uploadUrl: url, method, headers }
  }

  /**
   * Sees that every file is there and puts the build live: who asks the game's origin afterwards gets the new build,
   * and nobody ever a mixture. Repeating it gives the same answer and changes nothing.
   *
   * @param options `preview`: leave what is live as it is, and only open the preview; `rollback` puts it live later
   * @throws NotFound when the deploy is not the player's
   * @throws NoPreviews where games have ports instead of names
   * @throws IncompleteDeploy with the paths that are missing, or whose bytes are not those announced
   * @throws DeployExpired
   */
  async finalize(
    playerId: string,
    deployId: string,
    { preview = false }: { preview?: boolean } = {},
  ): Promise<FinalizedDeploy> {
    const { deploy, game } = await this.#mustOwn(playerId, deployId)
    const previewAt = preview ? previewUrl(this.#parts.origins, game.slug, deployId) : undefined
    if (previewAt === null) throw new NoPreviews()
    const answer = (game: Game) => ({ ...this.#answer(game), ...(previewAt ? { previewUrl: previewAt } : {}) })
    if (isFinalized(deploy)) return answer(game)
    this.#mustTakeFiles(deploy)
    const { db, clock } = this.#parts
    await db.em().nativeUpdate(DeployRow, { id: deployId, state: 'uploading' }, { state: 'finalizing' })
    try {
      await this.#collectUploads(deploy, (await this.manifests.contentsOf(deployId)) as Contents)
      const from = ['uploading', 'finalizing'] as const
      if (preview) await keepAside(this.#parts, { deployId, from })
      else if (await goLive(this.#parts, { deployId, gameId: game.id, from, now: clock.now() }))
        await this.#announce(deploy, game)
    } catch (error) {
      // As it was: more files may come, and the next attempt begins anew. Should this fail too, `finalizing` is
      // treated alike everywhere.
      const reopen = db.em().nativeUpdate(DeployRow, { id: deployId, state: 'finalizing' }, { state: 'uploading' })
      await reopen.catch(() => {})
      throw error
    }
    // Another call may have been first, and another deploy may be live since: the answer is the same.
    const after = await this.#mustOwn(playerId, deployId)
    if (!isFinalized(after.deploy)) this.#mustTakeFiles(after.deploy)
    return answer(after.game)
  }

  /**
   * Verifies the bytes of a deploy that no earlier one brought. Those of earlier ones were verified then, and nothing
   * that a deploy of today names is ever removed.
   */
  async #collectUploads(deploy: DeployRow, contents: Contents): Promise<void> {
    const { db, storage } = this.#parts
    const received = await db.query<{ sha256: string }>('select sha256 from deploy_uploads where deploy_id = ?', [
      deploy.id,
    ])
    const relayed = new Set(received.map((row) => row.sha256))
    const owned = await ownedBy(db, deploy.ownerId, [...contents.keys()])
    const missing: { path: string; message: string }[] = []
    await forEach(CONCURRENCY, [...contents], async ([sha256, { size, path }]) => {
      if (owned.has(sha256)) return
      try {
        if (relayed.has(sha256)) await storage.commitPut(blobKey(sha256), { sha256, size })
        else await this.#adopt(deploy.id, { sha256, size })
      } catch (error) {
        if (error instanceof BlobNotFound) {
          // Another finalize of the same deploy may have been faster: it notes what it took over before it deletes it.
          const sql = 'select 1 as one from deploy_uploads where deploy_id = ? and sha256 = ?'
          if ((await db.query(sql, [deploy.id, sha256])).length > 0) return
          if ((await ownedBy(db, deploy.ownerId, [sha256])).has(sha256)) return
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

  /** Takes over what a client sent straight to the storage. @throws BlobNotFound, DigestMismatch */
  async #adopt(deployId: string, expected: { sha256: string; size: number }): Promise<void> {
    const { storage } = this.#parts
    const from = uploadKey(deployId, expected.sha256)
    await storage.commitPut(from, expected)
    await storage.copy(from, blobKey(expected.sha256), expected)
    await this.recordUpload(deployId, expected.sha256)
    await storage.delete(from)
  }

  /**
   * Takes bytes of a deploy that is begun.
   *
   * @throws DigestMismatch, StorageFull: nothing is kept. DeployClosed, DeployExpired
   */
  async store(deployId: string, expected: { sha256: string; size: number }, body: Readable): Promise<void> {
    await this.#parts.storage.put(blobKey(expected.sha256), body, expected)
    await this.recordUpload(deployId, expected.sha256)
  }

  /**
   * Notes that the bytes of a deploy have come. It counts for this deploy alone until that is finalized.
   *
   * @throws DeployExpired when the deploy takes no more files
   */
  async recordUpload(deployId: string, sha256: string): Promise<void> {
    if (!(await this.#uploads.add(deployId, sha256))) this.#mustTakeFiles(await this.row(deployId))
  }

  /** @throws NotFound, DeployExpired unless it takes files */
  async mustTakeFiles(deployId: string): Promise<void> {
    const [row] = await this.#parts.db.query<{ state: DeployState; expiresAt: number }>(
      'select state, expires_at as "expiresAt" from deploys where id = ?',
      [deployId],
    )
    if (!row) throw new NotFound('deploy')
    this.#mustTakeFiles({ state: row.state, expiresAt: new Date(row.expiresAt) })
  }

  #mustTakeFiles({ state, expiresAt }: Pick<DeployRow, 'state' | 'expiresAt'>): void {
    if (state === 'failed' || isFinalized({ state })) throw new DeployClosed()
    if (state === 'expired' || expiresAt <= this.#parts.clock.now()) throw new DeployExpired()
  }

  /**
   * Puts a deploy that was live before live again. Repeating it changes nothing.
   *
   * @throws NotFound when the deploy is not the player's
   * @throws NotRestorable when it never was live
   */
  async rollback(playerId: string, deployId: string): Promise<FinalizedDeploy> {
    const { deploy, game } = await this.#mustOwn(playerId, deployId)
    if (!isFinalized(deploy)) throw new NotRestorable()
    const now = this.#parts.clock.now()
    if (await goLive(this.#parts, { deployId, gameId: game.id, from: ['superseded'], now })) {
      await this.#announce(deploy, game)
    }
    return this.#answer(game)
  }

  /**
   * Takes a deploy out of the history. Its bytes go when no other deploy has them, a day later.
   *
   * @throws NotFound when the deploy is not the player's
   * @throws DeployIsLive
   */
  async remove(playerId: string, deployId: string): Promise<void> {
    const { game } = await this.#mustOwn(playerId, deployId)
    const { db, events } = this.#parts
    await db.transaction(async (em) => {
      const removed = await em.nativeDelete(DeployRow, { id: deployId, state: { $ne: 'live' } })
      if (removed === 0) {
        if (await em.findOne(DeployRow, { id: deployId })) throw new DeployIsLive()
        throw new NotFound('deploy')
      }
      await em.nativeDelete(ManifestRow, { deployId })
      await em.nativeDelete(DeployUpload, { deployId })
    })
    await events.emit('deploy.removed', { gameId: game.id, deployId, slug: game.slug })
  }

  /** Ends a deploy that nobody can go on with, and says why. One that is over already stays as it is. */
  async fail(deployId: string, failure: string): Promise<void> {
    await this.#parts.db.transaction(async (em) => {
      const failed = await em.nativeUpdate(
        DeployRow,
        { id: deployId, state: { $in: ['uploading', 'finalizing'] } },
        { state: 'failed', failure: failure.slice(0, 500) },
      )
      if (failed > 0) await em.nativeDelete(DeployUpload, { deployId })
    })
  }

  /** Which deploy `<slug>--<short>.<domain>` shows; null when none, or it never was live. */
  async byPreview(gameId: string, short: string): Promise<string | null> {
    return previewId(this.#parts.db, gameId, short)
  }

  /** @throws NotFound when the deploy is not the player's */
  async get(playerId: string, deployId: string): Promise<Deploy> {
    const { deploy, game } = await this.#mustOwn(playerId, deployId)
    return this.#toDeploy(deploy, game)
  }

  /** The deploys of a game of one's own, newest first. @throws NotFound */
  async list(
    playerId: string,
    gameId: string,
    { limit, cursor }: PageQuery,
  ): Promise<{ deploys: Deploy[]; nextCursor: string | null }> {
    const game = await this.#parts.games.mustOwn(playerId, gameId)
    const rows = await this.#parts.db
      .em()
      .find(
        DeployRow,
        { gameId: game.id, ...(cursor ? { id: { $lt: cursor } } : {}) },
        { orderBy: { id: 'desc' }, limit: limit + 1 },
      )
    const { page, nextCursor } = cutPage(rows, limit)
    return { deploys: page.map((row) => this.#toDeploy(row, game)), nextCursor }
  }

  /** The files of a deploy by path, from memory where it can be; null when there is no such deploy. */
  manifest(deployId: string): Promise<Manifest | null> {
    return this.manifests.of(deployId)
  }

  /** The storage key of a file's bytes. */
  blobKey(sha256: string): string {
    return blobKey(sha256)
  }

  /** @throws NotFound */
  async row(deployId: string): Promise<DeployRow> {
    const row = isId('dep', deployId) ? await this.#parts.db.em().findOne(DeployRow, { id: deployId }) : null
    if (!row) throw new NotFound('deploy')
    return row
  }

  async #mustOwn(playerId: string, deployId: string): Promise<{ deploy: DeployRow; game: Game }> {
    const deploy = await this.row(deployId)
    // The game decides: it may have been deleted, or given to somebody else, since.
    const game = await this.#parts.games.mustOwn(playerId, deploy.gameId).catch((error) => {
      throw isPlatformError(error) && error.statusCode === 404 ? new NotFound('deploy') : error
    })
    return { deploy, game }
  }

  async #announce(deploy: DeployRow, game: Game): Promise<void> {
    const { games, events } = this.#parts
    await games.announce(game)
    await events.emit('deploy.live', { gameId: game.id, deployId: deploy.id, slug: game.slug })
  }

  #toDeploy(row: DeployRow, game: Game): Deploy {
    return {
      id: row.id,
      gameId: row.gameId,
      state: row.state,
      message: row.message ?? null,
      failure: row.failure ?? null,
      files: row.fileCount,
      unchanged: row.unchangedCount,
      bytes: row.totalBytes,
      createdAt: row.createdAt.toISOString(),
      expiresAt: row.expiresAt.toISOString(),
      liveAt: row.liveAt?.toISOString() ?? null,
      previewUrl: isFinalized(row) ? previewUrl(this.#parts.origins, game.slug, row.id) : null,
    }
  }

  #answer(game: Game): FinalizedDeploy {
    const origin = this.#parts.origins.game(game.slug)
    return {
      url: origin,
      playUrl: game.playUrl,
      manageUrl: game.manageUrl,
      auth: {
        enabled: true,
        clientId: game.clientId,
        startUrl: `${origin}/auth/service/start`,
        sessionUrl: `${origin}/auth/service/session`,
      },
      multiplayer: {
        enabled: game.settings.multiplayer.enabled,
        url: `${origin.replace(/^http/, 'ws')}/mp/rooms/{roomId}`,
        client: `${origin}/__service/multiplayer.js`,
      },
    }
  }
}

const isFinalized = ({ state }: Pick<DeployRow, 'state'>) => state === 'live' || state === 'superseded'
