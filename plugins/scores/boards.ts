import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Parameter, Statements } from '../../core/data/database.ts'
import { InvalidRequest } from '../../core/errors.ts'
import { randomText } from '../../core/ids.ts'
import { currentAuthor } from '../../core/observe/author.ts'
import { visibleText } from '../../core/visible-text.ts'
import { recordActivity } from '../games/index.ts'
import { BoardExists, BoardHasScores, BoardNotFound, TooManyBoards } from './errors.ts'
import { COLUMNS, type PlainBoard, type StoredBoard, toStored } from './record.ts'
import { BOARD_DEFAULTS, BOARDS_PER_GAME, type BoardFields, type BoardInput } from './schemas.ts'
import { toUnits } from './units.ts'

/** The fields on which stored scores depend. They are fixed once a board has scores. */
const FIXED = ['order', 'decimals', 'keep', 'reset'] as const

/** The boards of games. Callers check who owns the game. */
export class Boards {
  readonly #parts: Pick<FastifyInstance, 'db' | 'clock'>

  constructor(parts: Pick<FastifyInstance, 'db' | 'clock'>) {
    this.#parts = parts
  }

  /** Lists the boards of a game in the order of their creation. */
  async list(gameId: string): Promise<StoredBoard[]> {
    const rows = await this.#parts.db.query<PlainBoard>(
      `select ${COLUMNS} from score_boards where game_id = ? order by created_at, id`,
      [gameId],
    )
    return rows.map(toStored)
  }

  /** Returns the first board of each of these games that has one, by the id of the game. */
  async firstOf(gameIds: readonly string[]): Promise<ReadonlyMap<string, StoredBoard>> {
    if (gameIds.length === 0) return new Map()
    const rows = await this.#parts.db.query<PlainBoard>(
      `select ${COLUMNS} from (select b.*, row_number() over (partition by game_id order by created_at, id) as place
         from score_boards b where game_id in (${gameIds.map(() => '?').join(', ')})) boards where place = 1`,
      gameIds,
    )
    return new Map(rows.map(toStored).map((board) => [board.gameId, board]))
  }

  /** @throws BoardNotFound */
  async get(gameId: string, id: string): Promise<StoredBoard> {
    const sql = `select ${COLUMNS} from score_boards where game_id = ? and id = ?`
    const [row] = await this.#parts.db.query<PlainBoard>(sql, [gameId, id])
    if (!row) throw new BoardNotFound()
    return toStored(row)
  }

  /**
   * Makes a board, or changes it. Fields that are not given keep their value; a new board has the defaults.
   *
   * @param create makes a board only, and changes none
   * @returns the board, and whether it is new
   * @throws BoardExists by `create`
   * @throws InvalidRequest when no score would be accepted
   * @throws BoardHasScores for order, decimals, keep and reset of a board with scores
   * @throws TooManyBoards
   */
  async put(
    gameId: string,
    id: string,
    input: BoardInput,
    { create = false } = {},
  ): Promise<{ board: StoredBoard; created: boolean }> {
    const { db, clock } = this.#parts
    const author = currentAuthor()
    const created = await db.groupCommit(async (statements) => {
      // Of changes at once the later ones wait, so that they see the boards that the earlier ones made. SQLite has one
      // writer anyway.
      if (db.dialect === 'postgres')
        await statements.query('select id from games where id = ? for no key update', [gameId])
      const [row] = await statements.query<PlainBoard>(
        `update score_boards set revision = revision + 1 where game_id = ? and id = ? returning ${COLUMNS}`,
        [gameId, id],
      )
      if (row && create) throw new BoardExists(id).with({ details: [{ path: 'id', message: 'is taken' }] })
      const detail = row ? await this.#change(statements, toStored(row), input) : null
      if (!row) await this.#create(statements, gameId, id, input)
      // A deploy sends the boards of gameyard.json each time, mostly unchanged.
      if (detail === '') return false
      const action = row ? 'board.change' : 'board.create'
      await recordActivity(statements, clock, { gameId, action, target: id, detail }, author)
      return !row
    })
    return { board: await this.get(gameId, id), created }
  }

  async #create(statements: Statements, gameId: string, id: string, input: BoardInput): Promise<void> {
    const fields = { ...BOARD_DEFAULTS, ...input }
    const values = valuesOf(fields)
    const now = this.#parts.clock.now()
    const [count] = await statements.query<{ boards: number }>(
      'select count(*) as boards from score_boards where game_id = ?',
      [gameId],
    )
    if (Number(count?.boards) >= BOARDS_PER_GAME) throw new TooManyBoards(BOARDS_PER_GAME)
    await statements.execute(
      `insert into score_boards (key, game_id, id, title, "order", format, decimals, keep, reset, min, max, writers,
         revision, created_at, updated_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`,
      [randomText(9), gameId, id, ...values, now, now],
    )
  }

  /** @returns the names of the changed fields */
  async #change(statements: Statements, board: StoredBoard, input: BoardInput): Promise<string> {
    const fields = { ...board.fields, ...input }
    const values = valuesOf(fields)
    const changed = FIXED.filter((name) => fields[name] !== board.fields[name])
    if (changed.length > 0) {
      const [used] = await statements.query('select period from score_entries where board = ? limit 1', [board.key])
      if (used) throw new BoardHasScores(changed.join(', '))
    }
    await statements.execute(
      `update score_boards set title = ?, "order" = ?, format = ?, decimals = ?, keep = ?, reset = ?, min = ?, max = ?,
         writers = ?, updated_at = ? where key = ?`,
      [...values, this.#parts.clock.now(), board.key],
    )
    const names = Object.keys(fields) as (keyof BoardFields)[]
    return names.filter((name) => fields[name] !== board.fields[name]).join(', ')
  }

  /** Whether a board has any score, which fixes some of its fields. */
  async hasScores({ key }: StoredBoard): Promise<boolean> {
    const rows = await this.#parts.db.query('select period from score_entries where board = ? limit 1', [key])
    return rows.length > 0
  }

  /** Removes a board with its scores. @throws BoardNotFound */
  async remove(gameId: string, id: string): Promise<void> {
    const author = currentAuthor()
    const { db, clock } = this.#parts
    await db.groupCommit(async (statements) => {
      const [row] = await statements.query<{ key: string }>(
        'delete from score_boards where game_id = ? and id = ? returning key',
        [gameId, id],
      )
      if (!row) throw new BoardNotFound()
      await statements.execute('insert into score_deletions (board) values (?)', [row.key])
      await recordActivity(statements, clock, { gameId, action: 'board.remove', target: id }, author)
    })
  }

  /** Removes all boards of a game, in the transaction that permanently deletes it. */
  async removeAllOf(em: SqlEntityManager, gameId: string): Promise<void> {
    await em.execute('insert into score_deletions (board) select key from score_boards where game_id = ?', [gameId])
    await em.execute('delete from score_boards where game_id = ?', [gameId], 'run')
  }
}

/**
 * Returns the values of the columns from `title` to `writers`, in the order of the entity.
 *
 * @throws InvalidRequest for bounds that exclude every score
 */
function valuesOf(fields: BoardFields): Parameter[] {
  const { min, max } = boundsOf(fields)
  const { title, order, format, decimals, keep, reset, writers } = fields
  return [visibleText(title), order, format, decimals, keep, reset, min, max, writers]
}

function boundsOf({ min, max, decimals }: Pick<BoardFields, 'min' | 'max' | 'decimals'>) {
  const least = min === null ? null : toUnits(min, decimals)
  const most = max === null ? null : toUnits(max, decimals)
  if (least !== null && most !== null && least > most)
    throw new InvalidRequest('The least score of a board is greater than its greatest.')
  return { min: least, max: most }
}
