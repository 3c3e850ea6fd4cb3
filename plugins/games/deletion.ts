import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { type Actor, recordAction } from '../../core/data/audit.ts'
import { UnderReview } from '../../core/data/staff/suspensions.ts'
import { Conflict, InvalidRequest, NotFound } from '../../core/errors.ts'
import { deleteAppsOfGame } from '../oauth-idp/index.ts'
import { recordActivity } from './activity/record.ts'
import { openPort, reopenPort } from './addresses/ports.ts'
import { reclaimSlug } from './addresses/slugs.ts'
import { type GameDay, GameRow, GameSlug } from './entities.ts'
import { SlugTaken } from './errors.ts'
import type { GameLookup, GamesParts } from './game-lookup.ts'
import { releaseMedia } from './media/stored-bytes.ts'
import { GameTransfer } from './members/entities.ts'
import type { Game } from './schemas.ts'
import { entities } from './tables.ts'

export const RESTORABLE_MS = 30 * 24 * 3_600_000
/**
 * How long the row of a game that its owner deleted for good stays. Requests that were under way then, and other nodes,
 * may have written data of the game, which goes with the row.
 */
const LATE_MS = 10 * 60_000

declare module '../../core/events.ts' {
  interface DomainEvents {
    /**
     * A game was permanently deleted. Plugins deleted their data before: see `GameDeletion.preparations` and `cleanups`.
     */
    'game.purged': { gameId: string }
  }
}

/** Deletes games: at once for players, permanently after 30 days or when the owner says so. */
export class GameDeletion {
  readonly #parts: GamesParts
  readonly #games: GameLookup
  /**
   * What takes long is deleted before the transaction with the cleanups, in transactions of its own, so that others write
   * meanwhile. The game can't be restored by then. The purge repeats it after a crash. `signal` says that the server
   * stops. Plugins add theirs.
   */
  readonly preparations: ((gameId: string, signal?: AbortSignal) => Promise<unknown>)[] = []
  /** The cleanups in the transaction that permanently deletes a game. Plugins add theirs. */
  readonly cleanups: ((em: SqlEntityManager, gameId: string) => Promise<unknown>)[] = []
  /** What ends at once when a game is deleted, in the same transaction, and does not come back. Plugins add theirs. */
  readonly endings: ((em: SqlEntityManager, gameId: string) => Promise<unknown>)[] = []

  /** What the staff still have to decide about a game, which its owner may not delete for good. Plugins add theirs. */
  readonly reviews: ((em: SqlEntityManager, gameId: string) => Promise<boolean>)[] = []

  constructor(parts: GamesParts, games: GameLookup) {
    this.#parts = parts
    this.#games = games
  }

