import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { NotFound } from '../../../core/errors.ts'
import { cutPage, type PageQuery } from '../../../core/http/pagination.ts'
import { isId, newId } from '../../../core/ids.ts'
import { recordActivity } from '../activity/record.ts'
import { AlreadyMember, InvitationEnded, InvitationOfAnother, TooManyInvitations } from '../errors.ts'
import type { GameLookup, GamesParts } from '../game-lookup.ts'
import type { Game } from '../schemas.ts'
import { GameInvitation } from './entities.ts'
import type { HeldGame, Members } from './members.ts'
import { type MemberRole, roleOf } from './roles.ts'
import type { Invitation, NewInvitation } from './schemas.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const VALID_MS = 14 * DAY_MS
/** Ended invitations are kept this long, so that a player who opens one is told why it has ended. */
const KEPT_MS = 30 * DAY_MS
/** How many players can accept a link. */
const LINK_USES = 20
/** The maximum number of open invitations of a game. */
const MOST_OPEN = 50
/** The length of a key, which has 132 bits. */
const KEY_LENGTH = 22

/**
 * Invitations to make or test a game: a link for several players, or for one player of the platform. The key in the
 * address is derived from the id with a secret of the platform, so it can be shown again and is stored nowhere.
 */
export class MemberInvitations {
  readonly #parts: GamesParts
  readonly #games: GameLookup
  readonly #members: Members
  readonly #key: Buffer

  constructor(parts: GamesParts, games: GameLookup, members: Members) {
    this.#parts = parts
    this.#games = games
    this.#members = members
    this.#key = parts.keys.derive('games/invitations')
  }

