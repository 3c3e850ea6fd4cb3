import type { Readable } from 'node:stream'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { NotFound } from '../../../core/errors.ts'
import { inPages } from '../../../core/http/pagination.ts'
import { newId } from '../../../core/ids.ts'
import { assertRoom, type Range } from '../../../drivers/storage/interface.ts'
import { recordActivity } from '../activity/record.ts'
import { GameRow } from '../entities.ts'
import { TooManyMedia } from '../errors.ts'
import type { GameLookup } from '../game-lookup.ts'
import type { Game } from '../schemas.ts'
import { MediaInspector } from './inspector.ts'
import { MEDIA_PREFIX, mediaKey, type StoredMedia } from './record.ts'
import { spool } from './spool.ts'
import { STORED_KIND } from './stored-bytes.ts'

export const MOST_MEDIA = 12
/** The maximum age of an upload that is stored but not yet recorded in the database. */
const UNDER_WAY_MS = 24 * 3_600_000
/** The number of blobs that are compared with the rows of all games at once: a few megabytes of keys. */
const SWEPT = 50_000

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'config' | 'quotas' | 'storage' | 'workerPrograms'> & {
  games: GameLookup
}

/** The pictures and videos of games. */
export class Media {
  readonly #parts: Parts
  readonly #inspector: MediaInspector

  constructor(parts: Parts) {
    this.#parts = parts
    this.#inspector = new MediaInspector(parts.workerPrograms)
  }

  close(): Promise<void> {
    return this.#inspector.close()
  }

  /**
   * Inspects an upload, stores it and shows it with the game.
   *
   * @throws NotFound when the player does not make the game
   * @throws MediaRefused, PayloadTooLarge, UploadCut, TooManyMedia, QuotaExceeded, StorageFull: nothing is kept
   */
  async add(playerId: string, gameId: string, upload: Readable): Promise<Game['media'][number]> {
    const { db, clock, config, quotas, storage, games } = this.#parts
    const game = await games.mustMake(playerId, gameId)
    if (game.media.length >= MOST_MEDIA) throw new TooManyMedia(MOST_MEDIA)
    await quotas.mustHaveRoom(game.ownerId, db.em(), playerId)
    await assertRoom(storage)
    const file = await spool(config.dataDir, upload)
    const id = newId('med', clock.now())
    try {
      const { sha256, size } = file
      const inspected = await this.#inspector.inspect(file, playerId)
      const item: StoredMedia = { id, ...inspected, size, sha256 }
      const stream = file.stream()
      try {
        await storage.put(mediaKey(id), stream, { sha256, size })
      } finally {
        stream.destroy()
      }
      await this.#change(game.id, async (row, em) => {
        if (row.media.length >= MOST_MEDIA) throw new TooManyMedia(MOST_MEDIA)
        await quotas.add(em, row.ownerId, { kind: STORED_KIND, bytes: size }, { uploaded: size, uploaderId: playerId })
        row.media = [...row.media, item]
        await recordActivity(em, clock, { gameId: game.id, action: 'media.add', target: id })
      })
    } catch (error) {
      // If the removal fails, the sweep repeats it.
      await storage.delete(mediaKey(id)).catch(() => {})
      throw error
    } finally {
      await file.close()
    }
    const changed = await games.get(game.id)
    await games.announce(changed)
    return changed.media.find((item) => item.id === id) ?? notFound()
  }

  /** @throws NotFound */
  async remove(playerId: string, gameId: string, mediaId: string): Promise<void> {
    const { clock, quotas, storage, games } = this.#parts
    const game = await games.mustMake(playerId, gameId)
    await this.#change(game.id, async (row, em) => {
      const item = row.media.find(({ id }) => id === mediaId)
      if (!item) throw new NotFound('picture or video')
      await quotas.remove(em, row.ownerId, { kind: STORED_KIND, bytes: item.size })
      row.media = row.media.filter(({ id }) => id !== mediaId)
      if (row.coverId === mediaId) row.coverId = null
      await recordActivity(em, clock, { gameId: game.id, action: 'media.remove', target: mediaId })
    })
    await games.announce(game)
    await storage.delete(mediaKey(mediaId))
  }

  /**
   * Finds a medium for viewers who may see the game.
   *
   * @throws NotFound; Suspended for everybody but its makers
   */
  async find(viewerId: string | null, gameId: string, mediaId: string): Promise<StoredMedia & { isPublic: boolean }> {
    const { games } = this.#parts
    const game = games.mustBeSeenBy(viewerId, await games.byId(gameId))
    const row = await this.#parts.db.em().findOne(GameRow, { id: game.id }, { fields: ['media'] })
    const item = row?.media.find(({ id }) => id === mediaId) ?? notFound()
    return { ...item, isPublic: games.isShown(game) }
  }

  open(mediaId: string, range?: Range): Promise<Readable> {
    return this.#parts.storage.get(mediaKey(mediaId), range)
  }

  /** Reads a complete picture for drawing. The size limit keeps pictures small enough (media/inspect.ts). */
  async bytes(mediaId: string): Promise<Uint8Array> {
    return Buffer.concat(await Array.fromAsync(await this.open(mediaId)))
  }

  /** Removes blobs of no game: of uploads interrupted before their row was written, and of purged games. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { clock, storage } = this.#parts
    const before = clock.now().getTime() - UNDER_WAY_MS
    const some = new Set<string>()
    const deleteOrphaned = async () => {
      // An upload that old is in its game's row already, or never will be.
      for await (const games of this.#allOfGames()) {
        for (const { id } of games.flatMap(({ media }) => JSON.parse(media) as StoredMedia[])) some.delete(mediaKey(id))
        if (signal.aborted) return
      }
      for (const key of some) {
        if (signal.aborted) return
        await storage.delete(key)
      }
      some.clear()
    }
    for await (const { key, modifiedAt } of storage.list(MEDIA_PREFIX)) {
      if (modifiedAt.getTime() < before) some.add(key)
      if (some.size >= SWEPT) await deleteOrphaned()
      if (signal.aborted) return
    }
    if (some.size > 0) await deleteOrphaned()
  }

  #allOfGames() {
    const sql = 'select id, media from games where id > ? order by id limit ?'
    return inPages<{ id: string; media: string }>((after, limit) => this.#parts.db.query(sql, [after?.id ?? '', limit]))
  }

  /** Changes a game's row under a lock, so that concurrent uploads are all kept. */
  async #change(id: string, change: (row: GameRow, em: SqlEntityManager) => Promise<void>): Promise<void> {
    const { db, clock } = this.#parts
    await db.transaction(async (em) => {
      await em.nativeUpdate(GameRow, { id }, { updatedAt: clock.now() })
      const row = await em.findOne(GameRow, { id, deletedAt: null })
      if (!row) throw new NotFound('game')
      await change(row, em)
      await em.flush()
    })
  }
}

/** The error is the same for pictures and videos. */
function notFound(): never {
  throw new NotFound('picture or video')
}
