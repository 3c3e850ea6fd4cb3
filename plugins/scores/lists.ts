import type { FastifyInstance } from 'fastify'
import type { Parameter } from '../../core/data/database.ts'
import { fitsColumn, inPages, OtherCursor } from '../../core/http/pagination.ts'
import { isId } from '../../core/ids.ts'
import { ALL_TIME, beginOf, periodAt } from './periods.ts'
import { GROUP, LOWS, RANK, type Ranking, TOTAL } from './ranks/ranks.ts'
import { type StoredBoard, toPublicBoard } from './record.ts'
import type { Entry, PeriodName, ScoreList } from './schemas.ts'
import { fromUnits } from './units.ts'

/** Selects a part of a board. */
export interface ListQuery {
  limit: number
  cursor?: string | undefined
  period: PeriodName
  /** The caller, whose own entry is marked and returned; null for a visitor. */
  playerId: string | null
  /** Begins before the caller's entry instead of at the top. */
  around?: boolean
}

interface PlainEntry {
  player_id: string
  sort_key: number
  score: number
  detail: string | null
  at: number
}

/** An entry with its rank. */
type Ranked = PlainEntry & { rank: number }

/** The order of a list is that of the index: the best first, of equal scores the earlier first. */
const ORDER = 'sort_key, at, player_id'
const FIELDS = 'player_id, sort_key, score, detail, at'
/** A hidden entry has no sort key. */
const SHOWN = 'board = ? and period = ? and sort_key is not null'

/** Reads boards with exact ranks. Each list is one statement, and so shows one moment. */
export class ScoreLists {
  readonly #parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity'>

  constructor(parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity'>) {
    this.#parts = parts
  }

  /** Returns a page of a board. @throws InvalidRequest for a cursor of another list */
  async page(board: StoredBoard, query: ListQuery): Promise<ScoreList> {
    const { limit, cursor, period: name, playerId, around = false } = query
    const current = periodAt(board.fields.reset, this.#parts.clock.now())
    const ranking = { board: board.key, period: periodNamed(name, current) }
    const own = playerId === null ? null : await this.#entryOf(ranking, playerId)
    let from = cursor === undefined ? null : readCursor(cursor)
    if (around && own && !from) from = await this.#before(ranking, own, Math.floor(limit / 2))
    const { entries, total } = await this.#read(ranking, from, limit + 1)
    const page = entries.slice(0, limit)
    const next = entries[limit]
    const shown = await this.#describe(board, own ? [...page, own] : page, playerId)
    return {
      board: toPublicBoard(board),
      entries: shown.slice(0, page.length),
      total,
      me: own ? (shown.at(-1) ?? null) : null,
      periodEndsAt: endOf(board, name, current)?.toISOString() ?? null,
      nextCursor: next ? writeCursor(next) : null,
    }
  }

  /** Returns the number of players on each of these boards, in its current period, by the key of the board. */
  async totals(boards: readonly StoredBoard[]): Promise<ReadonlyMap<string, number>> {
    if (boards.length === 0) return new Map()
    const now = this.#parts.clock.now()
    const rows = await this.#parts.db.query<{ board: string; total: number }>(
      `select n.board, sum(n.entries) as total from score_nodes n
       where n.level = ? and (n.board, n.period) in
         (values ${boards.map(() => '(cast(? as varchar(12)), cast(? as integer))').join(', ')})
       group by n.board`,
      [GROUP, ...boards.flatMap(({ key, fields }) => [key, periodAt(fields.reset, now)])],
    )
    return new Map(rows.map(({ board, total }) => [board, Number(total)]))
  }

