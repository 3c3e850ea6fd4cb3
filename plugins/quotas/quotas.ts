import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { formatBytes } from '../../core/pages/index.ts'
import { QuotaAccount, QuotaOverride, SharedBlob, StoredBytes } from './entities.ts'
import { QuotaExceeded } from './errors.ts'
import { moveGame, type ReadTallies, readTallies, tallyOfGame } from './game-usage.ts'
import { PlayerLimitsStore } from './player-limits.ts'
import type { QuotaLimits, QuotaName, Quotas as QuotaUse, StoredThing, Usage } from './schemas.ts'
import {
  type Blob,
  changeBytes,
  type HeldAccount,
  holdAccount,
  holdAccounts,
  releaseBlobs,
  storedBytes,
  takeBlobs,
} from './storage-accounts.ts'
import type { StoredKind } from './stored-kinds.ts'

/** Bytes that are added or removed. */
export interface Change {
  kind: string
  /** The bytes that are not shared. */
  bytes?: number
  /** Blobs that several things may share. Each counts once while any of these exists. */
  blobs?: readonly Blob[]
}

interface Upload {
  uploaded?: number
  uploaderId?: string
  admitted?: boolean
}

interface GameMove {
  gameId: string
  fromId: string
  toId: string
  admitted: boolean
  tallies?: ReadTallies | undefined
}

type Parts = Pick<FastifyInstance, 'db' | 'clock'>

/** The maximum number of listed things. */
const LISTED = 100

/**
 * The limits of players, and the counts of their data. A plugin that stores bytes for a player records this in the
 * transaction that assigns them to the player, and again in the one that removes them. The counts therefore stay
 * correct after a crash at any moment.
 */
export class Quotas {
  readonly limits: PlayerLimitsStore
  /** The kinds by name. Plugins add theirs. */
  readonly kinds = new Map<string, StoredKind>()
  /** The queries that count things with a quota. Plugins add theirs. */
  readonly counts = new Map<QuotaName, string>()
  readonly #parts: Parts

  constructor(parts: Parts, limits: QuotaLimits) {
    this.#parts = parts
    this.limits = new PlayerLimitsStore(parts, limits)
  }

  /**
   * Counts bytes that a player stores from now on, in the caller's transaction.
   *
   * @param uploaded bytes that count for the day of the uploader
   * @param uploaderId who uploads them, if that is not the owner
   * @param admitted true for a result of something that was admitted before; it counts whatever the quota
   * @throws QuotaExceeded: the caller's transaction must not be committed
   */
  async add(
    em: SqlEntityManager,
    ownerId: string,
    { kind, bytes = 0, blobs = [] }: Change,
    { uploaded = 0, uploaderId = ownerId, admitted = false }: Upload = {},
  ): Promise<void> {
    const accounts = await holdAccounts(em, [ownerId, uploaderId])
    const account = accounts.get(uploaderId) as HeldAccount
    const grown = bytes + (await takeBlobs(em, ownerId, kind, blobs))
    const day = this.#day()
    const uploads = account.uploadDay === day ? account.uploadBytes : 0
    if (!admitted) {
      const { storageBytesPerPlayer: limit } = await this.limits.of(ownerId, em)
      const { uploadBytesPerDay } = await this.limits.of(uploaderId, em)
      const used = await storedBytes(em, ownerId)
      mustFit('storageBytesPerPlayer', { used, more: grown, limit, isOwn: uploaderId === ownerId })
      mustFit('uploadBytesPerDay', { used: uploads, more: uploaded, limit: uploadBytesPerDay })
    }
    await changeBytes(em, ownerId, kind, grown)
    if (uploaded > 0) {
      const changes = { uploadDay: day, uploadBytes: uploads + uploaded }
      await em.nativeUpdate(QuotaAccount, { ownerId: uploaderId }, changes)
    }
  }

  /** Subtracts bytes of a player, in the transaction that removes them. */
  async remove(em: SqlEntityManager, ownerId: string, { kind, bytes = 0, blobs = [] }: Change): Promise<void> {
    await holdAccount(em, ownerId)
    await changeBytes(em, ownerId, kind, -(bytes + (await releaseBlobs(em, ownerId, kind, blobs))))
  }

