import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { visibleText } from '../../core/visible-text.ts'
import type { Game } from '../games/index.ts'
import { RemixRow } from './entities.ts'
import { NothingToRemix, RemixNotAllowed } from './errors.ts'
import { TITLE_LENGTH } from './schemas.ts'

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'deploys' | 'games' | 'identity' | 'scores'>

/** Where a game came from. */
export interface RemixOrigin {
  /** Null while the game may not be shown: it is deleted, private or suspended. */
  game: Game | null
  /** Null once the account is deleted. */
  owner: { name: string; hasPage: boolean; id: string } | null
}

/** Makes games from games of others, whose owners allow it (`settings.remix`). */
export class Remixes {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Whether anyone may make their own version of a game now. */
  isOffered(game: Game): boolean {
    return game.settings.remix && this.#parts.games.isShown(game) && game.hosted && this.#parts.games.isReady(game)
  }

  /**
   * Returns the game from which a player may make their own version.
   *
   * @throws NotFound when the player may not see it
   * @throws Suspended, RemixNotAllowed, NothingToRemix
   */
  async mustBeOffered(playerId: string, idOrSlug: string): Promise<Game> {
    const { games } = this.#parts
    const game = games.mustPlay(playerId, await games.get(idOrSlug))
    if (!game.settings.remix || !games.isShown(game)) throw new RemixNotAllowed()
    if (!this.isOffered(game)) throw new NothingToRemix()
    return game
  }

  /** Returns the title of a version that has no title of its own yet. */
  titleFor({ title }: Pick<Game, 'title'>): string {
    return `My ${title}`.slice(0, TITLE_LENGTH).trim()
  }

  /**
   * Makes a game of the player with the files of another game's live deploy, its description, tags, features and boards,
   * and the settings that its build needs. Pictures, domains, secrets, scores and saves stay with the other game.
   *
   * @param title default: `titleFor`
   * @throws as `mustBeOffered`
   * @throws QuotaExceeded, and errors of `deploys.copy`: then no game is made
   */
  async create(playerId: string, idOrSlug: string, { title }: { title?: string | undefined } = {}): Promise<Game> {
    const { clock, deploys, games, scores } = this.#parts
    const source = await this.mustBeOffered(playerId, idOrSlug)
    if (source.liveDeployId === null) throw new NothingToRemix()
    const { authWidget, crossOriginIsolated, clickToStart, multiplayer } = source.settings
    const { description, tags, features } = source
    const fields = {
      title: visibleText(title ?? '') || this.titleFor(source),
      description,
      tags,
      features,
      settings: { authWidget, crossOriginIsolated, clickToStart, multiplayer },
    }
    const origin = { sourceGameId: source.id, sourceTitle: source.title, sourceOwnerId: source.ownerId }
    const made = await games.create(playerId, fields, {
      also: async (em, gameId) => void (await em.insert(RemixRow, { gameId, ...origin, createdAt: clock.now() })),
    })
    try {
      for (const { id, fields } of await scores.boards.list(source.id)) await scores.boards.put(made.id, id, fields)
      const message = `Made from ${source.title}`
      await deploys.copy({ from: source.liveDeployId, gameId: made.id, ownerId: playerId, message })
    } catch (error) {
      await games.deletion.removeForGood(playerId, made.id, made.slug)
      throw error
    }
    return games.mustOwn(playerId, made.id)
  }

  /** Returns where a game came from; null for a game that was not made from another. */
  async originOf(gameId: string): Promise<RemixOrigin | null> {
    const { db, games, identity } = this.#parts
    const [row] = await db.query<{ sourceGameId: string; ownerId: string | null }>(
      `select source_game_id as "sourceGameId", source_owner_id as "ownerId" from game_remixes where game_id = ?`,
      [gameId],
    )
    if (!row) return null
    const [game] = await games.shown([row.sourceGameId])
    // The source may have another owner by now. One that nobody may see tells nothing of it.
    const ownerId = game?.ownerId ?? row.ownerId
    const player = ownerId === null ? null : await identity.players.find(ownerId)
    return {
      game: game ?? null,
      owner: player && { id: player.id, name: player.name, hasPage: !player.disabled && !player.isGuest },
    }
  }

  /** Forgets where a game came from, in the transaction that permanently deletes it. */
  async forgetGame(em: SqlEntityManager, gameId: string): Promise<void> {
    await em.nativeDelete(RemixRow, { gameId })
  }

  /** Removes a player from the origins of games, in the transaction that ends the account. */
  async forgetPlayer(em: SqlEntityManager, playerId: string): Promise<void> {
    await em.nativeUpdate(RemixRow, { sourceOwnerId: playerId }, { sourceOwnerId: null })
  }
}
