import type { FastifyInstance } from 'fastify'
import type { Parameter, Statements } from '../../core/data/database.ts'
import { isPlatformError, Unauthorized } from '../../core/errors.ts'
import { runWithoutCaller } from '../../core/observe/caller.ts'
import { BoardNotFound, KeptOff, RoomWritesOnly, ScoreOutOfRange } from './errors.ts'
import { ALL_TIME, beginOf, periodAt } from './periods.ts'
import { inChunks } from './ranks/chunks.ts'
import { ranksOf } from './ranks/ranks.ts'
import { RankTree } from './ranks/tree.ts'
import { lockBoard, type StoredBoard } from './record.ts'
import type { BoardFields, SubmittedScore } from './schemas.ts'
import { applySubmission, fromUnits, type Held, isBetter, sortKeyOf, toUnits } from './units.ts'

/** A score that a player reached. */
export interface Submission {
  playerId: string
  score: number
  /** JSON text, or null. */
  detail: string | null
  /** Names the submission, so that it counts once when it is sent again; null: it counts each time. */
  id: string | null
  writer: BoardFields['writers']
}

interface Waiting {
  submission: Submission
  resolve(result: SubmittedScore): void
  reject(error: unknown): void
}

/** The maximum number of submissions in a transaction. */
const BATCH = 64

/**
 * Stores submissions, and returns their exact ranks.
 *
 * Submissions of a board that arrive while one is being stored are stored together in the next transaction: its
 * statements are few, whatever their number, and one commit serves all. The transaction first updates the row of the
 * board, so that on PostgreSQL, where several may write at once, one waits for the other on every node. The ranks are
 * read within it, and so are exact at the commit. A player has one submission a transaction, so that each is answered
 * with its own result.
 */
export class Submissions {
  readonly #parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity' | 'games'>
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity' | 'games'>) {
    this.#parts = parts
  }

  /**
   * @throws NotFound when the board or its game was removed; Suspended; Unauthorized without such a player
   * @throws RoomWritesOnly, KeptOff, ScoreOutOfRange
   */
  async submit({ key, gameId }: Pick<StoredBoard, 'key' | 'gameId'>, submission: Submission): Promise<SubmittedScore> {
    const standing = await this.#parts.identity.players.standing(submission.playerId)
    if (!standing || standing.disabled) throw new Unauthorized('There is no such player.')
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(key)
      if (waiting) waiting.push({ submission, resolve, reject })
      else {
        const queue = [{ submission, resolve, reject }]
        this.#waiting.set(key, queue)
        void this.#store(key, gameId, queue)
      }
    })
  }

  async #store(key: string, gameId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      let batch: Waiting[] = []
      try {
        const results = await runWithoutCaller(() =>
          this.#parts.db.groupCommit(async (statements) => {
            // Scores that arrived while this waited for its turn are included.
            batch = takeBatch(queue)
            const submissions = batch.map(({ submission }) => submission)
            const players = submissions.map(({ playerId }) => playerId)
            const present = await this.#parts.identity.players.lockPresent(statements, players)
            await this.#parts.games.mustStillBeOpen(statements, gameId)
            return storeBatch(statements, { key, batch: submissions, present, now: this.#parts.clock.now() })
          }),
        )
        for (const [index, { resolve, reject }] of batch.entries()) {
          const result = results[index]
          if (result instanceof Error || !result) reject(result)
          else resolve(result)
        }
      } catch (error) {
        if (batch.length === 0) batch = queue.splice(0)
        for (const { reject } of batch) reject(error)
      }
    }
    this.#waiting.delete(key)
  }
}

/** Takes the first submission of each player, up to `BATCH`. The others keep their order. */
function takeBatch(queue: Waiting[]): Waiting[] {
  const players = new Set<string>()
  const batch: Waiting[] = []
  const later: Waiting[] = []
  for (const waiting of queue.splice(0)) {
    const { playerId } = waiting.submission
    if (batch.length < BATCH && !players.has(playerId)) batch.push(waiting)
    else later.push(waiting)
    players.add(playerId)
  }
  queue.push(...later)
  return batch
}

/** The submissions of one transaction, and what it has read about them. */
interface Batch {
  board: StoredBoard
  submissions: readonly Submission[]
  now: Date
  /** The period that the scores count in. */
  current: number
  /** The scores that the players have, by period and player; the current period first. */
  held: ReadonlyMap<number, ReadonlyMap<string, StoredEntry>>
  present: ReadonlySet<string>
  excluded: ReadonlySet<string>
  /** The players whose submission has been stored before. */
  repeated: ReadonlySet<string>
}

/** The score of a player that was stored before, and whether the board hides it. */
type StoredEntry = Held & { hidden: boolean }

