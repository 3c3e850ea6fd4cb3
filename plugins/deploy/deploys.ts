import type { FastifyInstance } from 'fastify'
import { isPlatformError, NotFound } from '../../core/errors.ts'
import { cutPage, type PageQuery } from '../../core/http/pagination.ts'
import { isId, newId } from '../../core/ids.ts'
import { assertRoom, type Storage } from '../../drivers/storage/interface.ts'
import type { Game } from '../games/index.ts'
import { blobKey, ownedOfReserved, reserve } from './blobs/blobs.ts'
import { DeployRow, DeployUpload, ManifestRow } from './entities.ts'
import { DeployIsLive, DeployIsPinned, NoPreviews, NotPinnable, NotRestorable } from './errors.ts'
import { finalizePreview, goLive } from './go-live.ts'
import { checkFiles } from './manifest/check-files.ts'
import { type Contents, type Manifest, Manifests, serialize } from './manifest/manifests.ts'
import { previewId, previewUrl } from './previews.ts'
import { removeDeploy } from './retention.ts'
import type { Deploy, DeployLimits, FinalizedDeploy, NewDeploy, NewFile, StartedDeploy } from './schemas.ts'
import { releaseStorage, STORED_KIND } from './stored-bytes.ts'
import { isFinalized, Uploads } from './uploads/uploads.ts'

declare module '../../core/events.ts' {
  interface DomainEvents {
    /** A game is now served from another deploy. */
    'deploy.live': { gameId: string; deployId: string; slug: string }
    /** A deploy that was not live was removed. */
    'deploy.removed': { gameId: string; deployId: string; slug: string }
  }
}

/** The time for which a deploy accepts uploads. */
const UPLOADS_END_MS = 24 * 60 * 60 * 1000

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events' | 'games' | 'jobs' | 'origins' | 'quotas'> & {
  storage: Storage
}

/**
 * Deploys: a build is a manifest (path, digest, size, type), and a game's origin serves one manifest. Blobs are stored
 * by digest and never change, so going live changes one row.
 */
export class Deploys {
  readonly manifests: Manifests
  /** The uploads of open deploys. */
  readonly uploads: Uploads
  readonly #parts: Parts
  readonly #limits: DeployLimits

  constructor(parts: Parts, limits: DeployLimits) {
    this.#parts = parts
    this.#limits = limits
    this.manifests = new Manifests(parts.db)
    this.uploads = new Uploads(parts)
    parts.events.on('deploy.compressed', ({ deployId }) => this.manifests.forget(deployId))
    parts.events.on('deploy.removed', ({ deployId }) => this.manifests.forget(deployId))
  }

  /**
   * Begins a deploy and returns upload addresses for the missing files: those that no finalized deploy of the same
   * owner contains.
   *
   * @throws NotFound when the game is not the owner's
   * @throws InvalidRequest, PayloadTooLarge for files that can't be published
   * @throws QuotaExceeded when its files are more than the owner may store, or upload today: nothing is changed
   * @throws StorageFull when the disk is
   */
  async start(ownerId: string, deploy: NewDeploy): Promise<StartedDeploy> {
    const { deployId, wanted, expiresAt, unchanged } = await this.begin(ownerId, deploy)
    const uploads = await Promise.all(wanted.map((file) => this.uploads.presign(deployId, file, expiresAt)))
    return { deployId, uploads, expiresAt: expiresAt.toISOString(), unchanged }
  }

