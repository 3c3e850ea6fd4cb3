import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { ByteRange } from '../../core/data/byte-range.ts'
import { InvalidRequest, isPlatformError, NotFound } from '../../core/errors.ts'
import { cutPage, mustBeCursor, type PageQuery } from '../../core/http/pagination.ts'
import { isId } from '../../core/ids.ts'
import { assertRoom, type Storage } from '../../drivers/storage/interface.ts'
import type { Game } from '../games/index.ts'
import { resumedDeploy, startedDeploy } from './announcement-answer.ts'
import { type BegunDeploy, beginDeploy } from './begin-deploy.ts'
import { blobKey, openBlob } from './blobs/blobs.ts'
import { falseSizes } from './blobs/false-sizes.ts'
import { examineDeploy } from './builds/examine-deploy.ts'
import { isolationOf } from './builds/isolation.ts'
import { BundleAddresses } from './bundle/bundle-address.ts'
import { copyDeploy, type DeployCopy } from './copy-deploy.ts'
import { DraftBuilds, isDraftId } from './drafts/draft-builds.ts'
import { DeployRow, uploaderOf } from './entities.ts'
import {
  DeployIsLive,
  DeployIsPinned,
  IncompleteDeploy,
  NoPreviews,
  NothingToRestart,
  NotPinnable,
  NotRestorable,
} from './errors.ts'
import { type FinalizeOptions, finalizePreview, goLive } from './go-live.ts'
import { checkFiles } from './manifest/check-files.ts'
import { type Manifest, Manifests } from './manifest/manifests.ts'
import { mustHaveFewOpen } from './open-deploys.ts'
import { previewUrl } from './previews.ts'
import { type NewBuild, publishFiles } from './publish-files.ts'
import { toDeploy, toDeploys, toFinalized } from './record.ts'
import { replacementsOf } from './replacements.ts'
import { pinDeploy, removeDeploy } from './retention.ts'
import { RoomScripts } from './room-script/room-scripts.ts'
import { verifyRoomScript } from './room-script/verify.ts'
import type { Deploy, DeployLimits, FinalizedDeploy, NewDeploy, StartedDeploy } from './schemas.ts'
import { ScriptWorker } from './script-worker.ts'
import { ServedNames } from './served-names.ts'
import { endDeploy, UnresumableDeploys } from './unresumable.ts'
import { isFinalized, Uploads } from './uploads/uploads.ts'

declare module '../../core/events.ts' {
  interface DomainEvents {
    /** A game is now served from another deploy. */
    'deploy.live': { gameId: string; deployId: string; slug: string }
    /** A deploy that was not live was removed. */
    'deploy.removed': { gameId: string; deployId: string; slug: string }
    /** The maker asked to end the rooms of the live game, so that new ones begin with the live deploy's script. */
    'rooms.restart': { gameId: string }
  }
}

/** A deploy of a game that a player makes. */
interface Found {
  deploy: DeployRow
  game: Game
}

type Parts = Pick<
  FastifyInstance,
  | 'config'
  | 'db'
  | 'clock'
  | 'events'
  | 'games'
  | 'identity'
  | 'jobs'
  | 'keys'
  | 'origins'
  | 'quotas'
  | 'workerPrograms'
> & {
  storage: Storage
}

/**
 * Deploys: a build is a manifest (path, digest, size, type), and a game's origin serves one manifest. Blobs are stored
 * by digest and never change, so going live changes one row.
 */
export class Deploys {
  readonly manifests: Manifests
  /** Builds in editing, which have a preview and no deploy yet. */
  readonly drafts: DraftBuilds
  /** The uploads of open deploys. */
  readonly uploads: Uploads
  /** The addresses at which clients upload many files at once. */
  readonly bundles: BundleAddresses
  readonly roomScripts: RoomScripts
  readonly served: ServedNames
  /** Deploys that only this process can continue. */
  readonly unresumable: UnresumableDeploys
  readonly scriptWorker: ScriptWorker
  readonly #parts: Parts
  readonly #limits: DeployLimits

  constructor(parts: Parts, limits: DeployLimits) {
    this.#parts = parts
    this.#limits = limits
    this.drafts = new DraftBuilds(parts)
    this.manifests = new Manifests(parts.db, this.drafts)
    this.uploads = new Uploads(parts)
    this.bundles = new BundleAddresses(parts)
    const { games, storage } = parts
    this.scriptWorker = new ScriptWorker(parts.workerPrograms)
    this.roomScripts = new RoomScripts({ games, storage, manifests: this.manifests, worker: this.scriptWorker })
    this.served = new ServedNames({ ...parts, manifests: this.manifests })
    this.unresumable = new UnresumableDeploys(parts, (deployId, failure) => this.fail(deployId, failure))
    parts.events.on('deploy.compressed', ({ deployId }) => this.manifests.forget(deployId))
    parts.events.on('deploy.removed', ({ deployId }) => this.manifests.forget(deployId))
  }

