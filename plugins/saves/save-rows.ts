import type { Statements } from '../../core/data/database.ts'
import { Unauthorized } from '../../core/errors.ts'
import { type HistoryEntry, historyDueAt, keptOf } from './history.ts'
import type { StoredValue } from './values/values.ts'

/** The saves of one player in one game. */
export interface SaveOwner {
  gameId: string
  playerId: string
}

export interface UsageRow {
  keys: number
  bytes: number
  keptBytes: number
  versionFloor: number
}

export interface CurrentRow {
  version: number
  size: number
  contentType: string
  /** In ms since 1970, as all times here. */
  updatedAt: number
  deletedAt: number | null
  historyDueAt: number | null
}

export interface VersionRow extends HistoryEntry {
  size: number
}

/** The statements of a change, in the caller's transaction. */
export class SaveRows {
  /** The digests of the large values whose versions were removed. */
  readonly removedDigests = new Set<string>()
  readonly #statements: Statements
  readonly #owner: SaveOwner

  constructor(statements: Statements, owner: SaveOwner) {
    this.#statements = statements
    this.#owner = owner
  }

  /**
   * Holds the saves of the player in the game until the transaction ends. Changes run one after the other.
   *
   * @throws Unauthorized when the account has been deleted meanwhile
   */
  async hold(): Promise<UsageRow> {
    const { playerId, gameId } = this.#owner
    const [row] = await this.#statements.query<{ keys: number; bytes: number; kept: number; floor: number }>(
      `insert into save_usage (player_id, game_id, keys, bytes, kept_bytes, counted_bytes, counted, version_floor)
       select p.id, cast(? as varchar(30)), 0, 0, 0, 0, cast(? as boolean), 0 from players p where p.id = ?
       on conflict (player_id, game_id) do update set counted = excluded.counted
       returning keys, bytes, kept_bytes as kept, version_floor as floor`,
      [gameId, false, playerId],
    )
    if (!row) throw new Unauthorized('There is no such player.')
    return {
      keys: Number(row.keys),
      bytes: Number(row.bytes),
      keptBytes: Number(row.kept),
      versionFloor: Number(row.floor),
    }
  }

  /** Returns the sums of the player in the game, without holding them. */
  async usage(): Promise<Pick<UsageRow, 'keys' | 'bytes'>> {
    const { playerId, gameId } = this.#owner
    const [row] = await this.#statements.query<{ keys: number; bytes: number | string }>(
      'select keys, bytes from save_usage where player_id = ? and game_id = ?',
      [playerId, gameId],
    )
    return { keys: Number(row?.keys ?? 0), bytes: Number(row?.bytes ?? 0) }
  }

  async setUsage({ keys, bytes, keptBytes, versionFloor }: UsageRow): Promise<void> {
    const { playerId, gameId } = this.#owner
    await this.#statements.execute(
      'update save_usage set keys = ?, bytes = ?, kept_bytes = ?, version_floor = ? where player_id = ? and game_id = ?',
      [keys, bytes, keptBytes, versionFloor, playerId, gameId],
    )
  }

  /** Returns the state of a key, also of a deleted one with earlier versions. */
  async current(key: string): Promise<CurrentRow | null> {
    const [row] = await this.#statements.query<CurrentRow>(
      `select version, size, content_type as "contentType", updated_at as "updatedAt", deleted_at as "deletedAt",
         history_due_at as "historyDueAt" from saves where game_id = ? and player_id = ? and key = ?`,
      this.#at(key),
    )
    return row ?? null
  }

  /** Returns the kept versions of a key, newest first. */
  async versions(key: string): Promise<VersionRow[]> {
    return this.#statements.query<VersionRow>(
      `select version, size, created_at as "createdAt", unread from save_versions
       where game_id = ? and player_id = ? and key = ? order by version desc`,
      this.#at(key),
    )
  }

  /** Keeps a version for longer: the change that replaces it was not made from it. */
  async setUnread(key: string, version: number): Promise<void> {
    await this.#statements.execute(
      'update save_versions set unread = 1 where game_id = ? and player_id = ? and key = ? and version = ?',
      [...this.#at(key), version],
    )
  }

  async insertVersion(
    key: string,
    { version, size, contentType, createdAt }: { version: number; size: number; contentType: string; createdAt: Date },
    { sha256, value }: StoredValue,
  ): Promise<void> {
    await this.#statements.execute(
      `insert into save_versions (game_id, player_id, key, version, size, content_type, created_at, sha256, value)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [...this.#at(key), version, size, contentType, createdAt, sha256, value],
    )
  }

  /** Returns a kept version with its value, or null. */
  async version(key: string, version: number): Promise<(StoredValue & { size: number; contentType: string }) | null> {
    const [row] = await this.#statements.query<StoredValue & { size: number; contentType: string }>(
      `select size, content_type as "contentType", sha256, value from save_versions
       where game_id = ? and player_id = ? and key = ? and version = ?`,
      [...this.#at(key), Math.min(version, MOST_VERSIONS)],
    )
    return row ?? null
  }

  async setCurrent(
    key: string,
    row: { version: number; size: number; contentType: string; updatedAt: Date; historyDueAt: Date | null },
  ): Promise<void> {
    await this.#statements.execute(
      `insert into saves
         (game_id, player_id, key, version, size, content_type, updated_at, deleted_at, history_due_at)
       values (?, ?, ?, ?, ?, ?, ?, null, ?) on conflict (game_id, player_id, key) do update set
         version = excluded.version, size = excluded.size, content_type = excluded.content_type,
         updated_at = excluded.updated_at, deleted_at = null, history_due_at = excluded.history_due_at`,
      [...this.#at(key), row.version, row.size, row.contentType, row.updatedAt, row.historyDueAt],
    )
  }

  async setDeleted(key: string, deletedAt: Date, due: Date): Promise<void> {
    await this.#statements.execute(
      'update saves set deleted_at = ?, history_due_at = ? where game_id = ? and player_id = ? and key = ?',
      [deletedAt, due, ...this.#at(key)],
    )
  }

  async setHistoryDueAt(key: string, due: Date | null): Promise<void> {
    await this.#statements.execute(
      'update saves set history_due_at = ? where game_id = ? and player_id = ? and key = ?',
      [due, ...this.#at(key)],
    )
  }

  /** Returns the deleted keys of the player, the earliest deletion first. */
  async deletedKeys(): Promise<{ key: string; version: number }[]> {
    const { gameId, playerId } = this.#owner
    return this.#statements.query<{ key: string; version: number }>(
      `select key, version from saves where game_id = ? and player_id = ? and deleted_at is not null
       order by deleted_at, key`,
      [gameId, playerId],
    )
  }

  /** Removes a deleted key with all of its versions. @returns the freed bytes */
  async forget(key: string): Promise<number> {
    const versions = await this.versions(key)
    await this.#remove(key, 'version <= ?', MOST_VERSIONS)
    await this.#statements.execute(
      'delete from saves where game_id = ? and player_id = ? and key = ? and deleted_at is not null',
      this.#at(key),
    )
    return sum(versions)
  }

  /**
   * Removes the versions of a key that are no longer kept.
   *
   * @param versions all versions, newest first
   * @param endedAt see `keptOf`
   * @returns the kept versions, the freed bytes, and the time of the next removal
   */
  async sweepVersions(
    key: string,
    versions: readonly VersionRow[],
    endedAt: number | null,
    now: Date,
  ): Promise<{ kept: VersionRow[]; freed: number; dueAt: Date | null }> {
    const kept = keptOf(versions, endedAt, now.getTime())
    const stays = new Set(kept)
    // One at most, unless a day has passed.
    for (const entry of versions) if (!stays.has(entry)) await this.#remove(key, 'version = ?', entry.version)
    const due = historyDueAt(kept, endedAt)
    return { kept, freed: sum(versions) - sum(kept), dueAt: due === null ? null : new Date(due) }
  }

  /**
   * Removes earlier versions and those of deleted keys, the oldest first, until at least this many bytes are free. A
   * current value stays.
   *
   * @returns the freed bytes, fewer when no such version is left, and the version of each key that was forgotten
   */
  async removeEarlier(bytes: number): Promise<{ freed: number; forgotten: number[] }> {
    const { gameId, playerId } = this.#owner
    const earlier = await this.#statements.query<{ key: string; version: number; size: number; deleted: number }>(
      `select v.key, v.version, v.size, case when s.deleted_at is null then 0 else 1 end as deleted from saves s
       join save_versions v on v.game_id = s.game_id and v.player_id = s.player_id and v.key = s.key
         and (v.version < s.version or s.deleted_at is not null)
       where s.game_id = ? and s.player_id = ? order by v.created_at, v.key, v.version`,
      [gameId, playerId],
    )
    const removed = new Map<string, { version: number; deleted: number }>()
    let planned = 0
    for (const { key, version, size, deleted } of earlier) {
      if (planned >= bytes) break
      // A clock that was set back puts a later version of a key first.
      if (version <= (removed.get(key)?.version ?? 0)) continue
      removed.set(key, { version, deleted })
      planned += size
    }
    const forgotten: number[] = []
    for (const [key, { version, deleted }] of removed) {
      await this.#remove(key, 'version <= ?', version)
      const left = await this.versions(key)
      if (left.length > 0) {
        const due = historyDueAt(left, deleted ? await this.#deletedAt(key) : null)
        await this.setHistoryDueAt(key, due === null ? null : new Date(due))
      } else {
        await this.forget(key)
        forgotten.push(version)
      }
    }
    const freed = sum(earlier.filter(({ key, version }) => version <= (removed.get(key)?.version ?? 0)))
    return { freed, forgotten }
  }

  async #deletedAt(key: string): Promise<number | null> {
    return (await this.current(key))?.deletedAt ?? null
  }

  async #remove(key: string, which: 'version = ?' | 'version <= ?', version: number): Promise<void> {
    const rows = await this.#statements.query<{ sha256: string | null }>(
      `delete from save_versions where game_id = ? and player_id = ? and key = ? and ${which} returning sha256`,
      [...this.#at(key), Math.min(version, MOST_VERSIONS)],
    )
    for (const { sha256 } of rows) if (sha256 !== null) this.removedDigests.add(sha256)
  }

  #at(key: string): [gameId: string, playerId: string, key: string] {
    return [this.#owner.gameId, this.#owner.playerId, key]
  }
}

/** The largest number of a version: that of the column. */
const MOST_VERSIONS = 2 ** 31 - 1

const sum = (rows: readonly { size: number }[]): number => rows.reduce((total, { size }) => total + size, 0)
