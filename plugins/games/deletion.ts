import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { NotFound } from '../../core/errors.ts'
import { GameActivityRow } from './activity/entities.ts'
import { recordActivity } from './activity/record.ts'
import { openPort, reopenPort } from './addresses/ports.ts'
import { reclaimSlug } from './addresses/slugs.ts'
import { GameDay, GamePresence, GameRow, GameSlug, GameTerm, GameVisitor } from './entities.ts'
import { SlugTaken } from './errors.ts'
import type { GameLookup, GamesParts } from './game-lookup.ts'
import { releaseMedia } from './media/stored-bytes.ts'
import type { Game } from './schemas.ts'

export const RESTORABLE_MS = 30 * 24 * 3_600_000

declare module '../../core/events.ts' {
  interface DomainEvents {
    /**
     * A game was permanently deleted. Plugins deleted their data in the same transaction: see `GameDeletion.cleanups`.
     */
    'game.purged': { gameId: string }
  }
}

/** Deletes games: at once for players, permanently after 30 days. */
export class GameDeletion {
  readonly #parts: GamesParts
  readonly #games: GameLookup
  /** The cleanups in the transaction that permanently deletes a game. Plugins add theirs. */
  readonly cleanups: ((em: SqlEntityManager, gameId: string) => Promise<unknown>)[] = []
  /** What ends at once when a game is deleted, in the same transaction, and does not come back. Plugins add theirs. */
  readonly endings: ((em: SqlEntityManager, gameId: string) => Promise<unknown>)[] = []

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
    // The rest of the request is about a deleted game.
    this.#parts.db.endRecheck(`game ${game.id}`)
    await this.#parts.db.transaction(async (em) => {
      // Waits for changes that have checked the game in their transaction (recheck.ts).
      await em.findOne(GameRow, { id: game.id }, { fields: ['id'], lockMode: LockMode.PESSIMISTIC_WRITE })
      const rows = await em.nativeUpdate(GameRow, { id: game.id, deletedAt: null }, { deletedAt, updatedAt: deletedAt })
      if (rows === 0) throw new NotFound('game')
      await em.nativeUpdate(GameSlug, { slug: game.slug, gameId: game.id }, { freedAt: deletedAt })
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
  }

  /** Announces the deletion of a former player's games. */
  async forget(ownerId: string): Promise<void> {
    const games = await this.#parts.db.em().find(GameRow, { ownerId }, { fields: ['id', 'slug'] })
    for (const game of games) await this.#games.announce(game)
  }

  /** Requires a deleted game of the player that can be restored. @throws NotFound when there is none */
  async mustBeRestorable(playerId: string, gameId: string): Promise<void> {
    const since = new Date(this.#parts.clock.now().getTime() - RESTORABLE_MS)
    const owned = { id: gameId, ownerId: playerId, deletedAt: { $gt: since } }
    if (!(await this.#parts.db.em().count(GameRow, owned))) throw new NotFound('deleted game')
  }

  /**
   * Restores a deleted game, unchanged, at the address it had.
   *
   * @param gameId its id; the slug of a deleted game names nothing
   * @throws NotFound when it is not the player's, not deleted, or permanently deleted
   * @throws QuotaExceeded when the player has as many games as one may
   */
  async restore(playerId: string, gameId: string): Promise<Game> {
    const now = this.#parts.clock.now()
    const since = new Date(now.getTime() - RESTORABLE_MS)
    const slug = await this.#parts.db.transaction(async (em) => {
      await this.#parts.quotas.admit(em, playerId, 'gamesPerPlayer')
      const owned = { id: gameId, ownerId: playerId, deletedAt: { $gt: since } }
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

  /** Permanently deletes games after 30 days. A sweep removes their media, and their former slugs stay reserved. */
  async purge(signal: AbortSignal): Promise<void> {
    const { db, clock, events, identity, quotas } = this.#parts
    const before = new Date(clock.now().getTime() - RESTORABLE_MS)
    const fields = ['id', 'ownerId', 'clientId'] as const
    const due = await db.em().find(GameRow, { deletedAt: { $lte: before } }, { fields, limit: 1000 })
    for (const game of due) {
      if (signal.aborted) return
      const { id } = game
      const apps = await db.transaction(async (em) => {
        await em.nativeDelete(GameTerm, { gameId: id })
        await em.nativeDelete(GameDay, { gameId: id })
        await em.nativeDelete(GameVisitor, { gameId: id })
        await em.nativeDelete(GamePresence, { gameId: id })
        await em.nativeDelete(GameActivityRow, { gameId: id })
        for (const clear of this.cleanups) await clear(em, id)
        await releaseMedia(em, quotas, id)
        await em.nativeDelete(GameRow, { id, deletedAt: { $lte: before } })
        return identity.apps.endGame(em, game)
      })
      for (const app of apps) await identity.apps.announce(app)
      await events.emit('game.purged', { gameId: id })
    }
  }
}
