import type { SqlEntityManager } from '@mikro-orm/sql'
import { type Actor, PROGRAM, recordAction } from '../../core/data/audit.ts'
import { UnderReview } from '../../core/data/staff/suspensions.ts'
import { Conflict, NotFound } from '../../core/errors.ts'
import { storedTags } from '../../core/tags.ts'
import { visibleText } from '../../core/visible-text.ts'
import { recordActivity } from '../games/index.ts'
import type { AssetStore, AssetsParts } from './asset-store.ts'
import { AppliedClip, AssetClip, AssetRow } from './entities.ts'
import { CuratedAsset } from './errors.ts'
import { correctLicense } from './license.ts'
import { type AssetRecord, BLOB_PREFIX } from './record.ts'
import type { AssetChanges } from './schemas.ts'
import { forgetAssets, indexAsset } from './search-index.ts'
import { isFree, reserveSlugs } from './slugs.ts'
import { releaseAssets } from './stored-bytes.ts'

/** The maximum age of an upload that is stored but not yet recorded in the database. */
const UNDER_WAY_MS = 24 * 3_600_000
/** The background job that removes the asset files of a deleted account. */
export const FORGET = 'assets/forget'
/** The number of assets in one statement, which limits its parameters. */
const MANY = 100

/** Changes of existing assets. */
export class Changes {
  readonly #parts: AssetsParts
  readonly #assets: AssetStore

  /** What the staff still have to decide about an asset, which its owner may not delete. Plugins add theirs. */
  readonly reviews: ((em: SqlEntityManager, assetId: string) => Promise<boolean>)[] = []

  constructor(parts: AssetsParts, assets: AssetStore) {
    this.#parts = parts
    this.#assets = assets
  }

  /**
   * Changes an asset of the player, or of a game that the player makes. After a change of slug the old slug still finds it.
   *
   * @throws NotFound when the player may not change it; Conflict for a slug that is taken
   * @throws CuratedAsset when it is curated and would become private
   * @throws NotFound of a game that the player does not make; OwnerOnly as `AssetAccess.mustMove`
   */
  async update(playerId: string, idOrSlug: string, changes: AssetChanges): Promise<AssetRecord> {
    const asset = await this.#assets.mustMake(playerId, idOrSlug)
    const { id, gameId: from } = asset
    const to = changes.gameId === undefined ? from : await this.#assets.access.mustMove(playerId, asset, changes.gameId)
    await this.#change(id, async (em, row) => {
      const { slug, title, tags, visibility, description, author, license, lod } = changes
      // The player was allowed to as a maker of that game.
      if (row.ownerId !== playerId && row.gameId !== from) throw new NotFound('asset')
      if (visibility === 'private' && row.curated) throw new CuratedAsset('it stays public.')
      if (slug !== undefined && slug !== row.slug) {
        if (!(await isFree(em, slug, row.ownerId))) throw new Conflict(`The address ${slug} is taken; choose another.`)
        await reserveSlugs(em, row.ownerId, [row], this.#parts.clock.now())
        row.slug = slug
      }
      if (title !== undefined) row.title = visibleText(title)
      if (tags) row.tags = storedTags(tags)
      if (description !== undefined) row.description = description
      if (author !== undefined) row.author = author && visibleText(author)
      if (license !== undefined) row.license = license && correctLicense(license)
      if (lod) row.lodChoice = lod === 'auto' ? null : lod
      // Games may have linked it while it was public.
      if (visibility === 'private' && isLinked(row)) await reserveSlugs(em, row.ownerId, [row], this.#parts.clock.now())
      if (visibility) row.visibility = visibility
      if (title !== undefined || tags || license !== undefined) await indexAsset(em, row)
      if (changes.gameId !== undefined) row.gameId = to
      await this.#noteChange(em, row, from, Object.keys(changes).join(', '))
    })
    return this.#assets.get(id)
  }

