import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { InvalidRequest, NotFound, Unauthorized } from '../../../core/errors.ts'
import { cutPage, mustBeCursor, type PageQuery } from '../../../core/http/pagination.ts'
import { isId, newId } from '../../../core/ids.ts'
import { normaliseEmail } from '../../oauth-idp/index.ts'
import { recordActivity } from '../activity/record.ts'
import {
  AlreadyInvited,
  AlreadyMember,
  InvitationEnded,
  InvitationOfAnother,
  NoMail,
  TooManyInvitations,
} from '../errors.ts'
import type { GameLookup, GamesParts } from '../game-lookup.ts'
import type { Game } from '../schemas.ts'
import { GameInvitation } from './entities.ts'
import { invitationMail } from './invitation-mail.ts'
import type { HeldGame, Members } from './members.ts'
import { type GameRole, type MemberRole, roleOf } from './roles.ts'
import type { FoundPlayer, Invitation, NewInvitation, Person } from './schemas.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * 60 * 1000
const VALID_MS = 14 * DAY_MS
/** Ended invitations are kept this long, so that a player who opens one is told why it has ended. */
const KEPT_MS = 30 * DAY_MS
/** Look-ups of players by name, for each player who invites. */
const LOOKUPS_A_MINUTE = 60
/** Mails to addresses from one player, and to one address from all. */
const MAILS_A_DAY = 30
const MAILS_TO_ADDRESS_A_DAY = 3
/** The most players that a look-up finds. */
const MOST_FOUND = 10
/** How many players can accept a link. */
const LINK_USES = 20
/** The maximum number of open invitations of a game. */
const MOST_OPEN = 50
/** The most invitations on a player's own page. */
const MOST_RECEIVED = 50
/** The length of a key, which has 132 bits. */
const KEY_LENGTH = 22

