import { LockMode } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { PROGRAM, recordAction } from '../../core/data/audit.ts'
import { TtlCache } from '../../core/data/ttl-cache.ts'
import { NotFound } from '../../core/errors.ts'
import { newId, randomText, timeOfId } from '../../core/ids.ts'
import { visibleText } from '../../core/visible-text.ts'
import { type Game, ownerAndMakersOf } from '../games/index.ts'
import type { RoomInfo } from '../multiplayer/index.ts'
import { JamEntryRow, JamRow, JamVoteRow } from './entities.ts'
import {
  CategoriesFixed,
  CategoryGone,
  EntriesFixed,
  EntryGone,
  JamOver,
  NotPlayable,
  OwnGame,
  ResultsShown,
  StillVoting,
  SubmissionsClosed,
  VotingClosed,
} from './errors.ts'
import { categoriesOf, instantOf, stateOf, toJam } from './jam-record.ts'
import { placesOf, revealedOf, stepCount, type Tally } from './results.ts'
import type { FormerJam, Jam, JamChanges, JamEntry, JamGame, NewJam, Results, Votes } from './schemas.ts'

declare module '../../core/events.ts' {
  interface DomainEvents {
    /** A jam was begun, or the organiser changed it. */
    'jam.changed': { jamId: string }
  }
}

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events' | 'games' | 'identity' | 'rooms'>

/** An entry with the additional data of pages. */
export interface Entry extends JamEntry {
  /** The ids of the owner and the other makers. */
  makerIds: readonly string[]
  people: RoomInfo['people']
}

const CATEGORIES = ['Overall', 'Fun', 'Looks']
/** The cache time of room lists, which other nodes provide too and many viewers request. */
const ROOMS_MS = 2000

/** The maximum number of former jams in a list. */
const FORMER_JAMS = 100

/** Joins names: `A`, `A and B`, `A, B, and C`. */
const allOf = new Intl.ListFormat('en-GB')

/** The jam: its games, votes and results. There is one at a time, and a new one replaces the last. */
export class Jams {
  readonly #parts: Parts
  readonly #rooms: TtlCache<RoomInfo[]>

  constructor(parts: Parts) {
    this.#parts = parts
    this.#rooms = new TtlCache(parts.clock, { maxAgeMs: ROOMS_MS })
  }

  /** Returns the current jam; null when there never was one. */
  async current(): Promise<Jam | null> {
    const row = await currentRow(this.#parts.db.em())
    return row && toJam(row)
  }

  /** Starts a jam with open submissions. The former jam ends, also one from a time when the clock was ahead. */
  async create({ title, theme = '', categories = CATEGORIES, deadline = null }: NewJam, by = PROGRAM): Promise<Jam> {
    const { db, clock } = this.#parts
    const createdAt = clock.now()
    const fields = {
      title: visibleText(title),
      theme: theme.trim(),
      categories: categoriesOf(categories),
      submissionsOpen: true,
      votingOpen: false,
      revealed: 0,
      deadline: instantOf(deadline),
      createdAt,
      updatedAt: createdAt,
    }
    const jam = await db.transaction(async (em) => {
      const former = await currentRow(em, LockMode.PESSIMISTIC_WRITE)
      const earliest = former ? timeOfId(former.id).getTime() + 1 : 0
      const row = { ...fields, id: newId('jam', new Date(Math.max(createdAt.getTime(), earliest))) }
      await em.insert(JamRow, row)
      const target = { kind: 'jam', id: row.id } as const
      await recordAction(em, clock, { by, action: 'jam.begin', target, after: stateOf(row) })
      return toJam(row)
    })
    await this.#parts.events.emit('jam.changed', { jamId: jam.id })
    return jam
  }

  /**
   * Changes the current jam. The vote ends submissions whose announced end has passed.
   *
   * @throws NotFound without one; InvalidRequest
   * @throws StillVoting, ResultsShown: voting and results exclude each other
   * @throws CategoriesFixed once somebody has voted
   */
  async change(changes: JamChanges, by = PROGRAM): Promise<Jam> {
    const { db, clock } = this.#parts
    const steps = changes.revealed ? await this.#steps() : 0
    const jam = await db.transaction(async (em) => {
      const row = await mustBeOn(em, LockMode.PESSIMISTIC_WRITE)
      const before = stateOf(row)
      const { title, theme, categories, submissionsOpen, votingOpen, revealed, deadline } = changes
      if (title !== undefined) row.title = visibleText(title)
      if (theme !== undefined) row.theme = theme.trim()
      if (categories !== undefined) await this.#setCategories(em, row, categories)
      if (deadline !== undefined) row.deadline = instantOf(deadline)
      // Late games are taken until the vote.
      if (votingOpen && row.deadline && row.deadline <= clock.now()) row.submissionsOpen = false
      if (submissionsOpen !== undefined) row.submissionsOpen = submissionsOpen
      if (row.votingOpen && votingOpen === false) await this.#deleteVotesOfMakers(em, row.id)
      if (votingOpen !== undefined) row.votingOpen = votingOpen
      if (revealed !== undefined) row.revealed = Math.min(revealed, steps)
      if (row.votingOpen && row.revealed > 0) throw revealed ? new StillVoting() : new ResultsShown()
      row.updatedAt = clock.now()
      await em.flush()
      const target = { kind: 'jam', id: row.id } as const
      await recordAction(em, clock, { by, action: 'jam.change', target, before, after: stateOf(row) })
      return toJam(row)
    })
    await this.#parts.events.emit('jam.changed', { jamId: jam.id })
    return jam
  }

  /** Deletes votes for a game by those who have become makers of it since. They were refused a vote otherwise. */
  async #deleteVotesOfMakers(em: SqlEntityManager, jamId: string): Promise<void> {
    for (const { gameId } of await em.find(JamEntryRow, { jamId }, { fields: ['gameId'] })) {
      await em.nativeDelete(JamVoteRow, { jamId, gameId, voterId: { $in: await ownerAndMakersOf(em, gameId) } })
    }
  }