  /**
   * Marks an asset as curated or not.
   *
   * @param curated an administrator vouches for it: it stays unchanged and public
   * @throws NotFound, Conflict
   */
  async curate(idOrSlug: string, curated: boolean, by = PROGRAM): Promise<AssetRecord> {
    const { id } = await this.#assets.get(idOrSlug)
    await this.#change(id, async (em, row) => {
      if (curated && row.visibility === 'private') throw new Conflict('Only a public asset can be curated.')
      await recordAction(em, this.#parts.clock, {
        by,
        action: curated ? 'asset.curate' : 'asset.release',
        target: { kind: 'asset', id },
        before: { curated: row.curated },
        after: { curated },
      })
      row.curated = curated
    })
    return this.#assets.get(id)
  }

  /**
   * Removes an asset, its files last. If it was public, nobody else gets its slug, so that a hot-linked address becomes
   * 404 and does not serve something different; see `reserveSlugs`.
   *
   * @throws NotFound, OwnerOnly when it is not the player's
   * @throws CuratedAsset since games depend on curated ones: an administrator has to release it first
   * @throws UnderReview while it is suspended, or the staff have something about it to decide
   */
  async remove(playerId: string, idOrSlug: string): Promise<void> {
    const { id } = await this.#assets.mustOwn(playerId, idOrSlug)
    await this.#remove(id, async (em, row) => {
      if (row.curated) throw new CuratedAsset('an administrator has to release it first.')
      if (row.suspendedAt) throw new UnderReview('asset')
      for (const isOpen of this.reviews) if (await isOpen(em, id)) throw new UnderReview('asset')
      await this.#note(em, row, 'asset.remove', row.gameId ?? null)
    })
  }

  /**
   * Removes a suspended asset, for an administrator: what may not stay on the server at all. Its owner is told.
   *
   * @throws NotFound, CuratedAsset; Conflict unless it is suspended
   */
  async removeByStaff(idOrSlug: string, by: Actor): Promise<void> {
    const { clock, identity } = this.#parts
    const { id } = await this.#assets.get(idOrSlug)
    await this.#remove(id, async (em, row) => {
      if (row.curated) throw new CuratedAsset('release it first.')
      if (!row.suspendedAt) throw new Conflict('Suspend the asset first, so that its maker reads the reason.')
      const reason = row.suspensionReason ?? null
      await recordAction(em, clock, { by, action: 'asset.delete', target: { kind: 'asset', id }, reason })
      const text = `An administrator of this platform has deleted it for good. It was suspended: ${reason}`
      await identity.tell(em, row.ownerId, `${row.title} is deleted`, text)
      await this.#note(em, row, 'asset.remove', row.gameId ?? null)
    })
  }

  /** Takes all assets out of a game that ends in the same transaction. They stay with their owners. */
  async leaveGame(em: SqlEntityManager, gameId: string): Promise<void> {
    await em.nativeUpdate(AssetRow, { gameId }, { gameId: null })
  }

  /**
   * Removes the assets of a player whose account ends in the same transaction, except curated ones, which games depend
   * on. A background job removes their files; see `forget`.
   */
  async removeAllOf(em: SqlEntityManager, ownerId: string): Promise<void> {
    const rows = await em.find(AssetRow, { ownerId, curated: false }, { fields: ['id', 'slug', 'visibility'] })
    for (let at = 0; at < rows.length; at += MANY) {
      const some = rows.slice(at, at + MANY)
      const assetIds = some.map(({ id }) => id)
      await releaseAssets(em, this.#parts.quotas, assetIds)
      await reserveSlugs(em, ownerId, some.filter(isLinked), this.#parts.clock.now())
      await forgetAssets(em, assetIds)
      await em.nativeDelete(AssetClip, { assetId: { $in: assetIds } })
      await em.nativeDelete(AppliedClip, { assetId: { $in: assetIds } })
      await em.nativeDelete(AssetRow, { id: { $in: assetIds } })
      const key = assetIds[0] as string
      await this.#parts.jobs.enqueue(em, { name: FORGET, key, owner: ownerId, payload: { assetIds } })
    }
  }

  /** Announces the deletion of assets whose rows are gone, and removes their files. It can be repeated. */
  async forget(assetIds: string[], signal: AbortSignal): Promise<void> {
    for (const assetId of assetIds) {
      signal.throwIfAborted()
      await this.#parts.events.emit('asset.deleted', { assetId })
      await this.#assets.removeBlobs(assetId)
    }
  }

  /**
   * Removes stored bytes that belong to no asset: of uploads interrupted before their row was written, and of removals.
   */
  async sweep(signal: AbortSignal): Promise<void> {
    const { db, clock, storage } = this.#parts
    const before = clock.now().getTime() - UNDER_WAY_MS
    let assetId = ''
    let kept = new Set<string>()
    for await (const { key, modifiedAt } of storage.list(BLOB_PREFIX)) {
      if (signal.aborted) return
      const [, owner = '', sha256 = ''] = key.split('/')
      if (owner !== assetId) {
        assetId = owner
        kept = await this.#digestsOf(assetId)
      }
      if (!kept.has(sha256) && modifiedAt.getTime() < before) await storage.delete(key)
    }
    for (const table of ['asset_clips', 'asset_applied_clips']) {
      const orphaned = await db.query<{ id: string }>(
        `select distinct asset_id as id from ${table} where asset_id not in (select id from assets) limit ${MANY}`,
      )
      for (const { id } of orphaned) await db.execute(`delete from ${table} where asset_id = ?`, [id])
    }
  }

  async #digestsOf(assetId: string): Promise<Set<string>> {
    const { db } = this.#parts
    const row = await db.em().findOne(AssetRow, { id: assetId })
    if (!row) return new Set()
    const clips = await db.em().find(AssetClip, { assetId })
    const applied = await db.em().find(AppliedClip, { assetId })
    const digests = [...row.files, ...clips, ...applied].map(({ sha256 }) => sha256)
    return new Set([...digests, row.lodSha256 ?? '', row.thumbnailSha256 ?? ''])
  }

  /** Adds a change to the activity of the game of an asset, or to that of both games. @param from its game before */
  async #noteChange(em: SqlEntityManager, row: AssetRow, from: string | null, fields: string): Promise<void> {
    const gameId = row.gameId ?? null
    if (gameId === from) return this.#note(em, row, 'asset.change', gameId, fields)
    await this.#note(em, row, 'asset.remove', from)
    await this.#note(em, row, 'asset.add', gameId)
  }

  async #note(
    em: SqlEntityManager,
    { id, title }: AssetRow,
    action: 'asset.add' | 'asset.change' | 'asset.remove',
    gameId: string | null,
    fields?: string,
  ): Promise<void> {
    if (gameId === null) return
    const detail = fields ? `${title}: ${fields}` : title
    await recordActivity(em, this.#parts.clock, { gameId, action, target: id, detail })
  }

  /** Changes a row under a lock and emits `asset.changed`. @throws NotFound */
  async #change(id: string, change: (em: SqlEntityManager, row: AssetRow) => Promise<void>): Promise<void> {
    const { db, clock, events } = this.#parts
    await db.transaction(async (em) => {
      await em.nativeUpdate(AssetRow, { id }, { updatedAt: clock.now() })
      const row = await em.findOne(AssetRow, { id })
      if (!row) throw new NotFound('asset')
      await change(em, row)
      await em.flush()
    })
    await events.emit('asset.changed', { assetId: id })
  }

  async #remove(id: string, check: (em: SqlEntityManager, row: AssetRow) => Promise<void>): Promise<void> {
    const { db, clock, events } = this.#parts
    await db.transaction(async (em) => {
      await em.nativeUpdate(AssetRow, { id }, { updatedAt: clock.now() })
      const row = await em.findOne(AssetRow, { id })
      if (!row) throw new NotFound('asset')
      await check(em, row)
      if (isLinked(row)) await reserveSlugs(em, row.ownerId, [row], clock.now())
      await releaseAssets(em, this.#parts.quotas, [id])
      await forgetAssets(em, [id])
      await em.nativeDelete(AssetClip, { assetId: id })
      await em.nativeDelete(AppliedClip, { assetId: id })
      await em.nativeDelete(AssetRow, { id })
    })
    await events.emit('asset.deleted', { assetId: id })
    await this.#assets.removeBlobs(id)
  }
}

/** Whether games may have linked an asset. What was public before has reserved its slug already. */
const isLinked = ({ visibility }: Pick<AssetRow, 'visibility'>): boolean => visibility === 'public'