  /** Exports all entries of a player on all boards in pages. */
  async *export(playerId: string): AsyncGenerator<unknown[]> {
    const pages = inPages<PlainExport>((after, limit) =>
      this.#parts.db.query(
        `select e.board as board_key, b.game_id, b.id as board, b.reset, b.decimals, e.period, e.score, e.detail, e.at
         from score_entries e join score_boards b on b.key = e.board
         where e.player_id = ? ${after ? 'and (e.board, e.period) > (?, ?)' : ''} order by e.board, e.period limit ?`,
        [playerId, ...(after ? [after.board_key, after.period] : []), limit],
      ),
    )
    for await (const entries of pages) {
      yield entries.map(({ game_id, board, reset, decimals, period, score, detail, at }) => ({
        gameId: game_id,
        board,
        since: beginOf(reset, period)?.toISOString() ?? null,
        score: fromUnits(Number(score), decimals),
        detail: detail === null ? null : JSON.parse(detail),
        at: new Date(at).toISOString(),
      }))
    }
  }

  async #entryOf(ranking: Ranking, playerId: string): Promise<Ranked | null> {
    const { board, period } = ranking
    const [row] = await this.#parts.db.query<Ranked>(
      `with c as (select e.board, e.period, e.sort_key as key, e.player_id, e.score, e.detail, e.at
         from score_entries e
         where e.board = ? and e.period = ? and e.player_id = ? and e.sort_key is not null),
       k as materialized (select c.board, c.period, c.key, c.player_id, c.score, c.detail, c.at, ${LOWS} from c)
       select k.player_id, k.key as sort_key, k.score, k.detail, k.at, ${RANK} as rank from k`,
      [board, period, playerId],
    )
    return row ? { ...row, rank: Number(row.rank) } : null
  }

  /** Returns the entry a number of places before another one, or the first. */
  async #before({ board, period }: Ranking, { sort_key, at, player_id }: PlainEntry, places: number) {
    const rows = await this.#parts.db.query<PlainEntry>(
      `select ${FIELDS} from score_entries where ${SHOWN} and (${ORDER}) < (?, ?, ?)
       order by sort_key desc, at desc, player_id desc limit ?`,
      [board, period, sort_key, new Date(at), player_id, places],
    )
    return rows.at(-1) ?? { sort_key, at, player_id }
  }

  /**
   * Reads entries from a position on. The statement reads the rank of the first key and that of the second; all others
   * follow from their distance to the second, because no entry is missing in between.
   */
  async #read({ board, period }: Ranking, from: Position | null, limit: number) {
    const place: Parameter[] = from ? [from.sort_key, new Date(from.at), from.player_id] : []
    const rows = await this.#parts.db.query<PlainEntry & { key: number; rank: number; total: number }>(
      `with page as materialized (
         select ${FIELDS} from score_entries where ${SHOWN} ${from ? `and (${ORDER}) >= (?, ?, ?)` : ''}
         order by ${ORDER} limit ?),
       keys as (select min(sort_key) as key from page
         union select min(sort_key) as key from page where sort_key > (select min(sort_key) from page)),
       c as (select cast(? as varchar(12)) as board, cast(? as integer) as period, key from keys where key is not null),
       k as materialized (select c.board, c.period, c.key, ${LOWS} from c),
       ranks as materialized (select k.key, ${RANK} as rank from k)
       select page.player_id, page.sort_key, page.score, page.detail, page.at, ranks.rank, ${TOTAL} as total
       from page left join ranks on ranks.key = page.sort_key order by page.sort_key, page.at, page.player_id`,
      [board, period, ...place, limit, board, period, board, period],
    )
    if (rows.length === 0) return { entries: [], total: await this.#total({ board, period }) }
    const entries: Ranked[] = []
    const second = rows.findIndex((row) => Number(row.sort_key) !== Number(rows[0]?.sort_key))
    for (const [index, row] of rows.entries()) {
      const before = entries.at(-1)
      const sort_key = Number(row.sort_key)
      const distance = Number(rows[second]?.rank) + index - second
      const rank = before?.sort_key === sort_key ? before.rank : row.rank === null ? distance : Number(row.rank)
      entries.push({ ...row, sort_key, rank })
    }
    return { entries, total: Number(rows[0]?.total) }
  }

  async #total({ board, period }: Ranking): Promise<number> {
    const [row] = await this.#parts.db.query<{ total: number }>(`select ${TOTAL} as total`, [board, period])
    return Number(row?.total)
  }

  async #describe(board: StoredBoard, entries: readonly Ranked[], me: string | null): Promise<Entry[]> {
    const profiles = await this.#parts.identity.players.profilesOf(entries.map(({ player_id }) => player_id))
    return entries.map(({ rank, player_id: sub, score, detail, at }) => {
      const { name, imageUrl } = profiles.get(sub) ?? { name: 'somebody', imageUrl: null }
      return {
        rank,
        player: { sub, name, imageUrl },
        score: fromUnits(Number(score), board.fields.decimals),
        detail: detail === null ? null : JSON.parse(detail),
        at: new Date(at).toISOString(),
        me: sub === me,
      }
    })
  }
}

interface PlainExport {
  board_key: string
  game_id: string
  board: string
  reset: StoredBoard['fields']['reset']
  decimals: number
  period: number
  score: number
  detail: string | null
  at: number
}

/** The place of an entry in a list, which the next page begins with. */
type Position = Pick<PlainEntry, 'sort_key' | 'at' | 'player_id'>

const writeCursor = ({ sort_key, at, player_id }: Position): string =>
  Buffer.from(JSON.stringify([sort_key, at, player_id])).toString('base64url')

function readCursor(cursor: string): Position {
  try {
    const [sort_key, at, player_id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (
      Number.isSafeInteger(sort_key) &&
      fitsColumn(at, 'instant') &&
      typeof player_id === 'string' &&
      isId('ply', player_id)
    )
      return { sort_key, at, player_id } as Position
  } catch {
    // It is answered like any other cursor that this list did not give.
  }
  throw new OtherCursor()
}

/** A board that never resets has one period, and none before it. */
function periodNamed(name: PeriodName, current: number): number {
  if (name === 'all') return ALL_TIME
  return name === 'current' ? current : current === ALL_TIME ? NO_PERIOD : current - 1
}

function endOf({ fields: { reset } }: StoredBoard, name: PeriodName, current: number): Date | null {
  return name === 'all' ? null : beginOf(reset, name === 'current' ? current + 1 : current)
}

/** A period without entries. */
const NO_PERIOD = -1
