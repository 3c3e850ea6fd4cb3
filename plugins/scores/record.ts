import type { Statements } from '../../core/data/database.ts'
import type { Board, BoardFields, PublicBoard } from './schemas.ts'
import { fromUnits } from './units.ts'

/** The columns of a board, for `app.db.query`. */
export const COLUMNS = `key, game_id, id, title, "order", format, decimals, keep, reset, min, max, writers, created_at,
  updated_at`

/** A row of `score_boards` in the form of `app.db.query`. */
export interface PlainBoard {
  key: string
  game_id: string
  id: string
  title: string
  order: BoardFields['order']
  format: BoardFields['format']
  decimals: number
  keep: BoardFields['keep']
  reset: BoardFields['reset']
  min: number | null
  max: number | null
  writers: BoardFields['writers']
  created_at: number
  updated_at: number
}

/** A board with its internal values. */
export interface StoredBoard {
  key: string
  gameId: string
  id: string
  fields: BoardFields
  /** The bounds in units. */
  least: number | null
  most: number | null
  createdAt: Date
  updatedAt: Date
}

export function toStored(row: PlainBoard): StoredBoard {
  const { key, game_id: gameId, id, title, order, format, decimals, keep, reset, writers } = row
  const least = row.min === null ? null : Number(row.min)
  const most = row.max === null ? null : Number(row.max)
  const bound = (units: number | null) => (units === null ? null : fromUnits(units, decimals))
  return {
    key,
    gameId,
    id,
    least,
    most,
    fields: { title, order, format, decimals, keep, reset, min: bound(least), max: bound(most), writers },
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}

/** Returns a board in the form of the API for its owner. */
export const toBoard = ({ id, fields, createdAt, updatedAt }: StoredBoard): Board => ({
  id,
  ...fields,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
})

/** Returns a board in its public form. */
export const toPublicBoard = ({ id, fields }: StoredBoard): PublicBoard => {
  const { title, order, format, decimals, reset } = fields
  return { id, title, order, format, decimals, reset }
}

/**
 * Locks a board until the end of the transaction. Every change of its scores does this first, so that changes on several
 * nodes follow one another.
 *
 * @returns the board; null when there is none, or no longer
 */
export async function lockBoard(statements: Statements, key: string): Promise<StoredBoard | null> {
  const sql = `update score_boards set revision = revision + 1 where key = ? returning ${COLUMNS}`
  const [row] = await statements.query<PlainBoard>(sql, [key])
  return row ? toStored(row) : null
}