  async #setCategories(em: SqlEntityManager, row: JamRow, names: string[]): Promise<void> {
    const wanted = categoriesOf(names)
    if (JSON.stringify(wanted) === JSON.stringify(row.categories)) return
    if ((await em.count(JamVoteRow, { jamId: row.id })) > 0) throw new CategoriesFixed()
    row.categories = wanted
  }

  /**
   * Submits a game of the player. A repeated submission has no effect.
   *
   * @throws NotFound when it is not the player's; NotPlayable; SubmissionsClosed
   */
  async submit(playerId: string, gameIdOrSlug: string): Promise<void> {
    const { db, clock, games } = this.#parts
    const game = await games.mustMake(playerId, gameIdOrSlug)
    if (!games.isReady(game) || !games.isShown(game)) throw new NotPlayable()
    await db.transaction(async (em) => {
      const jam = await mustBeOn(em)
      if (!jam.submissionsOpen) throw new SubmissionsClosed()
      if (!(await games.shownIn(em, [game.id])).has(game.id)) throw new NotPlayable()
      // The same submission may arrive several times at once.
      const entry = { jamId: jam.id, gameId: game.id, submittedAt: clock.now() }
      await em.upsert(JamEntryRow, entry, { onConflictAction: 'ignore' })
    })
  }

  /**
   * Withdraws a game with its votes. Its maker may do so while submissions are open and nobody has voted, the organiser
   * always.
   *
   * @throws EntryGone when it does not take part; NotFound when it is another's; SubmissionsClosed; EntriesFixed
   */
  async withdraw(playerId: string, gameIdOrSlug: string, { organiser }: { organiser: boolean }): Promise<void> {
    const { db, clock, games } = this.#parts
    const game = await games.get(gameIdOrSlug)
    const isMaker = games.may(playerId, game, 'make')
    if (!organiser && !isMaker) throw new NotFound('entry')
    await db.transaction(async (em) => {
      const jam = await mustBeOn(em)
      if (!organiser) {
        if (!jam.submissionsOpen) throw new SubmissionsClosed()
        // Votes for any game count: a refusal because of those for this game would tell that it has some.
        const isFixed = jam.votingOpen || jam.revealed > 0 || (await em.count(JamVoteRow, { jamId: jam.id })) > 0
        if (isFixed) throw new EntriesFixed()
      }
      const entry = { jamId: jam.id, gameId: game.id }
      if ((await em.nativeDelete(JamEntryRow, entry)) === 0) throw new EntryGone()
      await em.nativeDelete(JamVoteRow, entry)
      if (isMaker) return
      const by = { id: playerId, role: 'admin' } as const
      await recordAction(em, clock, { by, action: 'jam.withdraw', target: { kind: 'game', id: game.id } })
    })
  }

  /**
   * Votes for a game in a category, or, with null, withdraws the vote. A vote can be changed until voting closes.
   *
   * @param jamId the jam of the form, when it may be another than the current one
   * @throws CategoryGone; EntryGone for a game that is not part of the jam, or is not shown; JamOver; OwnGame; VotingClosed
   */
  async vote(voterId: string, choices: Record<string, string | null>, jamId?: string): Promise<void> {
    const { db, clock, games } = this.#parts
    const ids = Object.values(choices).filter((id) => id !== null)
    const found = await Promise.all(ids.map((id) => games.get(id).catch(goneOf)))
    const chosen = new Map(found.map((game, at) => [ids[at], game]))
    await db.transaction(async (em) => {
      // The lock orders votes and the end of voting.
      const jam = await mustBeOn(em, LockMode.PESSIMISTIC_READ)
      if (jamId !== undefined && jam.id !== jamId) throw new JamOver()
      if (!jam.votingOpen) throw new VotingClosed()
      const gameIds = [...chosen.values()].map(idOf)
      const taking = await em.find(JamEntryRow, { jamId: jam.id, gameId: { $in: gameIds } })
      const shown = await games.shownIn(em, gameIds)
      for (const [categoryId, choice] of Object.entries(choices)) {
        if (!jam.categories.some(({ id }) => id === categoryId)) throw new CategoryGone()
        const vote = { jamId: jam.id, categoryId, voterId }
        const game = choice === null ? undefined : chosen.get(choice)
        if (!game) {
          await em.nativeDelete(JamVoteRow, vote)
          continue
        }
        if (!shown.has(game.id) || !taking.some(({ gameId }) => gameId === game.id)) throw new EntryGone()
        if (games.may(voterId, game, 'make')) throw new OwnGame()
        await em.upsert(JamVoteRow, { ...vote, gameId: game.id, castAt: clock.now() })
      }
    })
  }

  /** Returns a player's votes, by category. */
  async votesOf(voterId: string, jamId: string): Promise<Votes> {
    const rows = await this.#parts.db.query<{ category_id: string; game_id: string }>(
      'select category_id, game_id from jam_votes where voter_id = ? and jam_id = ?',
      [voterId, jamId],
    )
    return Object.fromEntries(rows.map((row) => [row.category_id, row.game_id]))
  }

  /**
   * Deletes the votes of a voter whose account ends where people still vote. Elsewhere a result that was shown must not
   * change, so the votes stay under a random id for each jam, which leads to nobody.
   */
  async forgetVoter(em: SqlEntityManager, voterId: string): Promise<void> {
    const current = await currentRow(em, LockMode.PESSIMISTIC_READ)
    if (current?.votingOpen) await em.nativeDelete(JamVoteRow, { jamId: current.id, voterId })
    const votes = await em.find(JamVoteRow, { voterId }, { disableIdentityMap: true })
    for (const id of new Set(votes.map(({ jamId }) => jamId))) {
      const jam = await em.findOneOrFail(JamRow, { id })
      // The time of a vote could tell whose it was.
      const nobody = { voterId: randomText(16), castAt: jam.createdAt }
      await em.nativeUpdate(JamVoteRow, { jamId: id, voterId }, nobody)
    }
  }

  /** Returns all votes of a player, for their data export. */
  async export(voterId: string) {
    const votes = await this.#parts.db.em().find(JamVoteRow, { voterId }, { orderBy: { castAt: 'asc' } })
    return votes.map(({ jamId, categoryId, gameId, castAt }) => ({ jamId, categoryId, gameId, castAt }))
  }

  async voters(jamId: string): Promise<number> {
    const sql = 'select count(distinct voter_id) as voters from jam_votes where jam_id = ?'
    const [row] = await this.#parts.db.query<{ voters: number }>(sql, [jamId])
    return Number(row?.voters ?? 0)
  }

  /** Returns the ids of all games that take part, also of those that are not shown. */
  async entered(jamId: string): Promise<Set<string>> {
    const rows = await this.#parts.db.em().find(JamEntryRow, { jamId })
    return new Set(rows.map(({ gameId }) => gameId))
  }

  /** Lists the public games that take part: those being played first, then the newest. */
  async entries(jamId: string): Promise<Entry[]> {
    const { db } = this.#parts
    const rows = await db.query<{ game_id: string; submitted_at: number }>(
      'select game_id, submitted_at from jam_entries where jam_id = ? order by submitted_at desc, game_id desc',
      [jamId],
    )
    const games = new Map((await this.#gamesOf(rows.map((row) => row.game_id))).map((each) => [each.game.id, each]))
    const entries = await Promise.all(
      rows.map(async ({ game_id, submitted_at }) => {
        const found = games.get(game_id)
        if (!found) return null
        const people = (await this.#roomsOf(game_id)).flatMap((room) => room.people)
        const submittedAt = new Date(submitted_at).toISOString()
        const makerIds = [found.game.ownerId, ...found.game.makerIds]
        return { ...found.shown, makerIds, people, players: people.length, submittedAt }
      }),
    )
    return entries.filter((entry) => entry !== null).toSorted((a, b) => b.players - a.players)
  }

  async hasFormer(): Promise<boolean> {
    return (await this.#parts.db.em().count(JamRow)) > 1
  }

  /** Lists the jams before the current one, the newest first. */
  async former(): Promise<FormerJam[]> {
    const { db } = this.#parts
    const rows = await db.em().find(JamRow, {}, { orderBy: { id: 'desc' }, offset: 1, limit: FORMER_JAMS })
    if (rows.length === 0) return []
    const counts = await db.query<{ jam_id: string; games: number }>(
      `select jam_id, count(*) as games from jam_entries where jam_id in (${rows.map(() => '?').join()}) group by jam_id`,
      rows.map(({ id }) => id),
    )
    const games = new Map(counts.map((row) => [row.jam_id, Number(row.games)]))
    return rows.map((row) => ({ ...toJam(row), games: games.get(row.id) ?? 0 }))
  }

  /** Returns the revealed results of the current or a former jam. @throws NotFound without one */
  async results(jamId?: string): Promise<Results> {
    const { jam, ranked } = await this.#ranked(jamId)
    const steps = stepCount(ranked)
    // There may be fewer steps than were revealed, when a game has gone with its votes.
    const revealed = Math.min(jam.revealed, steps)
    const categories = revealedOf(ranked, jam.votingOpen ? 0 : revealed)
    return { title: jam.title, revealed, steps, voters: await this.voters(jam.id), categories }
  }

  async #steps(): Promise<number> {
    return stepCount((await this.#ranked()).ranked)
  }

  async #ranked(jamId?: string) {
    const row = jamId === undefined ? null : await this.#parts.db.em().findOne(JamRow, { id: jamId })
    const jam = jamId === undefined ? await this.current() : row && toJam(row)
    if (!jam) throw new NotFound('jam')
    const rows = await this.#parts.db.query<{ category_id: string; game_id: string; votes: number }>(
      'select category_id, game_id, count(*) as votes from jam_votes where jam_id = ? group by category_id, game_id',
      [jam.id],
    )
    const tallies = rows.map(
      (row): Tally => ({ categoryId: row.category_id, gameId: row.game_id, votes: Number(row.votes) }),
    )
    const games = await this.#gamesOf([...new Set(tallies.map(({ gameId }) => gameId))])
    const shown = new Map(games.map(({ shown }) => [shown.gameId, shown]))
    return { jam, ranked: placesOf(jam.categories, tallies, shown) }
  }

  /** Returns those of these games that everybody may see, with the names of all their makers. */
  async #gamesOf(ids: readonly string[]): Promise<{ game: Game; shown: JamGame }[]> {
    const games = await this.#parts.games.shown(ids)
    const makers = await this.#parts.games.members.makersOf(games)
    return games.map((game) => {
      const { id: gameId, slug, title, coverUrl, playUrl } = game
      const names = (makers.get(gameId) ?? []).map(({ name }) => name)
      const by = names.length > 0 ? allOf.format(names) : 'somebody'
      return { game, shown: { gameId, slug, title, coverUrl, playUrl, by } }
    })
  }

  async #roomsOf(gameId: string): Promise<RoomInfo[]> {
    return (await this.#rooms.get(gameId, () => this.#parts.rooms.list(gameId))) ?? []
  }
}

const idOf = ({ id }: Game): string => id

/** A game that was deleted has left the jam. */
function goneOf(error: unknown): never {
  throw error instanceof NotFound ? new EntryGone() : error
}

type RowLock = LockMode.NONE | LockMode.PESSIMISTIC_READ | LockMode.PESSIMISTIC_WRITE

const currentRow = (em: SqlEntityManager, lockMode: RowLock = LockMode.NONE): Promise<JamRow | null> =>
  em.find(JamRow, {}, { orderBy: { id: 'desc' }, limit: 1, lockMode }).then(([row]) => row ?? null)

/** Returns the locked row of the current jam. @throws NotFound when there never was a jam */
async function mustBeOn(em: SqlEntityManager, lockMode: RowLock = LockMode.PESSIMISTIC_READ): Promise<JamRow> {
  const row = await currentRow(em, lockMode)
  if (!row) throw new NotFound('jam')
  return row
}
