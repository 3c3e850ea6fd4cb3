import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/data/database.ts'
import { TtlCache } from '../../../core/data/ttl-cache.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Events } from '../../../core/events.ts'
import type { RateLimiter } from '../../../core/http/rate-limit.ts'
import type { Images } from '../../../core/images/images.ts'
import { BlobNotFound, type Storage } from '../../../drivers/storage/interface.ts'
import { avatarFrom, avatarType } from './avatar-image.ts'
import { PlayerRow } from './entities.ts'
import { drawnAvatar } from './generated-avatar.ts'

interface AvatarsContext {
  db: Database
  clock: Clock
  events: Events
  rateLimiter: RateLimiter
  storage: Storage
  images: Images
}

export interface Picture {
  /** The digest of the bytes. It is part of the address that may be cached permanently. */
  digest: string
  contentType: string
  bytes: Buffer
}

const PREFIX = 'avatars/'
const key = (playerId: string, digest: string) => `${PREFIX}${playerId}/${digest}`

/** An upload that began earlier is in its player's row by now, or never will be. */
const UNDER_WAY_MS = 24 * 3_600_000
/** The number of pictures that a sweep looks up together. */
const SWEPT = 100

/** The pictures of players: uploaded, or generated from their id. */
export class Avatars {
  readonly #context: AvatarsContext
  readonly #digests: TtlCache<{ avatar: string | null }>

  constructor(context: AvatarsContext) {
    this.#context = context
    this.#digests = new TtlCache(context.clock)
    context.events.on('player.changed', ({ playerId }) => this.#digests.drop(playerId))
    context.events.on('player.deleted', ({ playerId }) => this.#digests.drop(playerId))
  }

  /** Returns a picture for any id. A player who does not exist, or no longer exists, has a generated one too. */
  async get(playerId: string): Promise<Picture> {
    const known = await this.#digests.get(playerId, () => this.#look(playerId))
    const uploaded = known?.avatar ? await this.#read(playerId, known.avatar) : null
    if (uploaded) return uploaded
    const bytes = Buffer.from(drawnAvatar(playerId))
    return { digest: createHash('sha256').update(bytes).digest('hex'), contentType: 'image/svg+xml', bytes }
  }

  /** Stores an uploaded picture. @throws InvalidRequest when it is not a picture, NotFound, RateLimited */
  async set(playerId: string, uploaded: Buffer): Promise<void> {
    const { db, events, rateLimiter, storage, images } = this.#context
    await rateLimiter.take(`avatar/${playerId}`, 10, 60_000)
    const bytes = await avatarFrom(uploaded, { images, playerId })
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    await storage.put(key(playerId, sha256), Readable.from([bytes]), { sha256, size: bytes.length })
    try {
      const rows = await db.transaction((em) => em.nativeUpdate(PlayerRow, { id: playerId }, { avatar: sha256 }))
      if (rows === 0) throw new NotFound('player')
    } catch (error) {
      // Another upload may have stored the same picture, so what the player has now is read again.
      await this.#deleteAllBut(playerId, (await this.#look(playerId))?.avatar ?? null)
      throw error
    }
    await events.emit('player.changed', { playerId })
    await this.#deleteAllBut(playerId, sha256)
  }

  /** Restores the generated picture. */
  async remove(playerId: string): Promise<void> {
    await this.#context.db.transaction((em) => em.nativeUpdate(PlayerRow, { id: playerId }, { avatar: null }))
    await this.#context.events.emit('player.changed', { playerId })
    await this.deleteFiles(playerId)
  }

  /** Deletes the stored pictures of a player whose row has none any more. */
  deleteFiles(playerId: string): Promise<void> {
    return this.#deleteAllBut(playerId, null)
  }

  /** Deletes pictures that no player has, which a crash left: after an upload, or after the end of an account. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { clock, storage } = this.#context
    const before = clock.now().getTime() - UNDER_WAY_MS
    let keys: string[] = []
    for await (const blob of storage.list(PREFIX)) {
      if (signal.aborted) return
      if (blob.modifiedAt.getTime() < before) keys.push(blob.key)
      if (keys.length < SWEPT) continue
      await this.#deleteUnused(keys)
      keys = []
    }
    if (keys.length > 0) await this.#deleteUnused(keys)
  }

  async #deleteUnused(keys: string[]): Promise<void> {
    const { db, storage } = this.#context
    const ids = [...new Set(keys.map((each) => each.split('/')[1] ?? ''))]
    const players = await db.query<{ id: string; avatar: string | null }>(
      `select id, avatar from players where id in (${ids.map(() => '?').join(', ')}) and avatar is not null`,
      ids,
    )
    const used = new Set(players.map(({ id, avatar }) => key(id, String(avatar))))
    for (const each of keys) if (!used.has(each)) await storage.delete(each)
  }

  async #look(playerId: string): Promise<{ avatar: string | null } | null> {
    const [row] = await this.#context.db.query<{ avatar: string | null }>('select avatar from players where id = ?', [
      playerId,
    ])
    return row ?? null
  }

  async #read(playerId: string, digest: string): Promise<Picture | null> {
    try {
      const bytes = await buffer(await this.#context.storage.get(key(playerId, digest)))
      return { digest, contentType: avatarType(bytes), bytes }
    } catch (error) {
      if (error instanceof BlobNotFound) return null // replaced on another node
      throw error
    }
  }

  async #deleteAllBut(playerId: string, digest: string | null): Promise<void> {
    const { storage } = this.#context
    for await (const blob of storage.list(`avatars/${playerId}/`)) {
      if (digest === null || blob.key !== key(playerId, digest)) await storage.delete(blob.key)
    }
  }
}