  /**
   * Deletes a game: from now on no look-up finds it. It can be restored for 30 days, and its slug stays reserved.
   *
   * @throws NotFound when it is not the player's
   */
  async remove(playerId: string, gameId: string): Promise<Game> {
    const game = await this.#games.mustOwn(playerId, gameId)
    const deletedAt = this.#parts.clock.now()
    this.#endRechecks(game)
    await this.#parts.db.transaction(async (em) => {
      // Waits for changes that have checked the game in their transaction (recheck.ts).
      await em.findOne(GameRow, { id: game.id }, { fields: ['id'], lockMode: LockMode.PESSIMISTIC_WRITE })
      const rows = await em.nativeUpdate(GameRow, { id: game.id, deletedAt: null }, { deletedAt, updatedAt: deletedAt })
      if (rows === 0) throw new NotFound('game')
      await em.nativeUpdate(GameSlug, { slug: game.slug, gameId: game.id }, { freedAt: deletedAt, freedBy: playerId })
      await em.nativeDelete(GameTransfer, { gameId: game.id })
      for (const end of this.endings) await end(em, game.id)
      await recordActivity(em, this.#parts.clock, { gameId: game.id, action: 'game.delete' })
    })
    await this.#games.announce(game)
    return game
  }

  /** Deletes all games of a player in the transaction that ends the account. `forget` follows after the commit. */
  async removeAllOf(em: SqlEntityManager, ownerId: string): Promise<void> {
    const deletedAt = this.#parts.clock.now()
    const games = await em.find(GameRow, { ownerId, deletedAt: null }, { fields: ['id'] })
    const ids = games.map(({ id }) => id)
    await em.nativeUpdate(GameRow, { id: { $in: ids } }, { deletedAt, updatedAt: deletedAt })
    await em.nativeUpdate(GameSlug, { gameId: { $in: ids }, freedAt: null }, { freedAt: deletedAt })
    await em.nativeUpdate(GameSlug, { freedBy: ownerId }, { freedBy: null })
  }

  /** Announces the deletion of a former player's games. */
  async forget(ownerId: string): Promise<void> {
    const games = await this.#parts.db.em().find(GameRow, { ownerId }, { fields: ['id', 'slug'] })
    for (const game of games) await this.#games.announce(game)
  }

  /** Requires a deleted game of the player that can be restored. @throws NotFound when there is none */
  async mustBeRestorable(playerId: string, gameId: string): Promise<void> {
    const since = new Date(this.#parts.clock.now().getTime() - RESTORABLE_MS)
    const owned = { id: gameId, ownerId: playerId, deletedAt: { $gt: since }, erasedAt: null }
    if (!(await this.#parts.db.em().count(GameRow, owned))) throw new NotFound('deleted game')
  }

  /**
   * Restores a deleted game, unchanged, at the address it had.
   *
   * @param gameId its id; the slug of a deleted game names nothing
   * @throws NotFound when it is not the player's, not deleted, or permanently deleted
   */
  async restore(playerId: string, gameId: string): Promise<Game> {
    const now = this.#parts.clock.now()
    const since = new Date(now.getTime() - RESTORABLE_MS)
    const slug = await this.#parts.db.transaction(async (em) => {
      const owned = { id: gameId, ownerId: playerId, deletedAt: { $gt: since }, erasedAt: null }
      const rows = await em.nativeUpdate(GameRow, owned, { deletedAt: null, updatedAt: now })
      const row = rows === 1 ? await em.findOne(GameRow, { id: gameId }) : null
      if (!row) throw new NotFound('deleted game')
      // The slug is reserved for longer than a game can be restored, so no other game has it.
      if (!(await reclaimSlug(em, row.slug, gameId, now))) throw new SlugTaken(row.slug)
      if (row.port != null) await reopenPort(row.slug, row.port, this.#parts)
      else row.port = await openPort(em, row.slug, this.#parts)
      await em.flush()
      await recordActivity(em, this.#parts.clock, { gameId, action: 'game.restore' })
      return row.slug
    })
    const game = await this.#games.get(gameId)
    await this.#games.announce({ id: gameId, slug })
    return game
  }

  /**
   * Permanently deletes a game of the player, whether it is deleted already or not. Its bytes count no more; the sweeps
   * remove the files. Its addresses stay reserved.
   *
   * @param idOrSlug also the slug of a deleted game
   * @param confirm its slug, repeated
   * @throws NotFound when it is not the player's; InvalidRequest for another slug
   * @throws UnderReview while it is suspended, or the staff have something about it to decide
   */
  async removeForGood(playerId: string, idOrSlug: string, confirm: string): Promise<void> {
    const game = await this.#games.mustOwnEvenDeleted(playerId, idOrSlug)
    await this.#erase(game, confirm, async (em, row) => {
      if (row.ownerId !== playerId) throw new NotFound('game')
      if (row.suspendedAt) throw new UnderReview('game')
      for (const isOpen of this.reviews) if (await isOpen(em, game.id)) throw new UnderReview('game')
    })
  }

  /**
   * Permanently deletes a suspended game, for an administrator: what may not stay on the server at all. Its owner, who may
   * have deleted it already, is told.
   *
   * @param confirm its slug, repeated
   * @throws NotFound; Conflict unless it is suspended; InvalidRequest for another slug
   */
  async removeByStaff(gameId: string, confirm: string, by: Actor): Promise<void> {
    const { clock, identity } = this.#parts
    const game = await this.#games.evenDeleted(gameId)
    if (!game) throw new NotFound('game')
    await this.#erase(game, confirm, async (em, { id, ownerId, title, suspendedAt, suspensionReason }) => {
      if (!suspendedAt) throw new Conflict('Suspend the game first, so that its maker reads the reason.')
      const reason = suspensionReason ?? null
      await recordAction(em, clock, { by, action: 'game.delete', target: { kind: 'game', id }, reason })
      const text = `An administrator of this platform has deleted it for good, with its builds, saves and scores. It was suspended: ${reason}`
      await identity.tell(em, ownerId, `${title} is deleted`, text)
    })
  }

  /** Deletes what a game has at once, and its row with the next purge. @param check in the transaction that ends it */
  async #erase(
    game: Pick<Game, 'id' | 'slug'>,
    confirm: string,
    check: (em: SqlEntityManager, row: GameRow) => Promise<void>,
  ): Promise<void> {
    const { db, clock } = this.#parts
    const { id, slug } = game
    if (confirm !== slug) {
      throw new InvalidRequest(`Nothing was deleted: repeat ${slug} to confirm.`).with({
        details: [{ path: 'confirm', message: `must be ${slug}` }],
      })
    }
    const now = clock.now()
    await db.transaction(async (em) => {
      // The write locks the row, so that a suspension is before it or finds no game.
      const rows = await em.nativeUpdate(GameRow, { id, erasedAt: null }, { updatedAt: now })
      const row = rows === 1 ? await em.findOne(GameRow, { id }) : null
      if (!row) throw new NotFound('game')
      await check(em, row)
      await em.nativeUpdate(GameRow, { id }, { deletedAt: row.deletedAt ?? now, erasedAt: now })
      const freed = { freedAt: now, freedBy: row.ownerId }
      await em.nativeUpdate(GameSlug, { slug: row.slug, gameId: id, freedAt: null }, freed)
    })
    this.#endRechecks(game)
    await this.#games.announce(game)
    await this.#clear(id, (em) => em.nativeUpdate(GameRow, { id }, { liveDeployId: null, media: [], coverId: null }))
  }

  /** Permanently deletes games after 30 days. A sweep removes their media, and their former slugs stay reserved. */
  async purge(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#parts
    const now = clock.now().getTime()
    const find = (where: object) => db.em().find(GameRow, where, { fields: ['id'], limit: 1000 })
    const old = await find({ deletedAt: { $lte: new Date(now - RESTORABLE_MS) } })
    const erased = await find({ erasedAt: { $lte: new Date(now - LATE_MS) } })
    for (const { id } of [...old, ...erased]) {
      if (signal.aborted) return
      await this.#clear(id, (em) => em.nativeDelete(GameRow, { id }), signal)
    }
  }

  /** The rest of the request is about a deleted game, of which the caller need not be a maker any more. */
  #endRechecks({ id }: Pick<Game, 'id'>): void {
    for (const action of ['make', 'own']) this.#parts.db.endRecheck(`${action} ${id}`)
  }

  /**
   * Deletes the data of a game.
   *
   * @param end of its row, in the same transaction as the cleanups
   * @param signal when it aborts before that transaction, the next purge deletes the rest
   */
  async #clear(id: string, end: (em: SqlEntityManager) => Promise<unknown>, signal?: AbortSignal): Promise<void> {
    const { db, clock, identity, quotas } = this.#parts
    for (const prepare of this.preparations) await prepare(id, signal)
    if (signal?.aborted) return
    const apps = await db.transaction(async (em) => {
      // Waits for counts that are being stored (analytics/write.ts), which would stay otherwise.
      const fields = ['id', 'ownerId', 'clientId'] as const
      const game = await em.findOne(GameRow, { id }, { fields, lockMode: LockMode.PESSIMISTIC_WRITE })
      if (!game) return null
      for (const entity of DATA) await em.nativeDelete(entity as typeof GameDay, { gameId: id })
      for (const clear of this.cleanups) await clear(em, id)
      await releaseMedia(em, quotas, id)
      await end(em)
      return deleteAppsOfGame(em, clock, game)
    })
    if (apps === null) return
    for (const app of apps) await identity.apps.announce(app)
    await this.#parts.events.emit('game.purged', { gameId: id })
  }
}

/** What is stored about a game in this plugin, besides its row, its addresses and its files. */
const DATA = entities.filter((entity) => entity !== GameRow && entity !== GameSlug)
