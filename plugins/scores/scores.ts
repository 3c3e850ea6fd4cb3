import type { FastifyInstance } from 'fastify'
import { InvalidRequest } from '../../core/errors.ts'
import type { Game } from '../games/index.ts'
import { Boards } from './boards.ts'
import { DetailTooLarge } from './errors.ts'
import { ScoreLists } from './lists.ts'
import { ScoreModeration } from './moderation.ts'
import type { StoredBoard } from './record.ts'
import { type BoardFields, DETAIL_BYTES, type SubmittedScore } from './schemas.ts'
import { Submissions } from './submissions.ts'

const MINUTE_MS = 60_000
/** Scores a minute of one player on one board. */
const SUBMISSIONS_A_MINUTE = 10
const DAY_MS = 86_400_000

/** A score for `Scores.submit`. */
export interface NewScore {
  gameId: string
  boardId: string
  playerId: string
  score: number
  /** Any JSON value. */
  detail?: unknown
  /** The submission counts once when the player sends it again within 7 days. */
  submissionId?: string
  /** `room`: a room script of the game, which may write to every board. */
  writer: BoardFields['writers']
}

/** A score for `Scores.submitFromRoom`. */
export type RoomScore = Omit<NewScore, 'writer'>

/** The boards of games, and the scores on them. */
export class Scores {
  readonly boards: Boards
  readonly lists: ScoreLists
  readonly moderation: ScoreModeration
  /** Whether rooms of a game run a script, which could write scores. Another plugin sets it; without that there is none. */
  hasRoomScript: (game: Game) => Promise<boolean> = async () => false
  readonly #parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity' | 'games' | 'rateLimiter'>
  readonly #submissions: Submissions

  constructor(parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity' | 'games' | 'rateLimiter'>) {
    this.#parts = parts
    this.boards = new Boards(parts)
    this.lists = new ScoreLists(parts)
    this.moderation = new ScoreModeration(parts)
    this.#submissions = new Submissions(parts)
  }

  /**
   * Stores a score, and returns its place.
   *
   * @throws NotFound without such a board; Suspended; Unauthorized without such a player
   * @throws RateLimited after 10 scores of a player in a minute; a room script has no limit here
   * @throws RoomWritesOnly, KeptOff, ScoreOutOfRange, DetailTooLarge
   */
  async submit({ gameId, boardId, playerId, score, detail, submissionId, writer }: NewScore): Promise<SubmittedScore> {
    const board = await this.boards.get(gameId, boardId)
    if (writer === 'players') {
      await this.#parts.rateLimiter.take(`scores/${board.key}/${playerId}`, SUBMISSIONS_A_MINUTE, MINUTE_MS)
    }
    const text = detail === undefined || detail === null ? null : JSON.stringify(detail)
    if (text !== null && Buffer.byteLength(text) > DETAIL_BYTES) throw new DetailTooLarge(DETAIL_BYTES)
    return this.#submissions.submit(board, { playerId, score, detail: text, id: submissionId ?? null, writer })
  }

  /**
   * Stores a score that a room script of the game gives to a player, on any board. Scores of a preview do not count: a
   * room of a preview must not call this.
   *
   * @throws InvalidRequest when the score is no finite number, or the detail no JSON value; and as `submit`, except
   * RateLimited and RoomWritesOnly
   */
  async submitFromRoom(score: RoomScore): Promise<SubmittedScore> {
    if (!Number.isFinite(score.score)) throw new InvalidRequest('A score is a finite number.')
    if (!isJson(score.detail)) throw new InvalidRequest('The detail of a score is a JSON value.')
    return this.submit({ ...score, writer: 'room' })
  }

  /** Returns what is wrong with a board of a game, for its owner; null for nothing. */
  async warningOf(game: Game, { fields }: StoredBoard): Promise<string | null> {
    if (fields.writers !== 'room' || (await this.hasRoomScript(game))) return null
    return 'Nothing can write this board: only a room script may, and the live deploy of the game has none.'
  }

  /** Returns the number of submissions by day (UTC), oldest first, including days without any. */
  async submissionsByDay(board: StoredBoard, length: number): Promise<{ date: string; submissions: number }[]> {
    const today = this.#parts.clock.now().getTime()
    const dates = Array.from({ length }, (_, index) => dateOf(today - (length - 1 - index) * DAY_MS))
    const rows = await this.#parts.db.query<{ date: string; submissions: number }>(
      'select date, submissions from score_days where board = ? and date >= ?',
      [board.key, dates[0] as string],
    )
    const byDate = new Map(rows.map(({ date, submissions }) => [date, submissions]))
    return dates.map((date) => ({ date, submissions: byDate.get(date) ?? 0 }))
  }

  /** Returns the number of submissions to all boards of a game. @param from the first day (UTC), such as `2026-11-21` */
  async submissionsSince(gameId: string, from: string): Promise<number> {
    const [row] = await this.#parts.db.query<{ submissions: number | null }>(
      `select sum(d.submissions) as submissions from score_boards b join score_days d on d.board = b.key
       where b.game_id = ? and d.date >= ?`,
      [gameId, from],
    )
    return Number(row?.submissions ?? 0)
  }
}

/** Whether a value is absent or has a JSON text. */
function isJson(value: unknown): boolean {
  try {
    return value === undefined || JSON.stringify(value) !== undefined
  } catch {
    return false // a cycle, or a bigint
  }
}

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
