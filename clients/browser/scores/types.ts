export type Period = 'current' | 'previous' | 'all'

export interface Entry {
  /** Equal scores share a rank. */
  rank: number
  player: { sub: string; name: string; imageUrl: string | null }
  score: number
  /** What the game sent with the score, or null. */
  detail: unknown
  /** ISO 8601. */
  at: string
  /** Whether it is the entry of the player who is signed in. */
  me: boolean
}

export interface ScoreList {
  board: {
    id: string
    title: string
    order: 'asc' | 'desc'
    format: 'number' | 'milliseconds' | 'seconds'
    decimals: number
    reset: 'never' | 'daily' | 'weekly' | 'monthly'
  }
  entries: Entry[]
  /** The number of players on the board, in the period. */
  total: number
  me: Entry | null
  /** When the board resets, in ISO 8601; null: never. */
  periodEndsAt: string | null
  nextCursor: string | null
}

/** The answer to a submitted score. */
export interface Submitted {
  score: number
  /** What counts for the player now, in this period. */
  best: number
  rank: number
  total: number
  improved: boolean
  periodEndsAt: string | null
}

export interface ListOptions {
  /** Default: the current period. */
  period?: Period
}

export interface Board {
  readonly name: string
  /**
   * Submits a score of the player who is signed in.
   *
   * @param detail any JSON of at most 1 KiB, shown with the score
   * @returns its place; null without connection or while earlier scores wait, and the score is then sent later
   * @throws ScoreError with the `code` of the refusal, such as `unauthorized` for a player who is not signed in
   */
  submit(score: number, detail?: unknown): Promise<Submitted | null>
  /** Reads the first entries, 1 to 100. Default: 10. @throws ScoreError */
  top(limit?: number, options?: ListOptions): Promise<ScoreList>
  /** Reads the entries around that of the player; the first entries when there is none. @throws ScoreError */
  around(limit?: number, options?: ListOptions): Promise<ScoreList>
  /** Reads the entries after a list; null after the last. @throws ScoreError */
  more(list: ScoreList, options?: ListOptions): Promise<ScoreList | null>
}

/** A refused request. */
export class ScoreError extends Error {
  override name = 'ScoreError'
  /** The platform's code, such as `unauthorized`, `room_writes_only`, `rate_limited`; `offline` without connection. */
  readonly code: string
  /** The seconds after which to try again, if the platform gave them. */
  readonly retryAfter: number | null
  /** The HTTP status of the answer; null without one. */
  readonly status: number | null

  constructor(code: string, message: string, retryAfter: number | null = null, status: number | null = null) {
    super(message)
    this.code = code
    this.retryAfter = retryAfter
    this.status = status
  }
}
