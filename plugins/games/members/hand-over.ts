import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Actor } from '../../../core/data/audit.ts'
import type { Suspensions } from '../../../core/data/staff/suspensions.ts'
import { Conflict, isPlatformError, NotFound } from '../../../core/errors.ts'
import { STAFF } from '../../../core/observe/author.ts'
import {
  DELETED,
  type Decisions,
  notTaken,
  type Settlement,
  type SharedContent,
  type SharedItem,
  undecided,
} from '../../oauth-idp/index.ts'
import type { ReadTallies } from '../../quotas/index.ts'
import { recordActivity } from '../activity/record.ts'
import { MakerDisabled, NotAMaker, OwnerActive } from '../errors.ts'
import type { GameLookup, GamesParts } from '../game-lookup.ts'
import type { Game } from '../schemas.ts'
import type { HeldGame, Members } from './members.ts'
import type { Ownership } from './ownership.ts'
import type { Person } from './schemas.ts'

interface GiveOptions {
  by: Actor
  /** Whether the former owner makes the game from now on. */
  stays: boolean
  /** What `quotas.readGame` has read before the transaction. */
  tallies: ReadTallies | undefined
}

interface HandOverContext {
  members: Members
  ownership: Ownership
  suspensions: Suspensions<Game>
}

/**
 * Hands games over without an offer: when the account of the owner ends, and by the staff when it is disabled. What a
 * game stores counts for the new owner whatever the quota of storage; the number of games is limited as ever.
 */
export class HandOver implements SharedContent {
  readonly #parts: GamesParts
  readonly #games: GameLookup
  readonly #context: HandOverContext

  constructor(parts: GamesParts, games: GameLookup, context: HandOverContext) {
    this.#parts = parts
    this.#games = games
    this.#context = context
  }

