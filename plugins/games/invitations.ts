import { timingSafeEqual } from 'node:crypto'
import { NotFound } from '../../core/errors.ts'
import { recordActivity } from './activity/record.ts'
import { GameRow } from './entities.ts'
import type { GameLookup, GamesParts } from './game-lookup.ts'
import type { Members } from './members/members.ts'
import { pathOf } from './record.ts'
import type { Game } from './schemas.ts'

/**
 * The links to private games that an earlier version of the program made (`games.invite_key`). They make testers until
 * the owner ends them. New ones are invitations (members/invitations.ts).
 */
export class Invitations {
  readonly #parts: GamesParts
  readonly #games: GameLookup
  readonly #members: Members

  constructor(parts: GamesParts, games: GameLookup, members: Members) {
    this.#parts = parts
    this.#games = games
    this.#members = members
  }

  /** Returns the link of a game; null when there is none. @throws NotFound when the game is not the player's */
  async link(playerId: string, gameId: string): Promise<string | null> {
    const game = await this.#games.mustOwn(playerId, gameId)
    const row = await this.#parts.db.em().findOne(GameRow, { id: game.id }, { fields: ['inviteKey'] })
    return row?.inviteKey ? `${this.#parts.origins.portal}${pathOf(game)}/join/${row.inviteKey}` : null
  }

  /** Ends the link of a game. Players who used it stay. @throws NotFound, OwnerOnly as `mustOwn`; NotFound for no link */
  async revoke(playerId: string, gameId: string): Promise<void> {
    const { id } = await this.#games.mustOwn(playerId, gameId)
    const { db, clock } = this.#parts
    await db.transaction(async (em) => {
      const withLink = { id, ownerId: playerId, inviteKey: { $ne: null } }
      if ((await em.nativeUpdate(GameRow, withLink, { inviteKey: null })) === 0) throw new NotFound('invitation')
      await recordActivity(em, clock, { gameId: id, action: 'invitation.revoke' })
    })
  }

  /**
   * Returns the game of a link, also of one to a former address of the game.
   *
   * @throws NotFound for an unknown or former link, and while the game is held for staff
   */
  async invitedTo(slug: string, key: string): Promise<Game> {
    const game = (await this.#games.bySlug(slug)) ?? (await this.#games.movedFrom(slug))
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

  /** Makes a player a tester. @throws NotFound as `invitedTo`; TooManyMembers */
  async accept(playerId: string, slug: string, key: string): Promise<Game> {
    const game = await this.invitedTo(slug, key)
    if (this.#games.visibleTo(playerId, game)) return game
    const { db, clock } = this.#parts
    await db.transaction((em) =>
      this.#members.hold(em, game.id, async (_em, held) => {
        // The link may just have been ended, and the game may wait for staff.
        if (held.row.inviteKey !== key || held.row.approval) throw new NotFound('invitation')
        if (held.row.ownerId === playerId || held.members.has(playerId)) return
        await this.#members.put(em, held, { playerId, role: 'tester' })
        const change = { gameId: game.id, action: 'member.join', target: playerId, detail: 'tester' } as const
        await recordActivity(em, clock, change)
      }),
    )
    await this.#games.announce(game)
    return game
  }
}
