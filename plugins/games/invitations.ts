import { timingSafeEqual } from 'node:crypto'
import { Conflict, NotFound } from '../../core/errors.ts'
import { randomText } from '../../core/ids.ts'
import { recordActivity } from './activity/record.ts'
import { GameRow } from './entities.ts'
import type { GameLookup, GamesParts } from './game-lookup.ts'
import { GameMember } from './members/entities.ts'
import { pathOf } from './record.ts'
import type { Game } from './schemas.ts'

export const MOST_INVITED = 100

/**
 * The players who may see a private game besides its owner: those who opened its invitation link while signed in. It is
 * a link rather than a list of email addresses, so that inviting does not reveal who has an account.
 */
export class Invitations {
  readonly #parts: GamesParts
  readonly #games: GameLookup

  constructor(parts: GamesParts, games: GameLookup) {
    this.#parts = parts
    this.#games = games
  }

  /** Returns the link of a game; null when there is none. @throws NotFound when the game is not the player's */
  async link(playerId: string, gameId: string): Promise<string | null> {
    const game = await this.#games.mustOwn(playerId, gameId)
    const row = await this.#parts.db.em().findOne(GameRow, { id: game.id }, { fields: ['inviteKey'] })
    return row?.inviteKey ? `${this.#parts.origins.portal}${pathOf(game)}/join/${row.inviteKey}` : null
  }

  /** Creates a new link, which invalidates the former one. Players who used that stay admitted. @throws NotFound */
  async renew(playerId: string, gameId: string): Promise<void> {
    const { id } = await this.#games.mustOwn(playerId, gameId)
    const { db, clock } = this.#parts
    await db.transaction(async (em) => {
      await em.nativeUpdate(GameRow, { id, ownerId: playerId }, { inviteKey: randomText(16) })
      await recordActivity(em, clock, { gameId: id, action: 'invitation.renew' })
    })
  }

  /** Removes the link and everyone's access by it. @throws NotFound */
  async revoke(playerId: string, gameId: string): Promise<void> {
    const game = await this.#games.mustOwn(playerId, gameId)
    const { db, clock } = this.#parts
    await db.transaction(async (em) => {
      await em.nativeUpdate(GameRow, { id: game.id, ownerId: playerId }, { inviteKey: null, invited: [] })
      await em.nativeDelete(GameMember, { gameId: game.id, role: 'tester' })
      await recordActivity(em, clock, { gameId: game.id, action: 'invitation.revoke' })
    })
    await this.#games.announce(game)
  }

  /** Returns the game of a link. @throws NotFound for an unknown or former link, and while the game is held for staff */
  async invitedTo(slug: string, key: string): Promise<Game> {
    const game = await this.#games.bySlug(slug)
    const row = game && (await this.#parts.db.em().findOne(GameRow, { id: game.id }, { fields: ['inviteKey'] }))
    const right = Buffer.from(row?.inviteKey ?? '')
    const given = Buffer.from(key)
    if (
      !game ||
      game.approval ||
      right.length === 0 ||
      right.length !== given.length ||
      !timingSafeEqual(right, given)
    ) {
      throw new NotFound('invitation')
    }
    return game
  }

  /** Admits a player. @throws NotFound as `invitedTo`; Conflict when there are too many */
  async accept(playerId: string, slug: string, key: string): Promise<Game> {
    const game = await this.invitedTo(slug, key)
    if (this.#games.visibleTo(playerId, game)) return game
    await this.#parts.db.transaction(async (em) => {
      // The write locks the row before the read. It checks the key again, which may just have been revoked.
      const rows = await em.nativeUpdate(GameRow, { id: game.id, inviteKey: key, approval: null }, { inviteKey: key })
      const row = rows === 1 ? await em.findOne(GameRow, { id: game.id, deletedAt: null }) : null
      if (!row) throw new NotFound('invitation')
      if (row.invited.includes(playerId)) return
      if (row.invited.length >= MOST_INVITED) throw new Conflict(`At most ${MOST_INVITED} players can be invited.`)
      row.invited = [...row.invited, playerId]
      await em.flush()
    })
    await this.#games.announce(game)
    return game
  }
}