  /**
   * Admits one more thing of a player, such as a game, which is inserted in the same transaction.
   *
   * @throws QuotaExceeded
   */
  async admit(em: SqlEntityManager, ownerId: string, quota: 'gamesPerPlayer' | 'assetsPerPlayer'): Promise<void> {
    await holdAccount(em, ownerId)
    const limit = (await this.limits.of(ownerId, em))[quota]
    if (limit !== null) mustFit(quota, { used: await this.#count(em, ownerId, quota), more: 1, limit })
  }

  /** Returns the bytes that a game has, which count for its owner; contents that several deploys share count once. */
  async bytesOfGame(gameId: string, em: SqlEntityManager = this.#parts.db.em()): Promise<number> {
    let bytes = 0
    for (const kind of this.kinds.values()) bytes += (await tallyOfGame(em, kind, gameId)).total
    return bytes
  }

  /** Reads before a transaction with `moveGame` what takes long to read. On SQLite nobody else writes during the transaction. */
  readGame(gameId: string): Promise<ReadTallies> {
    return readTallies(this.#parts.db.em(), this.kinds, gameId)
  }

  /**
   * Counts the bytes of a game for another player from now on, in the transaction that changes its owner.
   *
   * @param admitted true if they count whatever the quota of the new owner
   * @param tallies from `readGame`. What has come since is read in the transaction
   * @throws QuotaExceeded: the caller's transaction must not be committed
   */
  async moveGame(em: SqlEntityManager, { gameId, fromId, toId, admitted, tallies }: GameMove): Promise<void> {
    await holdAccounts(em, [fromId, toId])
    const used = await storedBytes(em, toId)
    const more = await moveGame(em, this.kinds, { gameId, fromId, toId, tallies })
    const { storageBytesPerPlayer: limit } = await this.limits.of(toId, em)
    if (!admitted) mustFit('storageBytesPerPlayer', { used, more, limit })
  }

  /** Makes the changes of players' things run one after the other, until the caller's transaction ends. */
  async hold(em: SqlEntityManager, ...playerIds: string[]): Promise<void> {
    await holdAccounts(em, playerIds)
  }

  /**
   * Requires some free storage of a player, before work whose size is unknown.
   *
   * @param callerId who is told so, if that is not the owner
   * @throws QuotaExceeded when the storage is full
   */
  async mustHaveRoom(
    ownerId: string,
    em: SqlEntityManager = this.#parts.db.em(),
    callerId: string = ownerId,
  ): Promise<void> {
    const limit = (await this.limits.of(ownerId, em)).storageBytesPerPlayer
    if (limit === null) return
    const used = await storedBytes(em, ownerId)
    mustFit('storageBytesPerPlayer', { used, more: 1, limit, isOwn: callerId === ownerId })
  }

  /** Returns a player's usage and limits. */
  async quotasOf(ownerId: string): Promise<QuotaUse> {
    const em = this.#parts.db.em()
    const limits = await this.limits.of(ownerId, em)
    const account = await em.findOne(QuotaAccount, { ownerId })
    const day = this.#day()
    const of = async (quota: 'gamesPerPlayer' | 'assetsPerPlayer') => ({
      used: await this.#count(em, ownerId, quota),
      limit: limits[quota],
    })
    return {
      storageBytesPerPlayer: { used: await storedBytes(em, ownerId), limit: limits.storageBytesPerPlayer },
      gamesPerPlayer: await of('gamesPerPlayer'),
      assetsPerPlayer: await of('assetsPerPlayer'),
      uploadBytesPerDay: {
        used: account?.uploadDay === day ? account.uploadBytes : 0,
        limit: limits.uploadBytesPerDay,
        resetsAt: new Date(Date.parse(day) + 86_400_000).toISOString(),
      },
    }
  }

  /** Returns the bytes of a player by kind, largest first. */
  async bytesByKind(ownerId: string): Promise<Usage['kinds']> {
    const rows = await this.#parts.db.em().find(StoredBytes, { ownerId, bytes: { $gt: 0 } })
    return rows.map(({ kind, bytes }) => ({ kind, bytes })).toSorted((a, b) => b.bytes - a.bytes)
  }

  /** Returns a player's complete usage, with the largest things. */
  async usage(ownerId: string): Promise<Usage> {
    const things: StoredThing[] = []
    for (const kind of this.kinds.values()) things.push(...(await kind.things(ownerId, LISTED)))
    things.sort((a, b) => b.bytes - a.bytes || (a.id < b.id ? 1 : -1))
    return {
      quotas: await this.quotasOf(ownerId),
      kinds: await this.bytesByKind(ownerId),
      largest: things.slice(0, LISTED),
    }
  }

  /** Lists players by their stored bytes, largest first. @returns `bytes` of all kinds */
  async largestPlayers(limit: number): Promise<{ playerId: string; bytes: number; hasOverrides: boolean }[]> {
    const rows = await this.#parts.db.query<{ playerId: string; bytes: number | string; own: string | null }>(
      `select s.owner_id as "playerId", sum(s.bytes) as bytes, max(o.owner_id) as own from quota_stored_bytes s
       left join quota_overrides o on o.owner_id = s.owner_id
       where s.bytes > 0 group by s.owner_id order by 2 desc, s.owner_id limit ?`,
      [limit],
    )
    return rows.map(({ playerId, bytes, own }) => ({ playerId, bytes: Number(bytes), hasOverrides: own !== null }))
  }

  /** Deletes the limits of a player whose account ends. Remaining data stays counted until it is removed. */
  async forget(em: SqlEntityManager, ownerId: string): Promise<void> {
    await em.nativeDelete(QuotaOverride, { ownerId })
  }

  /** Deletes the quota account of a player without data, in a transaction that holds it. */
  async removeEmpty(em: SqlEntityManager, ownerId: string): Promise<void> {
    await em.nativeDelete(StoredBytes, { ownerId, bytes: 0 })
    if ((await em.count(StoredBytes, { ownerId })) > 0 || (await em.count(SharedBlob, { ownerId })) > 0) return
    await em.nativeDelete(QuotaAccount, { ownerId, uploadDay: { $ne: this.#day() } })
  }

  async #count(em: SqlEntityManager, ownerId: string, quota: QuotaName): Promise<number> {
    const sql = this.counts.get(quota)
    if (!sql) return 0
    const [row] = await em.execute<{ things: number | string }[]>(sql, [ownerId])
    return Number(row?.things ?? 0)
  }

  /** The date in UTC, such as `2026-11-23`. */
  #day(): string {
    return this.#parts.clock.now().toISOString().slice(0, 10)
  }
}

/** Refuses new data that does not fit. Existing data may exceed the limit. @throws QuotaExceeded */
function mustFit(
  quota: QuotaName,
  { used, more, limit, isOwn = true }: { used: number; more: number; limit: number | null; isOwn?: boolean },
): void {
  if (limit === null || more <= 0 || used + more <= limit) return
  // How much another player stores is nobody else's business.
  if (!isOwn) throw new QuotaExceeded(OF_OWNER).with({ body: { quota } })
  throw new QuotaExceeded(sentences[quota](used, limit, more)).with({ body: { quota, used, limit } })
}

const OF_OWNER =
  'The owner of this game can store no more. The owner makes room by deleting something under Settings, Storage.'

const sentences: Record<QuotaName, (used: number, limit: number, more: number) => string> = {
  storageBytesPerPlayer: (used, limit, more) =>
    `This needs ${formatBytes(more)} more than you store now, ${formatBytes(used)} of the ${formatBytes(limit)} that you may. Delete something under Settings, Storage.`,
  gamesPerPlayer: (used, limit) =>
    `You have ${used} games, with deleted ones, and may have ${limit}. Delete one for good first.`,
  assetsPerPlayer: (used, limit) => `You have ${used} assets, and may have ${limit}. Delete one first.`,
  uploadBytesPerDay: (used, limit, more) =>
    `These are ${formatBytes(more)}, and you have uploaded ${formatBytes(used)} today of the ${formatBytes(limit)} that you may in a day. Go on after midnight UTC.`,
}
