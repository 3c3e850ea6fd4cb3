import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { NotFound } from '../../../core/errors.ts'
import { recordActivity } from '../activity/record.ts'
import { GameRow } from '../entities.ts'
import { OwnerStays, TooManyMembers } from '../errors.ts'
import type { GameLookup, GamesParts } from '../game-lookup.ts'
import type { Game, MemberGame } from '../schemas.ts'
import { GameMember, GameTransfer } from './entities.ts'
import type { MemberRole } from './roles.ts'
import type { Member, Person } from './schemas.ts'

/** The maximum number of members of a game by role. */
export const MOST_MEMBERS: Record<MemberRole, number> = { maker: 20, tester: 200 }

/** The players who make or test a game beside its owner. */
export class Members {
  readonly #parts: GamesParts
  readonly #games: GameLookup

  constructor(parts: GamesParts, games: GameLookup) {
    this.#parts = parts
    this.#games = games
  }

  /** Lists owner, makers and testers, in this order; each role the earliest first. @throws NotFound */
  async list(playerId: string, idOrSlug: string): Promise<Member[]> {
    const game = await this.#games.mustMake(playerId, idOrSlug)
    const rows = await this.#parts.db.em().find(GameMember, { gameId: game.id }, { disableIdentityMap: true })
    const since = new Map(rows.map((row) => [row.playerId, row.since?.toISOString() ?? null]))
    const people = await this.people([game.ownerId, ...game.makerIds, ...game.testerIds])
    const member = (id: string, role: Member['role'], at: string | null): Member[] => {
      const player = people.get(id)
      return player ? [{ player, role, since: at }] : []
    }
    return [
      ...member(game.ownerId, 'owner', game.createdAt),
      ...game.makerIds.flatMap((id) => member(id, 'maker', since.get(id) ?? null)),
      ...game.testerIds.flatMap((id) => member(id, 'tester', since.get(id) ?? null)),
    ]
  }

  /** Returns the public names and pictures of players, by id. An account that has ended is missing. */
  async people(ids: readonly string[]): Promise<ReadonlyMap<string, Person>> {
    const profiles = await this.#parts.identity.players.profilesOf([...new Set(ids)])
    return new Map(Array.from(profiles, ([id, profile]) => [id, { id, ...profile }]))
  }

  /**
   * Returns the owner and the makers of games as everybody may see them, by the game's id: one query for all. Disabled
   * players are missing.
   */
  async creditsOf(games: readonly Game[]): Promise<Credits> {
    const ids = games.flatMap(({ ownerId, makerIds }) => [ownerId, ...makerIds])
    const players = await this.#parts.identity.players.creditsOf([...new Set(ids)])
    return new Map(
      games.map(({ id, ownerId, makerIds }) => [
        id,
        [ownerId, ...makerIds].flatMap((playerId) => {
          const { disabled = true, ...credit } = players.get(playerId) ?? {}
          return disabled ? [] : [credit as Credit]
        }),
      ]),
    )
  }

  /** Returns the same in the form of the API. */
  async makersOf(games: readonly Game[]): Promise<ReadonlyMap<string, Person[]>> {
    const credits = await this.creditsOf(games)
    return new Map([...credits].map(([id, makers]) => [id, makers.map(({ hasPage, ...person }) => person)]))
  }

  /** Adds to games their makers, and what a player, or a visitor (null), is in them. */
  async describe<G extends Game>(playerId: string | null, games: readonly G[]): Promise<(G & MemberGame)[]> {
    const makers = await this.makersOf(games)
    return games.map((game) => ({
      ...game,
      makers: makers.get(game.id) ?? [],
      role: this.#games.roleOf(playerId, game),
    }))
  }

  /** Does the same with one game. */
  async describeOne<G extends Game>(playerId: string, game: G): Promise<G & MemberGame> {
    return (await this.describe(playerId, [game]))[0] as G & MemberGame
  }