/** The change of a player's score in one period. */
interface Write {
  period: number
  playerId: string
  before: StoredEntry | null
  after: Held
}

/** An accepted submission. */
interface Outcome {
  submission: Submission
  /** In units. */
  score: number
  /** What the player had in the current period, and has now. */
  before: StoredEntry | null
  after: Held
  /** Empty for a submission that was stored before. */
  writes: readonly Write[]
}

/** @returns the result or the error of each submission */
async function storeBatch(
  statements: Statements,
  { key, batch, present, now }: { key: string; batch: readonly Submission[]; present: ReadonlySet<string>; now: Date },
): Promise<(SubmittedScore | Error)[]> {
  const board = await lockBoard(statements, key)
  if (!board) return batch.map(() => new BoardNotFound())
  const read = await readBatch(statements, { board, submissions: batch, present, now })
  const outcomes = batch.map((submission) => attempt(() => outcomeOf(read, submission)))
  await writeOutcomes(
    statements,
    read,
    outcomes.filter((outcome): outcome is Outcome => !(outcome instanceof Error)),
  )
  return answersTo(statements, read, outcomes)
}

async function readBatch(
  statements: Statements,
  about: Pick<Batch, 'board' | 'submissions' | 'present' | 'now'>,
): Promise<Batch> {
  const { board, submissions, now } = about
  const current = periodAt(board.fields.reset, now)
  const players = submissions.map(({ playerId }) => playerId)
  return {
    ...about,
    current,
    held: await readHeld(statements, board.key, [...new Set([current, ALL_TIME])], players),
    excluded: await readExcluded(statements, board.key, players),
    repeated: await readRepeated(statements, board.key, submissions),
  }
}

/** @throws Unauthorized, KeptOff, RoomWritesOnly, ScoreOutOfRange */
function outcomeOf({ board, now, current, held, present, excluded, repeated }: Batch, submission: Submission): Outcome {
  const { playerId, detail } = submission
  if (!present.has(playerId)) throw new Unauthorized('There is no such player.')
  if (excluded.has(playerId)) throw new KeptOff()
  const score = unitsOf(board, submission)
  const submitted = { score, detail, at: now }
  const before = held.get(current)?.get(playerId) ?? null
  if (repeated.has(playerId)) return { submission, score, before, after: before ?? submitted, writes: [] }
  const writes = [...held].map(([period, scores]): Write => {
    const had = scores.get(playerId) ?? null
    return { period, playerId, before: had, after: applySubmission(board.fields, had, submitted) }
  })
  return { submission, score, before, after: (writes[0] as Write).after, writes }
}

async function writeOutcomes(
  statements: Statements,
  { board, held, now, repeated }: Batch,
  outcomes: readonly Outcome[],
): Promise<void> {
  const writes = Map.groupBy(
    outcomes.flatMap((outcome) => outcome.writes),
    ({ period }) => period,
  )
  for (const period of held.keys()) await writeEntries(statements, board, period, writes.get(period) ?? [])
  const counted = outcomes.map(({ submission }) => submission).filter(({ playerId }) => !repeated.has(playerId))
  if (counted.length > 0) await countDay(statements, board.key, now, counted.length)
  await noteSubmissions(statements, board.key, counted, now)
}

async function answersTo(
  statements: Statements,
  { board, current, repeated }: Batch,
  outcomes: readonly (Outcome | Error)[],
): Promise<(SubmittedScore | Error)[]> {
  const { order, decimals, reset } = board.fields
  const keys = outcomes.flatMap((outcome) => (outcome instanceof Error ? [] : [sortKeyOf(outcome.after.score, order)]))
  const { ranks, total } = await ranksOf(statements, { board: board.key, period: current }, keys)
  const periodEndsAt = beginOf(reset, current + 1)?.toISOString() ?? null
  return outcomes.map((outcome): SubmittedScore | Error => {
    if (outcome instanceof Error) return outcome
    const { submission, score, before, after } = outcome
    return {
      score: fromUnits(score, decimals),
      best: fromUnits(after.score, decimals),
      rank: ranks.get(sortKeyOf(after.score, order)) ?? 0,
      total,
      improved: !repeated.has(submission.playerId) && (!before || isBetter(order, after.score, before.score)),
      periodEndsAt,
    }
  })
}

/**
 * Returns the submitted score in units.
 *
 * @throws RoomWritesOnly, ScoreOutOfRange
 */
function unitsOf({ fields, least, most }: StoredBoard, { score, writer }: Submission): number {
  if (fields.writers === 'room' && writer !== 'room') throw new RoomWritesOnly()
  const units = toUnits(score, fields.decimals)
  if (least !== null && units < least) throw new ScoreOutOfRange(`This board accepts no score below ${fields.min}.`)
  if (most !== null && units > most) throw new ScoreOutOfRange(`This board accepts no score above ${fields.max}.`)
  return units
}

