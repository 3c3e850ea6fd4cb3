import type { FastifyInstance } from 'fastify'
import { formatBytes } from '../../core/format-bytes.ts'
import { type Conditions, holds } from './conditions.ts'
import { NoSuchSave, NoSuchVersion, SaveConflict, SavesFull, SaveTooLarge } from './errors.ts'
import { GameLimits } from './game-limits.ts'
import { KEPT_MS } from './history.ts'
import type { OwnerQuota } from './owner-quota.ts'
import { RoomSaves } from './room-saves.ts'
import { type CurrentRow, type SaveOwner, SaveRows, type UsageRow } from './save-rows.ts'
import type { KeptVersion, SaveInfo, SaveLimits, SaveList, WrittenSave } from './schemas.ts'
import { RecentValues } from './values/recent-values.ts'
import { INLINE_BYTES, type StoredValue, Values } from './values/values.ts'

/** The value of a save. */
export interface Value {
  bytes: Buffer
  /** The media type, at most 255 characters. */
  contentType: string
}

/** A save without its value. */
export interface FoundInfo extends Pick<SaveInfo, 'version' | 'size' | 'contentType'> {
  updatedAt: Date
}

/** A save, and how to read its value. */
export interface FoundSave extends FoundInfo {
  /** @throws StorageUnavailable, NoSuchSave when it has been replaced meanwhile */
  read(): Promise<Buffer>
}

/** Repetitions of a read whose version was replaced, and its bytes collected, in between. */
const READS = 3
/** The memory for small values that were read last. */
const RECENT_BYTES = 8 * 1024 * 1024

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events' | 'games' | 'log' | 'storage' | 'rateLimiter'>

/**
 * Saves: documents of one player in one game, by key.
 *
 * A change is durable when it resolves. Changes of one player in one game run one after the other (`SaveRows.hold`),
 * and many players' changes share a commit. A version only grows, also when a key is deleted and made again.
 */
export class Saves {
  readonly values: Values
  /** The same saves for room scripts of the game, as JSON. */
  readonly rooms: RoomSaves
  readonly #parts: Parts
  readonly #limits: SaveLimits
  readonly #quota: OwnerQuota
  readonly #games: GameLimits
  readonly #recent = new RecentValues(RECENT_BYTES)

  constructor(parts: Parts, limits: SaveLimits, quota: OwnerQuota) {
    this.#parts = parts
    this.#limits = limits
    this.#quota = quota
    this.#games = new GameLimits(parts, limits)
    this.values = new Values(parts)
    this.rooms = new RoomSaves(this, limits, parts)
  }

  /** Lists the saves of a player in a game, by key. */
  async list({ gameId, playerId }: SaveOwner): Promise<SaveList> {
    const rows = await this.#parts.db.query<{ key: string } & CurrentRow>(
      `select key, version, size, content_type as "contentType", updated_at as "updatedAt" from saves
       where game_id = ? and player_id = ? and deleted_at is null order by key`,
      [gameId, playerId],
    )
    return listOf(rows, await this.#games.bytesOf(gameId))
  }