  /**
   * Changes the role of a member.
   *
   * @throws NotFound, OwnerOnly as `mustOwn`; NotFound for a player who is no member; OwnerStays; TooManyMembers
   */
  async change(playerId: string, idOrSlug: string, memberId: string, role: MemberRole): Promise<void> {
    const game = await this.#games.mustOwn(playerId, idOrSlug)
    if (memberId === game.ownerId) throw new OwnerStays()
    await this.#transaction(game, async (em, held) => {
      const before = held.members.get(memberId)
      if (!before) throw new NotFound('member')
      if (before === role) return
      await this.put(em, held, { playerId: memberId, role })
      await em.nativeDelete(GameTransfer, { gameId: game.id, toId: memberId })
      const detail = `${before} → ${role}`
      await recordActivity(em, this.#parts.clock, {
        gameId: game.id,
        action: 'member.change',
        target: memberId,
        detail,
      })
    })
  }

  /**
   * Ends a membership. The owner may end any, and everybody their own. Deploys and everything else that the member made
   * stays.
   *
   * @throws NotFound, OwnerOnly as `mustOwn`; NotFound for a player who is no member; OwnerStays
   */
  async remove(playerId: string, idOrSlug: string, memberId: string): Promise<void> {
    const leaves = memberId === playerId
    const game = leaves ? await this.#games.get(idOrSlug) : await this.#games.mustOwn(playerId, idOrSlug)
    if (leaves && this.#games.roleOf(playerId, game) === null) throw new NotFound('game')
    if (memberId === game.ownerId) throw new OwnerStays()
    // The rest of the request is by a player who is no member.
    if (leaves) for (const action of ['test', 'make']) this.#parts.db.endRecheck(`${action} ${game.id}`)
    await this.#transaction(game, async (em, { row, members }) => {
      const role = members.get(memberId)
      if (!role) throw new NotFound('member')
      await em.nativeDelete(GameMember, { gameId: game.id, playerId: memberId })
      await em.nativeDelete(GameTransfer, { gameId: game.id, toId: memberId })
      row.invited = row.invited.filter((id) => id !== memberId)
      const action = leaves ? 'member.leave' : 'member.remove'
      await recordActivity(em, this.#parts.clock, { gameId: game.id, action, target: memberId, detail: role })
    })
  }

  /** Ends all memberships of a player, in the transaction that ends the account. */
  async removeAllOf(em: SqlEntityManager, playerId: string): Promise<void> {
    await em.nativeDelete(GameMember, { playerId })
  }

  /** Deletes what an earlier version of the program leaves of ended accounts and games, since it knows no members. */
  async purge(): Promise<void> {
    await this.#parts.db.execute(
      `delete from game_members where not exists (select 1 from players p where p.id = game_members.player_id)
         or not exists (select 1 from games g where g.id = game_members.game_id)`,
    )
  }

  /**
   * Writes the role of a player, in a transaction that holds the game's row.
   *
   * @throws TooManyMembers
   */
  async put(
    em: SqlEntityManager,
    { row, members }: HeldGame,
    { playerId, role }: { playerId: string; role: MemberRole },
  ): Promise<void> {
    const others = [...members].filter(([id, its]) => id !== playerId && its === role)
    if (others.length >= MOST_MEMBERS[role]) throw new TooManyMembers(String(MOST_MEMBERS[role]), role)
    await em.upsert(GameMember, { gameId: row.id, playerId, role, since: this.#parts.clock.now() })
    // A node with an earlier version of the program reads and changes only this list.
    const invited = row.invited.filter((id) => id !== playerId)
    row.invited = role === 'tester' ? [...invited, playerId] : invited
  }

  /** Locks a game that is not deleted, and reads its members. The caller announces it afterwards. @throws NotFound */
  async hold<Result>(
    em: SqlEntityManager,
    gameId: string,
    work: (em: SqlEntityManager, held: HeldGame) => Promise<Result>,
  ): Promise<Result> {
    const row = await em.findOne(
      GameRow,
      { id: gameId, deletedAt: null },
      { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true },
    )
    if (!row) throw new NotFound('game')
    const rows = await em.find(GameMember, { gameId }, { disableIdentityMap: true })
    const members = new Map<string, MemberRole>(row.invited.map((id) => [id, 'tester']))
    for (const { playerId, role } of rows) if (role === 'maker' || members.has(playerId)) members.set(playerId, role)
    const result = await work(em, { row, members })
    await em.flush()
    return result
  }

  async #transaction(game: Game, work: (em: SqlEntityManager, held: HeldGame) => Promise<void>): Promise<void> {
    await this.#parts.db.transaction((em) => this.hold(em, game.id, work))
    await this.#games.announce(game)
  }
}

/** A maker of a game, and whether the player has a public page: guests have none. */
export type Credit = Person & { hasPage: boolean }

/** The makers of games by the game's id, the owner first. */
export type Credits = ReadonlyMap<string, readonly Credit[]>

/** Returns the makers of a game beside its owner, in a transaction. */
export async function makerIdsOf(em: SqlEntityManager, gameId: string): Promise<string[]> {
  const rows = await em.find(GameMember, { gameId, role: 'maker' }, { disableIdentityMap: true })
  return rows.map(({ playerId }) => playerId)
}

/** Returns those of the players who are testers of a game by their own row, in a transaction. */
export async function testersAmong(
  em: SqlEntityManager,
  gameId: string,
  players: readonly string[],
): Promise<string[]> {
  const rows = await em.find(GameMember, { gameId, role: 'tester' }, { disableIdentityMap: true })
  const testers = new Set(rows.map(({ playerId }) => playerId))
  return players.filter((id) => testers.has(id))
}

/** Returns the owner of a game and all others who make it, in a transaction; none of a deleted game. */
export async function ownerAndMakersOf(em: SqlEntityManager, gameId: string): Promise<string[]> {
  const game = await em.findOne(GameRow, { id: gameId, deletedAt: null }, { fields: ['ownerId'] })
  return game ? [game.ownerId, ...(await makerIdsOf(em, gameId))] : []
}

/** A game whose row a transaction holds, with its members by id. */
export interface HeldGame {
  row: GameRow
  members: ReadonlyMap<string, MemberRole>
}