/** Returns a refusal instead of throwing it, so that the other submissions of the batch are stored. */
function attempt<T>(work: () => T): T | Error {
  try {
    return work()
  } catch (error) {
    if (isPlatformError(error)) return error
    throw error
  }
}

interface PlainHeld {
  period: number
  player_id: string
  score: number
  sort_key: number | null
  detail: string | null
  at: number
}

/** Returns the scores of players, by period and player. */
async function readHeld(statements: Statements, board: string, periods: number[], players: string[]) {
  const held = new Map<number, Map<string, StoredEntry>>(periods.map((period) => [period, new Map()]))
  for (const part of inChunks(players)) {
    const rows = await statements.query<PlainHeld>(
      `select period, player_id, score, sort_key, detail, at from score_entries
       where board = ? and period in (?, ?) and player_id in (${part.map(() => '?').join(', ')})`,
      [board, periods[0] as number, periods.at(-1) as number, ...part],
    )
    for (const { period, player_id, score, sort_key, detail, at } of rows) {
      const hidden = sort_key === null
      held.get(Number(period))?.set(player_id, { score: Number(score), detail, at: new Date(at), hidden })
    }
  }
  return held
}

async function readExcluded(statements: Statements, board: string, players: string[]): Promise<Set<string>> {
  const excluded = new Set<string>()
  for (const part of inChunks(players)) {
    const rows = await statements.query<{ player_id: string }>(
      `select player_id from score_exclusions where board = ? and player_id in (${part.map(() => '?').join(', ')})`,
      [board, ...part],
    )
    for (const { player_id } of rows) excluded.add(player_id)
  }
  return excluded
}

/** Returns the players whose submission has been stored before. */
async function readRepeated(
  statements: Statements,
  board: string,
  batch: readonly Submission[],
): Promise<ReadonlySet<string>> {
  const repeated = new Set<string>()
  for (const part of inChunks(named(batch))) {
    const same = part.map(() => '(player_id = ? and id = ?)').join(' or ')
    const rows = await statements.query<{ player_id: string }>(
      `select player_id from score_submissions where board = ? and (${same})`,
      [board, ...part.flatMap(({ playerId, id }) => [playerId, id])],
    )
    for (const { player_id } of rows) repeated.add(player_id)
  }
  return repeated
}

async function noteSubmissions(
  statements: Statements,
  board: string,
  batch: readonly Submission[],
  at: Date,
): Promise<void> {
  for (const part of inChunks(named(batch))) {
    await statements.execute(
      `insert into score_submissions (board, player_id, id, at) values ${part.map(() => '(?, ?, ?, ?)').join(', ')}`,
      part.flatMap(({ playerId, id }) => [board, playerId, id, at]),
    )
  }
}

const named = (batch: readonly Submission[]): (Submission & { id: string })[] =>
  batch.filter((submission): submission is Submission & { id: string } => submission.id !== null)

/** Stores scores that changed, and those that were hidden: a player who plays again is shown again. */
async function writeEntries(
  statements: Statements,
  { key: board, fields: { order } }: StoredBoard,
  period: number,
  list: readonly Write[],
): Promise<void> {
  const changes = new Map<number, number>()
  const change = (key: number, by: number) => changes.set(key, (changes.get(key) ?? 0) + by)
  for (const part of inChunks(list.filter(({ before, after }) => before !== after || before.hidden))) {
    await statements.execute(
      `insert into score_entries (board, period, player_id, score, sort_key, detail, at)
       values ${part.map(() => '(?, ?, ?, ?, ?, ?, ?)').join(', ')}
       on conflict (board, period, player_id) do update set
         score = excluded.score, sort_key = excluded.sort_key, detail = excluded.detail, at = excluded.at`,
      part.flatMap(({ playerId, after: { score, detail, at } }): Parameter[] => {
        return [board, period, playerId, score, sortKeyOf(score, order), detail, at]
      }),
    )
    for (const { before, after } of part) {
      if (before && !before.hidden) change(sortKeyOf(before.score, order), -1)
      change(sortKeyOf(after.score, order), 1)
    }
  }
  await new RankTree(statements, { board, period }).update(changes)
}

async function countDay(statements: Statements, board: string, now: Date, submissions: number): Promise<void> {
  await statements.execute(
    `insert into score_days (board, date, submissions) values (?, ?, ?)
     on conflict (board, date) do update set submissions = score_days.submissions + excluded.submissions`,
    [board, now.toISOString().slice(0, 10), submissions],
  )
}
