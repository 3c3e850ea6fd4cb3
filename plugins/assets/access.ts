import type { FastifyInstance } from 'fastify'
import { NotFound } from '../../core/errors.ts'
import { OwnerOnly } from './errors.ts'
import type { AssetRecord } from './record.ts'

/**
 * What a player may do with an asset beyond what everybody may:
 *
 * - `make`: read a private or suspended one, and change it;
 * - `own`: delete it, put it into a game, and answer a suspension.
 */
export type AssetAction = 'make' | 'own'

type Whose = Pick<AssetRecord, 'ownerId' | 'gameId'>

/** Decides what a player may do with an asset: its owner, and the makers of its game. Everything that depends on who asks asks this. */
export class AssetAccess {
  readonly #games: FastifyInstance['games']

  constructor({ games }: Pick<FastifyInstance, 'games'>) {
    this.#games = games
  }

  /** Whether a player, or a visitor (null), may do something with an asset. */
  async may(playerId: string | null, { ownerId, gameId }: Whose, action: AssetAction): Promise<boolean> {
    if (playerId === ownerId) return true
    if (playerId === null || gameId === null || action === 'own') return false
    return this.#games.isMaker(playerId, gameId)
  }

  /**
   * Requires that a player may change an asset. All further transactions of the request check it again.
   *
   * @throws NotFound, so that the existence of an asset stays hidden
   */
  async mustMake(playerId: string, { ownerId, gameId }: Whose): Promise<void> {
    if (playerId === ownerId) return
    if (gameId === null) throw new NotFound('asset')
    await this.#games.mustMake(playerId, gameId).catch((error: unknown) => {
      throw error instanceof NotFound ? new NotFound('asset') : error
    })
  }

  /** Does the same for what only the owner may do. @throws OwnerOnly for the makers of its game, who know that it exists */
  async mustOwn(playerId: string, asset: Whose): Promise<void> {
    if (playerId === asset.ownerId) return
    throw (await this.may(playerId, asset, 'make')) ? new OwnerOnly('of this asset may do this') : new NotFound('asset')
  }

  /**
   * Requires that a player may put an asset into a game, or take it out of its game: its owner may do both. The owner of
   * its game may take it out.
   *
   * @param to the id or slug of a game that the player makes; null for none
   * @returns the id of the game
   * @throws NotFound of the game; OwnerOnly
   */
  async mustMove(playerId: string, { ownerId, gameId }: Whose, to: string | null): Promise<string | null> {
    const game = to === null || to === gameId ? to : (await this.#games.mustMake(playerId, to)).id
    if (game === gameId || playerId === ownerId) return game
    if (game !== null) throw new OwnerOnly('of this asset moves it to another game')
    if (gameId !== null) await this.#games.mustOwn(playerId, gameId).catch(asOwnerOnly)
    return game
  }
}

function asOwnerOnly(error: unknown): never {
  const is403 = (error as { statusCode?: number }).statusCode === 403
  throw is403 ? new OwnerOnly('of this asset, or of its game, takes it out of the game') : error
}