/** An invitation for a player alone, as that player sees it. */
export interface ReceivedInvitation {
  id: string
  /** The path of its page on the portal. */
  path: string
  role: MemberRole
  /** The owner of the game. */
  from: Person
  game: Pick<Game, 'title' | 'slug'>
  expiresAt: Date
}

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
    const before = mustBeCursor('inv', cursor)
    const where = { ...this.#open(gameId), ...(before ? { id: { $lt: before } } : {}) }
    const rows = await this.#parts.db.em().find(GameInvitation, where, { orderBy: { id: 'desc' }, limit: limit + 1 })
    const { page, nextCursor } = cutPage(rows, limit)
    return { invitations: await this.#describe(page), nextCursor }
  }

  /**
   * Creates an invitation. An invited player is told by mail, where there is mail. To an address goes a link for one
   * player; nothing depends on whether it has an account.
   *
   * @throws NotFound, OwnerOnly as `mustOwn`; NotFound for an unknown player; AlreadyMember; AlreadyInvited;
   *   TooManyInvitations; NoMail, RateLimited, InvalidRequest for an address
   */
  async create(
    playerId: string,
    idOrSlug: string,
    { role, playerId: invitedId, email: address }: NewInvitation,
  ): Promise<Invitation> {
    const { db, clock, identity, site } = this.#parts
    const game = await this.#games.mustOwn(playerId, idOrSlug)
    if (invitedId !== undefined && address !== undefined)
      throw new InvalidRequest('Give the id of a player or an email address, not both.')
    const email = address === undefined ? null : await this.#acceptedAddress(playerId, address)
    const invited = invitedId === undefined ? null : await identity.players.find(invitedId)
    if (invitedId !== undefined && (!invited || invited.disabled || invited.isGuest)) throw new NotFound('player')
    const from = (await identity.players.namesOf([playerId])).get(playerId) ?? 'Somebody'
    const createdAt = clock.now()
    const id = newId('inv', createdAt)
    const row = {
      id,
      gameId: game.id,
      role,
      playerId: invited?.id ?? null,
      email,
      invitedBy: playerId,
      usesLeft: invited || email ? 1 : LINK_USES,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + VALID_MS),
      revokedAt: null,
      declinedAt: null,
    }
    const letter = invitationMail({ from, game, role, url: this.#url(id), siteName: site.name, isForOne: !invited })
    await db.transaction((em) =>
      this.#members.hold(em, game.id, async (_em, held) => {
        if (invited) mustBeNew(invited.id, held, role, invited.name)
        const [to, name] = invited ? [{ playerId: invited.id }, invited.name] : [{ email }, email]
        if (name !== null && (await em.count(GameInvitation, { ...this.#open(game.id), ...to, role })) > 0)
          throw new AlreadyInvited(name)
        if ((await em.count(GameInvitation, this.#open(game.id))) >= MOST_OPEN) {
          throw new TooManyInvitations(String(MOST_OPEN))
        }
        await em.insert(GameInvitation, row)
        const detail = invited ? `${role}: ${invited.name}` : role
        await recordActivity(em, clock, { gameId: game.id, action: 'invitation.create', target: id, detail })
        if (invited) {
          if (identity.messenger) await identity.unread.noteIn(em, invited.id)
          await identity.writeTo(em, invited.id, letter.subject, letter.text)
        }
        if (email) await identity.writeToAddress(em, email, letter)
      }),
    )
    const [invitation] = await this.#describe([row])
    return invitation as Invitation
  }

  /**
   * Finds players to invite by the beginning of their name, with what they are in the game already. It leaves out the
   * caller.
   *
   * @throws NotFound, OwnerOnly as `mustOwn`; RateLimited
   */
  async findPlayers(playerId: string, idOrSlug: string, name: string): Promise<FoundPlayer[]> {
    const game = await this.#games.mustOwn(playerId, idOrSlug)
    await this.#countLookup(playerId)
    const found = await this.#parts.identity.players.startingWith(name, MOST_FOUND + 1)
    return found
      .filter(({ id }) => id !== playerId)
      .slice(0, MOST_FOUND)
      .map((player) => ({ ...player, role: this.#games.roleOf(player.id, game) }))
  }

  /**
   * Returns the id of the only player of a name.
   *
   * @throws NotFound, OwnerOnly as `mustOwn`; RateLimited; InvalidRequest when no player or several have the name
   */
  async playerNamed(playerId: string, idOrSlug: string, name: string): Promise<string> {
    await this.#games.mustOwn(playerId, idOrSlug)
    await this.#countLookup(playerId)
    const [player, other] = await this.#parts.identity.players.named(name, 2)
    if (player && !other) return player.id
    throw nameRefused(
      !name.trim()
        ? 'Type the name of a player, or create a link.'
        : other
          ? `Several players are called ${name.trim()}: choose one of the list that opens as you type, or send a link.`
          : `Nobody here is called ${name.trim()}. Check the name, or send a link.`,
    )
  }

  /** Returns an address to which the player may send a mail. @throws NoMail, RateLimited, InvalidRequest */
  async #acceptedAddress(playerId: string, address: string): Promise<string> {
    const { identity, rateLimiter } = this.#parts
    const email = normaliseEmail(address)
    if (!identity.sendsMail) throw new NoMail('This platform sends no mail.')
    if ((await identity.players.find(playerId))?.isGuest) throw new NoMail('Guests cannot invite by mail.')
    await rateLimiter.take(`invitations/mails/${playerId}`, MAILS_A_DAY, DAY_MS)
    const digest = createHash('sha256').update(email).digest('base64url')
    await rateLimiter.take(`invitations/address/${digest}`, MAILS_TO_ADDRESS_A_DAY, DAY_MS)
    return email
  }

  #countLookup(playerId: string): Promise<void> {
    return this.#parts.rateLimiter.take(`invitations/players/${playerId}`, LOOKUPS_A_MINUTE, MINUTE_MS)
  }

  /** Lists the invitations for a player alone that the player can still accept, the newest first. */
  async receivedBy(playerId: string): Promise<ReceivedInvitation[]> {
    const { clock, db } = this.#parts
    const where = { playerId, ...openAt(clock.now()) }
    const rows = await db.em().find(GameInvitation, where, { orderBy: { id: 'desc' }, limit: MOST_RECEIVED })
    const games = new Map((await this.#games.byIds(rows.map(({ gameId }) => gameId))).map((game) => [game.id, game]))
    const people = await this.#members.people([...games.values()].map(({ ownerId }) => ownerId))
    return rows.flatMap(({ id, gameId, role, expiresAt }) => {
      const game = games.get(gameId)
      const from = game && people.get(game.ownerId)
      if (!game || !from || game.approval || game.suspended || !isNew(this.#games.roleOf(playerId, game), role))
        return []
      return [{ id, path: this.#path(id), role, from, game: { title: game.title, slug: game.slug }, expiresAt }]
    })
  }

  /** Ends an invitation for the player alone who opens it. @throws as `find`; NotFound for a link */
  async decline(playerId: string, invitationId: string, key: string): Promise<void> {
    const { db, clock } = this.#parts
    const { game, row } = await this.find(playerId, invitationId, key)
    if (row.playerId !== playerId) throw new NotFound('invitation')
    await db.transaction(async (em) => {
      const which = { id: invitationId, ...openAt(clock.now()) }
      if ((await em.nativeUpdate(GameInvitation, which, { declinedAt: clock.now() })) === 0) return
      const change = { gameId: game.id, action: 'invitation.decline', target: playerId, detail: row.role } as const
      await recordActivity(em, clock, change)
    })
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
   * Finds an invitation for a player who opens its address, or for a visitor, who is null.
   *
   * @throws NotFound for a wrong address; InvitationEnded, InvitationOfAnother; Unauthorized for a visitor who opens the
   *   invitation of one player
   */
  async find(playerId: string | null, invitationId: string, key: string): Promise<{ game: Game; row: GameInvitation }> {
    if (!isId('inv', invitationId) || !this.#isKeyOf(invitationId, key)) throw new NotFound('invitation')
    const row = await this.#parts.db.em().findOne(GameInvitation, { id: invitationId }, { disableIdentityMap: true })
    if (!row) throw new NotFound('invitation')
    const game = await this.#games.byId(row.gameId)
    if (!game) throw new InvitationEnded('The game of this invitation was deleted.')
    this.#mustBeOpen(row)
    if (row.playerId && !playerId) throw new Unauthorized('Sign in first.')
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

  /** Deletes the invitations for a player and by a player, in the transaction that ends the account. */
  async removeAllOf(em: SqlEntityManager, playerId: string): Promise<void> {
    await em.nativeDelete(GameInvitation, { playerId })
    await em.nativeDelete(GameInvitation, { invitedBy: playerId })
  }

  #open(gameId: string) {
    return { gameId, ...openAt(this.#parts.clock.now()) }
  }

  /** @throws InvitationEnded with the reason */
  #mustBeOpen({ revokedAt, declinedAt, usesLeft, expiresAt }: GameInvitation): void {
    if (declinedAt) throw new InvitationEnded('This invitation was declined.')
    if (revokedAt) throw new InvitationEnded('This invitation was taken back.')
    if (usesLeft <= 0) throw new InvitationEnded('This invitation has been used.')
    if (expiresAt <= this.#parts.clock.now()) throw new InvitationEnded('This invitation was valid for two weeks.')
  }

  async #describe(rows: readonly Omit<GameInvitation, 'gameId'>[]): Promise<Invitation[]> {
    const people = await this.#members.people(rows.flatMap(({ playerId }) => playerId ?? []))
    return rows.map(({ id, role, playerId, email = null, usesLeft, createdAt, expiresAt }) => ({
      id,
      url: this.#url(id),
      role,
      player: playerId ? (people.get(playerId) ?? null) : null,
      email,
      usesLeft,
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt.toISOString(),
    }))
  }

  #url(id: string): string {
    return this.#parts.origins.portal + this.#path(id)
  }

  #path(id: string): string {
    return `/invitations/${id}/${this.#keyOf(id)}`
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

/** The condition for an invitation that can still be accepted. */
const openAt = (now: Date) => ({ revokedAt: null, declinedAt: null, usesLeft: { $gt: 0 }, expiresAt: { $gt: now } })

/** Whether an invitation gives a player a role that they do not have. */
export const isNew = (before: GameRole | null, role: MemberRole): boolean =>
  before === null || (before === 'tester' && role === 'maker')

/** @param name of the player, when somebody else asks @throws AlreadyMember */
function mustBeNew(playerId: string, { row, members }: HeldGame, role: MemberRole, name?: string): void {
  const of = (wanted: string) => [...members].filter(([, its]) => its === wanted).map(([id]) => id)
  const before = roleOf(playerId, { ownerId: row.ownerId, makerIds: of('maker'), testerIds: of('tester') })
  if (before !== null && !isNew(before, role)) throw new AlreadyMember(name ? `${name} is` : 'You are', before)
}

const nameRefused = (message: string) => new InvalidRequest(message).with({ details: [{ path: 'name', message }] })