  /** Lists the games of a player that others make, with the makers who can take each over. */
  async of(playerId: string): Promise<SharedItem[]> {
    const rows = await this.#parts.db.query<{ id: string; title: string; suspended: number; successor: string | null }>(
      `select g.id, g.title, case when g.suspended_at is null then 0 else 1 end as suspended,
         case when p.disabled = ? then null else p.id end as successor
       from games g join game_members m on m.game_id = g.id join players p on p.id = m.player_id
       where g.owner_id = ? and g.deleted_at is null and m.role = 'maker' order by g.id, p.id`,
      [true, playerId],
    )
    const successorsOf = await this.#context.members.people(rows.flatMap(({ successor }) => successor ?? []))
    const items = new Map<string, SharedItem & { successors: Person[] }>()
    for (const { id, title, suspended, successor } of rows) {
      const item = items.get(id) ?? { id, title, successors: [] }
      items.set(id, item)
      const person = successor && !suspended && successorsOf.get(successor)
      if (person) item.successors.push(person)
    }
    return [...items.values()]
  }

  /** Counts the games of a player that nobody else makes. They go with the account. */
  async countUnshared(playerId: string): Promise<number> {
    const [row] = await this.#parts.db.query<{ games: number | string }>(
      `select count(*) as games from games g where g.owner_id = ? and g.deleted_at is null and not exists
         (select 1 from game_members m where m.game_id = g.id and m.role = 'maker')`,
      [playerId],
    )
    return Number(row?.games ?? 0)
  }

  /** Hands over the games of a player whose account ends, as that player has decided. */
  async prepare(playerId: string, decisions: Decisions | null): Promise<Settlement> {
    const { db, quotas } = this.#parts
    const tallies = new Map<string, ReadTallies>()
    for (const { id } of decisions ? await sharedGamesOf(db.em(), playerId) : []) {
      if ((decisions?.get(id) ?? DELETED) !== DELETED) tallies.set(id, await quotas.readGame(id))
    }
    return (em) => this.#settle(em, playerId, decisions, tallies)
  }

  async #settle(
    em: SqlEntityManager,
    playerId: string,
    decisions: Decisions | null,
    tallies: ReadonlyMap<string, ReadTallies>,
  ): Promise<() => Promise<unknown>> {
    const announcements: (() => Promise<unknown>)[] = []
    const open: { id: string; title: string }[] = []
    for (const game of decisions ? await sharedGamesOf(em, playerId) : []) {
      const decision = decisions?.get(game.id)
      if (decision === undefined) open.push(game)
      else if (decision !== DELETED && open.length === 0) {
        const by = { id: playerId, role: 'player' } as const
        const done = await this.#context.members
          .hold(em, game.id, (_em, held) => {
            if (held.row.suspendedAt) throw new Conflict(`${game.title} is suspended.`)
            return this.#give(em, held, decision, { by, stays: false, tallies: tallies.get(game.id) })
          })
          .catch((error: unknown) => {
            throw isPlatformError(error) ? notTaken(game, error.message) : error
          })
        announcements.push(done)
      }
    }
    if (open.length > 0) throw undecided(open)
    return () => Promise.all(announcements.map((announce) => announce()))
  }

  /**
   * Gives a game whose owner's account is disabled to one of its makers. A suspension that followed the account ends.
   *
   * @throws NotFound; OwnerActive; NotAMaker, MakerDisabled; Conflict when the maker may have no more games
   */
  async byStaff(idOrSlug: string, toId: string, by: Actor): Promise<void> {
    const { db, identity, quotas } = this.#parts
    const game = await this.#games.get(idOrSlug)
    const owner = await identity.players.find(game.ownerId)
    if (owner && !owner.disabled) throw new OwnerActive()
    const tallies = await quotas.readGame(game.id)
    const announce = await db.transaction(async (em) => {
      // Somebody may have enabled the account since.
      if (owner && !(await identity.administration.isDisabledIn(em, owner.id))) throw new OwnerActive()
      await this.#context.suspensions.leaveAccountIn(em, game.id)
      return this.#context.members.hold(em, game.id, async (_em, held) => {
        if (held.row.ownerId !== game.ownerId) throw new NotFound('game')
        return this.#give(em, held, toId, { by, stays: true, tallies })
      })
    })
    await announce()
  }

  async #give(
    em: SqlEntityManager,
    held: HeldGame,
    toId: string,
    { by, ...options }: GiveOptions,
  ): Promise<() => Promise<unknown>> {
    const { clock, identity } = this.#parts
    const { row, members } = held
    if (members.get(toId) !== 'maker') throw new NotAMaker()
    const [to] = await em.execute<{ name: string; disabled: unknown }[]>(
      'select name, disabled from players where id = ?',
      [toId],
    )
    if (!to) throw new NotAMaker()
    if (to.disabled) throw new MakerDisabled(to.name)
    const apps = await this.#context.ownership
      .change(em, held, toId, { by, admitted: true, ...options })
      .catch((error: unknown) => {
        const isFull = isPlatformError(error) && error.code === 'quota_exceeded'
        throw isFull ? new Conflict(`${to.name} may have no more games.`) : error
      })
    const done = { gameId: row.id, action: 'game.transfer', target: toId, detail: to.name } as const
    await recordActivity(em, clock, done, ...(by.role === 'player' ? [] : [STAFF]))
    const team = [...members].filter(([, role]) => role === 'maker').map(([id]) => id)
    for (const id of team) {
      const subject = id === toId ? `You own ${row.title} now` : `${to.name} owns ${row.title} now`
      await identity.tell(em, id, subject, 'The account of its former owner has ended or is disabled.')
    }
    const { id, slug } = row
    return () => this.#context.ownership.announce({ id, slug }, apps)
  }
}

/** Lists the games of a player that others make. */
function sharedGamesOf(em: SqlEntityManager, playerId: string): Promise<{ id: string; title: string }[]> {
  return em.execute<{ id: string; title: string }[]>(
    `select id, title from games where owner_id = ? and deleted_at is null and exists
       (select 1 from game_members m join players p on p.id = m.player_id
        where m.game_id = games.id and m.role = 'maker') order by id`,
    [playerId],
  )
}