  /** Does the same as `start`, for callers that provide the bytes themselves by `uploads.store`. */
  async begin(
    ownerId: string,
    { gameId, files, message }: NewDeploy,
  ): Promise<{ deployId: string; wanted: NewFile[]; expiresAt: Date; unchanged: number }> {
    const { db, clock, games, quotas } = this.#parts
    const game = await games.mustOwn(ownerId, gameId)
    checkFiles(files, this.#limits)
    await assertRoom(this.#parts.storage)
    const createdAt = clock.now()
    const expiresAt = new Date(createdAt.getTime() + UPLOADS_END_MS)
    const deployId = newId('dep', createdAt)
    const wanted = new Map(files.map((file) => [file.sha256, file]))
    const digests = [...wanted.keys()].sort()
    const blobs = [...wanted.values()].map(({ sha256, size }) => ({ sha256, bytes: size }))
    const { owned, unchanged } = await db.transaction(async (em) => {
      await reserve(em, digests, createdAt)
      const owned = await ownedOfReserved(em, ownerId, digests)
      const unchanged = files.filter((file) => owned.has(file.sha256)).length
      const uploaded = blobs.reduce((sum, { sha256, bytes }) => sum + (owned.has(sha256) ? 0 : bytes), 0)
      await quotas.add(em, ownerId, { kind: STORED_KIND, blobs }, { uploaded })
      await em.insert(ManifestRow, { deployId, files: serialize(files) })
      await em.insert(DeployRow, {
        id: deployId,
        gameId: game.id,
        ownerId,
        state: 'uploading',
        message: message?.trim() || null,
        failure: null,
        fileCount: files.length,
        unchangedCount: unchanged,
        totalBytes: files.reduce((sum, file) => sum + file.size, 0),
        createdAt,
        expiresAt,
        liveAt: null,
        pinned: false,
      })
      return { owned, unchanged }
    })
    return {
      deployId,
      wanted: [...wanted.values()].filter((file) => !owned.has(file.sha256)),
      expiresAt,
      unchanged,
    }
  }

  /**
   * Verifies that every file has arrived and puts the build live. Later requests to the game's origin get the new
   * build, and no request gets a mixture. Repeating the call returns the same result and changes nothing.
   *
   * @param options `preview`: leave the live build, and only open the preview; `rollback` puts it live later
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
    this.uploads.mustBeOpen(deploy)
    const { db, clock } = this.#parts
    await db.em().nativeUpdate(DeployRow, { id: deployId, state: 'uploading' }, { state: 'finalizing' })
    try {
      await this.uploads.verify(deploy, (await this.manifests.contentsOf(deployId)) as Contents)
      const from = ['uploading', 'finalizing'] as const
      if (preview) await finalizePreview(this.#parts, { deployId, from })
      else if (await goLive(this.#parts, { deployId, gameId: game.id, from, now: clock.now() }))
        await this.#announce(deploy, game)
    } catch (error) {
      // The deploy reopens: more files may arrive, and the next attempt starts again. If this update fails too, the
      // state `finalizing` is treated like the open one everywhere.
      const reopen = db.em().nativeUpdate(DeployRow, { id: deployId, state: 'finalizing' }, { state: 'uploading' })
      await reopen.catch(() => {})
      throw error
    }
    // A concurrent call may have been first, and another deploy may have gone live since. The result is the same.
    const after = await this.#mustOwn(playerId, deployId)
    if (!isFinalized(after.deploy)) this.uploads.mustBeOpen(after.deploy)
    return answer(after.game)
  }

  /**
   * Puts an earlier live deploy live again. Repeating the call changes nothing.
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
   * Removes a deploy from the history. Blobs that no other deploy contains are deleted a day later.
   *
   * @throws NotFound when the deploy is not the player's
   * @throws DeployIsLive, DeployIsPinned
   */
  async remove(playerId: string, deployId: string): Promise<void> {
    const { deploy, game } = await this.#mustOwn(playerId, deployId)
    if (deploy.pinned) throw new DeployIsPinned()
    if (await removeDeploy(this.#parts, game.id, deployId)) return
    if (await this.#parts.db.em().findOne(DeployRow, { id: deployId })) throw new DeployIsLive()
    throw new NotFound('deploy')
  }

  /**
   * Protects a deploy from automatic deletion, or removes the protection.
   *
   * @throws NotFound when the deploy is not the player's
   * @throws NotPinnable while its files are incomplete
   */
  async pin(playerId: string, deployId: string, pinned: boolean): Promise<Deploy> {
    const { deploy, game } = await this.#mustOwn(playerId, deployId)
    if (pinned && !isFinalized(deploy)) throw new NotPinnable()
    const rows = await this.#parts.db.em().nativeUpdate(DeployRow, { id: deployId }, { pinned })
    if (rows === 0) throw new NotFound('deploy')
    return this.#toDeploy(Object.assign(deploy, { pinned }), game)
  }

  /** Ends a deploy that can't be continued, and records the reason. A deploy that has ended already stays unchanged. */
  async fail(deployId: string, failure: string): Promise<void> {
    await this.#parts.db.transaction(async (em) => {
      const failed = await em.nativeUpdate(
        DeployRow,
        { id: deployId, state: { $in: ['uploading', 'finalizing'] } },
        { state: 'failed', failure: failure.slice(0, 500) },
      )
      if (failed === 0) return
      await em.nativeDelete(DeployUpload, { deployId })
      await releaseStorage(em, this.#parts.quotas, [deployId])
    })
  }

  /** Returns the deploy at `<slug>--<short>.<domain>`; null when there is none, or it was never finalized. */
  async byPreview(gameId: string, short: string): Promise<string | null> {
    return previewId(this.#parts.db, gameId, short)
  }

  /** @throws NotFound when the deploy is not the player's */
  async get(playerId: string, deployId: string): Promise<Deploy> {
    const { deploy, game } = await this.#mustOwn(playerId, deployId)
    return this.#toDeploy(deploy, game)
  }

  /** Lists the deploys of a player's own game, newest first. @throws NotFound */
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

  /** Returns the files of a deploy by path, cached if possible; null when there is no such deploy. */
  manifest(deployId: string): Promise<Manifest | null> {
    return this.manifests.of(deployId)
  }

  /** Returns the storage key of a file's bytes. */
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
    // The game decides, since it may have been deleted or transferred.
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
      pinned: row.pinned,
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