  /**
   * Begins a deploy and returns upload addresses for the missing files: those that no finalized deploy of the same
   * player or game contains.
   *
   * @throws NotFound when the player does not make the game
   * @throws InvalidRequest, PayloadTooLarge for files that can't be published
   * @throws TooManyOpenDeploys, QuotaExceeded when its files are more than the owner may store, or upload today: nothing
   *   is changed
   * @throws StorageFull when the disk is
   */
  async start(playerId: string, deploy: NewDeploy): Promise<StartedDeploy> {
    return startedDeploy(this, await this.begin(playerId, deploy), deploy.files)
  }

  /**
   * Returns the upload addresses of an open deploy again, for the files that its maker does not have.
   *
   * @throws NotFound, DeployClosed, DeployExpired
   */
  async resume(playerId: string, deployId: string): Promise<StartedDeploy> {
    const { deploy } = await this.#mustMake(playerId, deployId)
    this.uploads.mustBeOpen(deploy)
    return resumedDeploy(this, this.#parts.db, deploy)
  }

  /**
   * Does the same as `start`, for callers that provide the bytes themselves by `uploads.store`.
   *
   * @param deployId the id that `unresumable.run` gives
   */
  async begin(playerId: string, deploy: NewDeploy, deployId?: string): Promise<BegunDeploy> {
    const game = await this.#parts.games.mustMake(playerId, deploy.gameId)
    const { id: gameId, ownerId, liveDeployId } = game
    await checkFiles(deploy.files, this.#limits, deploy.room)
    const { openDeploysPerPlayer } = this.#limits
    await mustHaveFewOpen(this.#parts.db.em(), ownerId, openDeploysPerPlayer)
    await assertRoom(this.#parts.storage)
    const contents = new Map(deploy.files.map(({ sha256, size, path }) => [sha256, { size, path }]))
    const uploader = { playerId, gameId, liveDeployId }
    const wrong = await falseSizes({ ...this.#parts, manifests: this.manifests }, uploader, contents)
    if (wrong[0]) throw new InvalidRequest(`${wrong[0].path} ${wrong[0].message}.`).with({ details: wrong })
    const row = { ownerId, playerId, gameId, baseId: liveDeployId, deployId, openDeploysPerPlayer }
    return beginDeploy(this.#parts, row, deploy)
  }

  /**
   * Deploys files whose bytes are at hand: as a whole build, or as changes of the live one. The other files of the live
   * build stay, and are neither read nor copied.
   *
   * @throws as `begin` and `finalize`; NotBasedOnLive when the live deploy has changed; InvalidRequest for a path to remove
   *   that is not there
   */
  publish(playerId: string, build: NewBuild): Promise<FinalizedDeploy & { deployId: string }> {
    return publishFiles(this.#parts.games, this, playerId, build)
  }

  /**
   * Puts the files of another deploy live in a game of the player. Nothing is uploaded: both deploys share the stored
   * bytes. The caller has decided that the player may have them, the room script included.
   *
   * @throws as `copyDeploy` and `finalize`; then the deploy has failed
   */
  async copy(copy: DeployCopy): Promise<FinalizedDeploy & { deployId: string }> {
    await this.#parts.games.mustMake(copy.ownerId, copy.gameId)
    return this.unresumable.run(async (deployId) => {
      await copyDeploy(this.#parts, deployId, { ...copy, openDeploysPerPlayer: this.#limits.openDeploysPerPlayer })
      return { deployId, ...(await this.finalize(copy.ownerId, deployId)) }
    })
  }

  /**
   * Verifies that every file has arrived and puts the build live. Later requests to the game's origin get the new
   * build, and no request gets a mixture. Repeating the call returns the same result and changes nothing.
   *
   * @throws NotFound when the player does not make the game
   * @throws NotBasedOnLive when another deploy is live than expected
   * @throws NoPreviews where games have ports instead of names
   * @throws IncompleteDeploy with the paths that are missing, or whose bytes are not those announced
   * @throws LiveSecret; InvalidRoomScript: then the deploy has failed, since its files can't change
   * @throws DeployExpired
   */
  async finalize(
    playerId: string,
    deployId: string,
    { preview = false, restartRooms = false, allowSecrets = false, expectedLive, notes }: FinalizeOptions = {},
  ): Promise<FinalizedDeploy> {
    if (preview && restartRooms) throw new NothingToRestart()
    const { deploy, game } = await this.#mustMake(playerId, deployId)
    const previewAt = preview ? previewUrl(this.#parts.origins, game.slug, deployId) : undefined
    if (previewAt === null) throw new NoPreviews()
    const answer = async (found: Found) => ({
      ...toFinalized(found.deploy, found.game, this.#parts.origins),
      ...(previewAt
        ? { previewUrl: previewAt }
        : await replacementsOf(this.#parts, found.deploy, { replaced: found.deploy.overtakenById })),
    })
    if (isFinalized(deploy)) return answer({ deploy, game })
    this.uploads.mustBeOpen(deploy)
    const { db } = this.#parts
    await db.em().nativeUpdate(DeployRow, { id: deployId, state: 'uploading' }, { state: 'finalizing' })
    try {
      const contents = await this.manifests.contentsOf(deployId)
      if (!contents) throw new NotFound('deploy')
      await this.uploads.verify(deploy, contents, allowSecrets)
      // The files may have become the owner's after the announcement.
      const uploader = { ...uploaderOf(deploy), liveDeployId: game.liveDeployId }
      const wrong = await falseSizes({ ...this.#parts, manifests: this.manifests }, uploader, contents)
      if (wrong[0]) throw new IncompleteDeploy(`${wrong[0].path} ${wrong[0].message}`).with({ details: wrong })
      const onScript = await verifyRoomScript(this, { ...this.#parts, worker: this.scriptWorker }, deploy)
      await this.#examine(deploy, [...(notes ?? []), ...onScript])
      const from = ['uploading', 'finalizing'] as const
      if (preview) await finalizePreview(this.#parts, { deployId, gameId: game.id, from })
      else {
        await this.served.note(deploy)
        const { id: gameId, ownerId } = game
        const how = { from, action: 'deploy.live', expectedLive } as const
        const activation = { deployId, gameId, ownerId, playerId, ...how }
        if (await goLive(this.#parts, activation)) await this.#announce(deploy, game, { restartRooms })
      }
    } catch (error) {
      // The deploy reopens: more files may arrive, and the next attempt starts again. If this update fails too, the
      // state `finalizing` is treated like the open one everywhere.
      const reopen = db.em().nativeUpdate(DeployRow, { id: deployId, state: 'finalizing' }, { state: 'uploading' })
      await reopen.catch(() => {})
      // What failed may be a consequence of the removal of the deploy or its game. An error of the database tells nothing.
      throw await this.#mustMake(playerId, deployId).then(
        () => error,
        (missing) => (missing instanceof NotFound ? missing : error),
      )
    }
    // A concurrent call may have been first, and another deploy may have gone live since. The result is the same.
    const after = await this.#mustMake(playerId, deployId)
    if (!isFinalized(after.deploy)) this.uploads.mustBeOpen(after.deploy)
    return answer(after)
  }

  /**
   * Puts an earlier live deploy live again. Repeating the call changes nothing.
   *
   * @param options `restartRooms`: end the rooms that run another deploy's script, and those that began without one
   * @throws NotFound when the player does not make the game
   * @throws NotRestorable when it never was live
   */
  async rollback(
    playerId: string,
    deployId: string,
    { restartRooms = false }: { restartRooms?: boolean } = {},
  ): Promise<FinalizedDeploy> {
    const { deploy, game } = await this.#mustMake(playerId, deployId)
    if (!isFinalized(deploy)) throw new NotRestorable()
    await this.#examine(deploy)
    await this.served.note(deploy)
    const { id: gameId, ownerId } = game
    const how = { from: ['superseded'], action: 'deploy.rollback' } as const
    const done = await goLive(this.#parts, { deployId, gameId, ownerId, playerId, ...how })
    if (done) await this.#announce(deploy, game, { restartRooms })
    // The switch of the live deploy decides whether the game is isolated.
    const after = await this.#mustMake(playerId, deployId)
    const replacements = await replacementsOf(this.#parts, after.deploy, { undoes: done?.beforeId })
    return { ...toFinalized(after.deploy, after.game, this.#parts.origins), ...replacements }
  }

  /**
   * Removes a deploy from the history. Blobs that no other deploy contains are deleted a day later.
   *
   * @throws NotFound when the player does not make the game
   * @throws DeployIsLive, DeployIsPinned
   */
  async remove(playerId: string, deployId: string): Promise<void> {
    const { deploy, game } = await this.#mustMake(playerId, deployId)
    if (deploy.pinned) throw new DeployIsPinned()
    if (await removeDeploy(this.#parts, game.id, deployId, { listed: true })) return
    const left = await this.#parts.db.em().findOne(DeployRow, { id: deployId })
    if (!left) throw new NotFound('deploy')
    throw left.pinned ? new DeployIsPinned() : new DeployIsLive()
  }

  /**
   * Protects a deploy from automatic deletion, or removes the protection.
   *
   * @throws NotFound when the player does not make the game
   * @throws NotPinnable while its files are incomplete
   */
  async pin(playerId: string, deployId: string, pinned: boolean): Promise<Deploy> {
    const { deploy, game } = await this.#mustMake(playerId, deployId)
    if (pinned && !isFinalized(deploy)) throw new NotPinnable()
    if (!(await pinDeploy(this.#parts, deploy, pinned))) throw new NotFound('deploy')
    return toDeploy(this.#parts, Object.assign(deploy, { pinned }), game)
  }

  /** Ends a deploy that can't be continued, and records the reason. A deploy that has ended already stays unchanged. */
  fail(deployId: string, failure: string): Promise<void> {
    return endDeploy(this.#parts, deployId, failure)
  }

  /** @throws NotFound when the player does not make the game */
  async get(playerId: string, deployId: string): Promise<Deploy> {
    const { deploy, game } = await this.#mustMake(playerId, deployId)
    return toDeploy(this.#parts, deploy, game)
  }

  /** Returns the address of a preview, for a player who makes or tests its game. @throws NotFound */
  async preview(playerId: string, deployId: string): Promise<{ game: Game; url: string }> {
    const { games, origins } = this.#parts
    const deploy = await this.row(deployId)
    const game = await games.mustTest(playerId, deploy.gameId)
    const url = isFinalized(deploy) ? previewUrl(origins, game.slug, deployId) : null
    if (!url) throw new NotFound('preview')
    return { game, url }
  }

  /** Lists the deploys of a game that a player makes, newest first. @throws NotFound */
  async list(
    playerId: string,
    gameId: string,
    { limit, cursor }: PageQuery,
  ): Promise<{ deploys: Deploy[]; nextCursor: string | null }> {
    const before = mustBeCursor('dep', cursor)
    const game = await this.#parts.games.mustMake(playerId, gameId)
    const rows = await this.#parts.db
      .em()
      .find(
        DeployRow,
        { gameId: game.id, ...(before ? { id: { $lt: before } } : {}) },
        { orderBy: { id: 'desc' }, limit: limit + 1 },
      )
    const { page, nextCursor } = cutPage(rows, limit)
    return { deploys: await toDeploys(this.#parts, page, game), nextCursor }
  }

  /** Returns the files of a deploy by path, cached if possible; null when there is no such deploy. */
  manifest(deployId: string): Promise<Manifest | null> {
    return this.manifests.of(deployId)
  }

  /** Ends the threads of this service. */
  close(): Promise<void> {
    return this.scriptWorker.close()
  }

  /** Whether a finalized deploy of a game is served cross-origin isolated. @throws NotFound */
  async isIsolated({ settings }: Game, deployId: string): Promise<boolean> {
    // A draft is examined when it is published.
    const examined = isDraftId(deployId) ? await this.drafts.baseOf(deployId) : deployId
    const build = examined === null ? null : (await this.row(examined)).build
    return isolationOf(settings.crossOriginIsolated, build ?? null).on
  }

  /** Streams the bytes of a file of a manifest, or a range of them. @throws BlobNotFound */
  openBlob(file: { sha256: string; size: number }, range?: ByteRange): Promise<Readable> {
    return openBlob(this.#parts.storage, file, range)
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

  async #mustMake(playerId: string, deployId: string): Promise<Found> {
    const deploy = await this.row(deployId)
    // The game decides, since it may have been deleted or transferred.
    const game = await this.#parts.games.mustMake(playerId, deploy.gameId).catch((error) => {
      throw isPlatformError(error) && error.statusCode === 404 ? new NotFound('deploy') : error
    })
    return { deploy, game }
  }

  #examine(deploy: DeployRow, notes?: FinalizeOptions['notes']): Promise<void> {
    const { db, storage } = this.#parts
    return examineDeploy({ db, storage, manifests: this.manifests }, deploy, notes)
  }

  async #announce(deploy: DeployRow, game: Game, { restartRooms }: { restartRooms: boolean }): Promise<void> {
    const { games, events } = this.#parts
    await games.announce(game)
    await events.emit('deploy.live', { gameId: game.id, deployId: deploy.id, slug: game.slug })
    if (restartRooms) await events.emit('rooms.restart', { gameId: game.id })
  }
}