  /** Lists the invitations that can still be accepted, newest first. @throws NotFound, OwnerOnly */
  async list(
    playerId: string,
    idOrSlug: string,
    { limit, cursor }: PageQuery,
  ): Promise<{ invitations: Invitation[]; nextCursor: string | null }> {
    const { id: gameId } = await this.#games.mustOwn(playerId, idOrSlug)
    const where = { ...this.#open(gameId), ...(cursor ? { id: { $lt: cursor } } : {}) }
    const rows = await this.#parts.db.em().find(GameInvitation, where, { orderBy: { id: 'desc' }, limit: limit + 1 })
    const { page, nextCursor } = cutPage(rows, limit)
    return { invitations: await this.#describe(page), nextCursor }
  }

  /**
   * Creates an invitation. An invited player is told by mail, where there is mail.
   *
   * @throws NotFound, OwnerOnly as `mustOwn`; NotFound for an unknown player; AlreadyMember; TooManyInvitations
   */
  async create(playerId: string, idOrSlug: string, { role, playerId: invitedId }: NewInvitation): Promise<Invitation> {
    const { db, clock, identity } = this.#parts
    const game = await this.#games.mustOwn(playerId, idOrSlug)
    const invited = invitedId === undefined ? null : await identity.players.find(invitedId)
    if (invitedId !== undefined && (!invited || invited.disabled || invited.isGuest)) throw new NotFound('player')
    const createdAt = clock.now()
    const id = newId('inv', createdAt)
    const row = {
      id,
      gameId: game.id,
      role,
      playerId: invited?.id ?? null,
      usesLeft: invited ? 1 : LINK_USES,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + VALID_MS),
      revokedAt: null,
    }
    await db.transaction((em) =>
      this.#members.hold(em, game.id, async (_em, held) => {
        if (invited) mustBeNew(invited.id, held, role)
        if ((await em.count(GameInvitation, this.#open(game.id))) >= MOST_OPEN) {
          throw new TooManyInvitations(String(MOST_OPEN))
        }
        await em.insert(GameInvitation, row)
        const detail = invited ? `${role}: ${invited.name}` : role
        await recordActivity(em, clock, { gameId: game.id, action: 'invitation.create', target: id, detail })
        if (invited) {
          const subject = `Invitation to ${role === 'maker' ? 'make' : 'test'} ${game.title}`
          await identity.writeTo(
            em,
            invited.id,
            subject,
            `${subject}: open this address to accept it.\n\n${this.#url(id)}`,
          )
        }
      }),
    )
    const [invitation] = await this.#describe([row])
    return invitation as Invitation
  }

  /** Ends an invitation. Players who accepted it stay. @throws NotFound, OwnerOnly */
  async revoke(playerId: string, idOrSlug: string, invitationId: string): Promise<void> {
    const { db, clock } = this.#parts
    const { id: gameId } = await this.#games.mustOwn(playerId, idOrSlug)
    await db.transaction((em) =>
      // The lock of the game lets no acceptance pass that has seen the invitation open.
      this.#members.hold(em, gameId, async () => {
        const which = { id: invitationId, gameId, revokedAt: null }
        if ((await em.nativeUpdate(GameInvitation, which, { revokedAt: clock.now() })) === 0) {
          throw new NotFound('invitation')
        }
        await recordActivity(em, clock, { gameId, action: 'invitation.revoke', target: invitationId })
      }),
    )
  }

  /**
   * Finds an invitation for a player who opens its address.
   *
   * @throws NotFound for a wrong address; InvitationEnded, InvitationOfAnother
   */
  async find(playerId: string, invitationId: string, key: string): Promise<{ game: Game; row: GameInvitation }> {
    if (!isId('inv', invitationId) || !this.#isKeyOf(invitationId, key)) throw new NotFound('invitation')
    const row = await this.#parts.db.em().findOne(GameInvitation, { id: invitationId }, { disableIdentityMap: true })
    if (!row) throw new NotFound('invitation')
    const game = await this.#games.byId(row.gameId)
    if (!game) throw new InvitationEnded('The game of this invitation was deleted.')
    this.#mustBeOpen(row)
    if (row.playerId && row.playerId !== playerId) throw new InvitationOfAnother()
    mustBeApproved(game)
    return { game, row }
  }

  /**
   * Makes a player a member.
   *
   * @returns the game, and the role that the player has now
   * @throws as `find`; AlreadyMember, TooManyMembers: nothing is changed
   */
  async accept(playerId: string, invitationId: string, key: string): Promise<{ game: Game; role: MemberRole }> {
    const { db, clock } = this.#parts
    const { game, row: found } = await this.find(playerId, invitationId, key)
    await db.transaction((em) =>
      this.#members.hold(em, game.id, async (_em, held) => {
        const row = await em.findOne(GameInvitation, { id: invitationId }, { refresh: true })
        if (!row) throw new NotFound('invitation')
        this.#mustBeOpen(row)
        mustBeApproved(held.row)
        mustBeNew(playerId, held, row.role)
        row.usesLeft -= 1
        await this.#members.put(em, held, { playerId, role: row.role })
        const change = { gameId: game.id, action: 'member.join', target: playerId, detail: row.role } as const
        await recordActivity(em, clock, change)
      }),
    )
    await this.#games.announce(game)
    return { game, role: found.role }
  }

  /** Deletes invitations that ended long ago. */
  async purge(): Promise<void> {
    const before = new Date(this.#parts.clock.now().getTime() - KEPT_MS)
    await this.#parts.db.em().nativeDelete(GameInvitation, { expiresAt: { $lt: before } })
  }

  /** Deletes the invitations of a player, in the transaction that ends the account. */
  async removeAllOf(em: SqlEntityManager, playerId: string): Promise<void> {
    await em.nativeDelete(GameInvitation, { playerId })
  }

  #open(gameId: string) {
    return { gameId, revokedAt: null, usesLeft: { $gt: 0 }, expiresAt: { $gt: this.#parts.clock.now() } }
  }

  /** @throws InvitationEnded with the reason */
  #mustBeOpen({ revokedAt, usesLeft, expiresAt }: GameInvitation): void {
    if (revokedAt) throw new InvitationEnded('This invitation was taken back.')
    if (usesLeft <= 0) throw new InvitationEnded('This invitation has been used.')
    if (expiresAt <= this.#parts.clock.now()) throw new InvitationEnded('This invitation was valid for two weeks.')
  }

  async #describe(rows: readonly Omit<GameInvitation, 'gameId'>[]): Promise<Invitation[]> {
    const people = await this.#members.people(rows.flatMap(({ playerId }) => playerId ?? []))
    return rows.map(({ id, role, playerId, usesLeft, createdAt, expiresAt }) => ({
      id,
      url: this.#url(id),
      role,
      player: playerId ? (people.get(playerId) ?? null) : null,
      usesLeft,
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt.toISOString(),
    }))
  }

  #url(id: string): string {
    return `${this.#parts.origins.portal}/invitations/${id}/${this.#keyOf(id)}`
  }

  #keyOf(id: string): string {
    return createHmac('sha256', this.#key).update(id).digest('base64url').slice(0, KEY_LENGTH)
  }

  #isKeyOf(id: string, key: string): boolean {
    const [right, given] = [Buffer.from(this.#keyOf(id)), Buffer.from(key)]
    return right.length === given.length && timingSafeEqual(right, given)
  }
}

/** Requires that a game does not wait for the approval of the staff. @throws InvitationEnded */
function mustBeApproved({ approval }: { approval?: unknown }): void {
  if (approval) throw new InvitationEnded('The game of this invitation waits for the approval of this platform.')
}

/** Requires that an invitation gives a player a role that they do not have. @throws AlreadyMember */
function mustBeNew(playerId: string, { row, members }: HeldGame, role: GameInvitation['role']): void {
  const of = (wanted: string) => [...members].filter(([, its]) => its === wanted).map(([id]) => id)
  const before = roleOf(playerId, { ownerId: row.ownerId, makerIds: of('maker'), testerIds: of('tester') })
  if (before === null || (before === 'tester' && role === 'maker')) return
  throw new AlreadyMember(before)
}