  /**
   * Lists the saves of a player in several games, by key.
   *
   * @returns by the id of the game; `deleted` are those whose versions can be restored, with the time of the deletion
   */
  async listAll(
    playerId: string,
    gameIds: readonly string[],
  ): Promise<ReadonlyMap<string, SaveList & { deleted: SaveInfo[] }>> {
    if (gameIds.length === 0) return new Map()
    const rows = await this.#parts.db.query<{ gameId: string; key: string } & CurrentRow>(
      `select game_id as "gameId", key, version, size, content_type as "contentType", updated_at as "updatedAt",
         deleted_at as "deletedAt" from saves
       where game_id in (${gameIds.map(() => '?').join(', ')}) and player_id = ? order by game_id, key`,
      [...gameIds, playerId],
    )
    const byGame = Map.groupBy(rows, ({ gameId }) => gameId)
    const limits = await this.#games.byGame(gameIds)
    return new Map(
      gameIds.map((gameId) => {
        const found = byGame.get(gameId) ?? []
        const current = found.filter(({ deletedAt }) => deletedAt === null)
        const deleted = found.flatMap((row) => (row.deletedAt === null ? [] : { ...row, updatedAt: row.deletedAt }))
        const limitBytes = limits.get(gameId) as number
        return [gameId, { ...listOf(current, limitBytes), deleted: deleted.map(infoOf) }]
      }),
    )
  }

  /** Finds a save without reading its value. @throws NoSuchSave */
  async info({ gameId, playerId }: SaveOwner, key: string): Promise<FoundInfo> {
    const [row] = await this.#parts.db.groupQuery<CurrentRow>(
      `select version, size, content_type as "contentType", updated_at as "updatedAt" from saves
       where game_id = ? and player_id = ? and key = ? and deleted_at is null`,
      [gameId, playerId, key],
    )
    if (!row) throw new NoSuchSave(key)
    return foundInfo(row)
  }

  /** @throws NoSuchSave */
  async find(owner: SaveOwner, key: string): Promise<FoundSave> {
    const recent = this.#recent.get(owner, key)
    if (recent) {
      const info = await this.info(owner, key)
      if (info.version === recent.version) return { ...info, read: async () => recent.bytes }
    }
    const row = await this.#row(owner, key)
    return { ...foundInfo(row), read: () => this.#read(owner, key, row) }
  }

  /**
   * Stores a value under a key.
   *
   * @param conditions of the current version; when they do not hold, nothing changes
   * @param options `isConflict`: the change was not made from the current version, which is kept for longer therefore
   * @returns the save, and whether the key had no value before
   * @throws SaveConflict with `version` and `updatedAt` beside the error, null when there is no such save
   * @throws SaveTooLarge, SavesFull, QuotaExceeded (of the game's owner), SaveBusy, StorageUnavailable: nothing changed
   */
  async put(
    owner: SaveOwner,
    key: string,
    { bytes, contentType }: Value,
    conditions: Conditions = {},
    { isConflict = false } = {},
  ): Promise<{ created: boolean; save: WrittenSave }> {
    const { db, clock } = this.#parts
    if (bytes.length > this.#limits.saveBytes) throw new SaveTooLarge(formatBytes(this.#limits.saveBytes))
    await this.#quota.mustHaveRoom(owner.gameId)
    const limitBytes = await this.#games.bytesOf(owner.gameId)
    // A change that is refused anyway must store nothing. The same checks in the transaction decide.
    if (bytes.length > INLINE_BYTES) {
      const rows = new SaveRows(db, owner)
      const current = await rows.current(key)
      mustHold(conditions, current)
      this.#mustFit(await rows.usage(), current, { size: bytes.length, limitBytes })
    }
    const value = await this.values.place(bytes)
    let removed: Iterable<string> = []
    const result = await db
      .groupCommit(async (statements) => {
        const rows = new SaveRows(statements, owner)
        const usage = await rows.hold()
        const current = await rows.current(key)
        mustHold(conditions, current)
        if (isConflict && current) await rows.setUnread(key, current.version)
        const written = { size: bytes.length, contentType, at: clock.now() }
        const saved = await this.#write(rows, key, { usage, current, value, written, limitBytes })
        await this.values.used(statements, value)
        removed = rows.removedDigests
        return saved
      })
      .catch(async (error) => {
        await this.values.discard(value)
        throw error
      })
    await this.values.removeUnused(removed)
    return result
  }

  /**
   * Deletes a save. Its versions can be restored for 30 days.
   *
   * @returns the version that was deleted
   * @throws NoSuchSave, SaveConflict
   */
  async delete(owner: SaveOwner, key: string, conditions: Conditions = {}): Promise<number> {
    const { db, clock } = this.#parts
    const limitBytes = await this.#games.bytesOf(owner.gameId)
    const { version, removed } = await db.groupCommit(async (statements) => {
      const rows = new SaveRows(statements, owner)
      const usage = await rows.hold()
      const current = await rows.current(key)
      mustHold(conditions, current)
      if (!current || current.deletedAt !== null) throw new NoSuchSave(key)
      const now = clock.now()
      await rows.setDeleted(key, now, new Date(current.historyDueAt ?? now.getTime() + KEPT_MS))
      const left = { ...usage, keys: usage.keys - 1, bytes: usage.bytes - current.size }
      await rows.setUsage(await this.#removeOldest(rows, left, limitBytes))
      return { version: current.version, removed: rows.removedDigests }
    })
    await this.values.removeUnused(removed)
    return version
  }

  /**
   * Lists the kept versions of a key, newest first; those of a deleted key too.
   *
   * @throws NoSuchSave when none is kept
   */
  async versions({ gameId, playerId }: SaveOwner, key: string): Promise<KeptVersion[]> {
    const rows = await this.#parts.db.query<{
      version: number
      size: number
      contentType: string
      updatedAt: number
      current: number
    }>(
      `select v.version, v.size, v.content_type as "contentType", v.created_at as "updatedAt",
         case when s.deleted_at is null and s.version = v.version then 1 else 0 end as current
       from save_versions v
       join saves s on s.game_id = v.game_id and s.player_id = v.player_id and s.key = v.key
       where v.game_id = ? and v.player_id = ? and v.key = ? order by v.version desc`,
      [gameId, playerId, key],
    )
    if (rows.length === 0) throw new NoSuchSave(key)
    return rows.map(({ current, updatedAt, ...row }) => ({
      ...row,
      updatedAt: new Date(updatedAt).toISOString(),
      current: current === 1,
    }))
  }

  /**
   * Makes a kept version the newest one. The version that it replaces stays as an earlier version.
   *
   * @throws NoSuchVersion, SavesFull
   */
  async restore(owner: SaveOwner, key: string, version: number): Promise<WrittenSave> {
    const { db, clock } = this.#parts
    const limitBytes = await this.#games.bytesOf(owner.gameId)
    const { save, removed } = await db.groupCommit(async (statements) => {
      const rows = new SaveRows(statements, owner)
      const usage = await rows.hold()
      const current = await rows.current(key)
      const kept = await rows.version(key, version)
      if (!kept) throw new NoSuchVersion(version, key)
      const { size, contentType, ...value } = kept
      const written = { size, contentType, at: clock.now() }
      const { save } = await this.#write(rows, key, { usage, current, value, written, limitBytes })
      return { save, removed: rows.removedDigests }
    })
    await this.values.removeUnused(removed)
    return save
  }

  /** Adds a version, and makes it the current one. */
  async #write(
    rows: SaveRows,
    key: string,
    {
      usage,
      current,
      value,
      written: { size, contentType, at },
      limitBytes,
    }: {
      usage: UsageRow
      current: CurrentRow | null
      value: StoredValue
      written: { size: number; contentType: string; at: Date }
      limitBytes: number
    },
  ): Promise<{ created: boolean; save: WrittenSave }> {
    const { created, keys, bytes } = this.#mustFit(usage, current, { size, limitBytes })
    const version = Math.max(usage.versionFloor, current?.version ?? 0) + 1
    const before = current ? await rows.versions(key) : []
    await rows.insertVersion(key, { version, size, contentType, createdAt: at }, value)
    const { freed, dueAt } = await rows.sweepVersions(
      key,
      [{ version, size, createdAt: at.getTime() }, ...before],
      null,
      at,
    )
    await rows.setCurrent(key, { version, size, contentType, updatedAt: at, historyDueAt: dueAt })
    const changed = { ...usage, keys, bytes, keptBytes: usage.keptBytes + size - freed }
    await rows.setUsage(changed.keptBytes > limitBytes ? await this.#removeOldest(rows, changed, limitBytes) : changed)
    return { created, save: { key, version, size, updatedAt: at.toISOString() } }
  }

  /** @returns what the player has after a change @throws SavesFull */
  #mustFit(
    usage: Pick<UsageRow, 'keys' | 'bytes'>,
    current: CurrentRow | null,
    { size, limitBytes }: { size: number; limitBytes: number },
  ): { created: boolean; keys: number; bytes: number } {
    const created = current === null || current.deletedAt !== null
    const keys = usage.keys + (created ? 1 : 0)
    const bytes = usage.bytes + size - (created ? 0 : (current?.size ?? 0))
    const { savesPerPlayer } = this.#limits
    if (keys > savesPerPlayer && created) {
      throw new SavesFull(`A player has at most ${savesPerPlayer} saves in a game. Delete one first.`)
    }
    if (bytes > limitBytes && bytes > usage.bytes) {
      throw new SavesFull(
        `The saves of a player in this game have at most ${formatBytes(limitBytes)} in total. Delete one first.`,
      )
    }
    return { created, keys, bytes }
  }

  /**
   * Removes the oldest of what is kept beyond its bounds, so that nobody fills the server by making, shrinking and
   * deleting saves: as many deleted keys as there may be saves, and all versions together within the bytes of the saves.
   * A current value never goes.
   *
   * @returns what is left
   */
  async #removeOldest(rows: SaveRows, usage: UsageRow, limitBytes: number): Promise<UsageRow> {
    const left = { ...usage }
    const deleted = await rows.deletedKeys()
    for (const { key, version } of deleted.slice(0, Math.max(0, deleted.length - this.#limits.savesPerPlayer))) {
      left.keptBytes -= await rows.forget(key)
      left.versionFloor = Math.max(left.versionFloor, version)
    }
    if (left.keptBytes > limitBytes) {
      const { freed, forgotten } = await rows.removeEarlier(left.keptBytes - limitBytes)
      left.keptBytes -= freed
      left.versionFloor = Math.max(left.versionFloor, ...forgotten)
    }
    return left
  }

  async #row({ gameId, playerId }: SaveOwner, key: string): Promise<CurrentRow & StoredValue> {
    const [row] = await this.#parts.db.groupQuery<CurrentRow & StoredValue>(
      `select s.version, s.size, s.content_type as "contentType", s.updated_at as "updatedAt", v.sha256, v.value
       from saves s join save_versions v on v.game_id = s.game_id and v.player_id = s.player_id and v.key = s.key
         and v.version = s.version
       where s.game_id = ? and s.player_id = ? and s.key = ? and s.deleted_at is null`,
      [gameId, playerId, key],
    )
    if (!row) throw new NoSuchSave(key)
    return row
  }

  /** The bytes of a version may be collected between the two reads, if the save has been replaced five times. */
  async #read(owner: SaveOwner, key: string, row: CurrentRow & StoredValue): Promise<Buffer> {
    if (row.sha256 === null) {
      const bytes = await this.values.read(row)
      if (bytes.length <= INLINE_BYTES) this.#recent.keep(owner, key, { version: row.version, bytes })
      return bytes
    }
    for (let reads = 1; ; reads++) {
      try {
        return await this.values.read(row)
      } catch (error) {
        if ((error as { code?: string }).code !== 'blob_not_found') throw error
        if (reads === READS) throw new Error('The storage has lost the bytes of a save.', { cause: error })
        const now = await this.#row(owner, key)
        // The headers of the answer name the version, so another one must not be sent under them.
        if (now.version !== row.version) throw new NoSuchSave(key)
      }
    }
  }
}

/** @throws SaveConflict */
function mustHold(conditions: Conditions, current: CurrentRow | null): void {
  const live = current && current.deletedAt === null ? current : null
  if (holds(conditions, live?.version ?? null)) return
  const text = live
    ? `The save has changed: it is at version ${live.version} now.`
    : 'The save no longer exists, so the version does not match.'
  throw new SaveConflict(text).with({
    body: { version: live?.version ?? null, updatedAt: live ? new Date(live.updatedAt).toISOString() : null },
  })
}

const foundInfo = ({ version, size, contentType, updatedAt }: CurrentRow): FoundInfo => ({
  version,
  size,
  contentType,
  updatedAt: new Date(updatedAt),
})

const listOf = (rows: readonly ({ key: string } & CurrentRow)[], limitBytes: number): SaveList => ({
  saves: rows.map(infoOf),
  usedBytes: rows.reduce((total, { size }) => total + size, 0),
  limitBytes,
})

const infoOf = ({ key, version, size, contentType, updatedAt }: { key: string } & CurrentRow): SaveInfo => ({
  key,
  version,
  size,
  contentType,
  updatedAt: new Date(updatedAt).toISOString(),
})
