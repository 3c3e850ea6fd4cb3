import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import type { Statements } from '../../core/data/database.ts'
import { NotFound } from '../../core/errors.ts'
import type { Loss } from '../oauth-idp/index.ts'
import { RankTree } from './ranks/tree.ts'
import { lockBoard, type StoredBoard } from './record.ts'
import type { Excluded } from './schemas.ts'
import { sortKeyOf } from './units.ts'

interface PlainEntry {
  board: string
  period: number
  score: number
  sort_key: number | null
}

/** Takes entries off boards: for the owner of the game, with a disabled player, with a removed account. */
export class ScoreModeration {
  readonly #parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity'>

  constructor(parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity'>) {
    this.#parts = parts
  }

  /** Removes what a player has on a board, in every period. The player may submit again. @throws NotFound */
  async remove(board: StoredBoard, playerId: string): Promise<void> {
    const removed = await this.#parts.db.groupCommit((statements) => removeFrom(statements, board.key, playerId))
    if (removed === 0) throw new NotFound('entry')
  }

  /** Removes what a player has on a board, and refuses further scores. @throws NotFound without such a player */
  async exclude(board: StoredBoard, playerId: string): Promise<void> {
    const { db, clock, identity } = this.#parts
    if (!(await identity.players.standing(playerId))) throw new NotFound('player')
    await db.groupCommit(async (statements) => {
      await removeFrom(statements, board.key, playerId)
      await statements.execute(
        'insert into score_exclusions (board, player_id, at) values (?, ?, ?) on conflict do nothing',
        [board.key, playerId, clock.now()],
      )
    })
  }

  /** Lets a player onto a board again. Removed scores stay removed. @throws NotFound */
  async include(board: StoredBoard, playerId: string): Promise<void> {
    const sql = 'delete from score_exclusions where board = ? and player_id = ?'
    if ((await this.#parts.db.execute(sql, [board.key, playerId])) === 0) throw new NotFound('player on this list')
  }

  /** Lists the players who are kept off a board, the latest first, at most 200. */
  async excluded(board: StoredBoard): Promise<Excluded['players']> {
    const rows = await this.#parts.db.query<{ player_id: string; at: number }>(
      'select player_id, at from score_exclusions where board = ? order by at desc, player_id limit 200',
      [board.key],
    )
    const names = await this.#parts.identity.players.profilesOf(rows.map(({ player_id }) => player_id))
    return rows.map(({ player_id: sub, at }) => {
      return { sub, name: names.get(sub)?.name ?? 'somebody', at: new Date(at).toISOString() }
    })
  }

  /** Hides the entries of a player from all boards, or shows them again, in the transaction that disables them. */
  async setHidden(em: SqlEntityManager, playerId: string, hidden: boolean): Promise<void> {
    const statements = statementsOf(em)
    for (const key of await boardsOf(statements, playerId)) {
      const board = await lockBoard(statements, key)
      if (!board) continue
      for (const { period, score, sort_key } of await entriesOf(statements, key, playerId)) {
        if ((sort_key === null) === hidden) continue
        const sortKey = sortKeyOf(score, board.fields.order)
        await statements.execute(
          'update score_entries set sort_key = ? where board = ? and period = ? and player_id = ?',
          [hidden ? null : sortKey, key, period, playerId],
        )
        await new RankTree(statements, { board: key, period }).update(new Map([[sortKey, hidden ? -1 : 1]]))
      }
    }
  }

  /** Counts the leaderboards from which a player goes with the account. */
  async lossOf(playerId: string): Promise<Loss | null> {
    const boards = await boardsOf(this.#parts.db, playerId)
    const what = boards.length === 1 ? 'the scores on 1 leaderboard' : `the scores on ${boards.length} leaderboards`
    return boards.length > 0 ? { what } : null
  }

  /** Removes everything of a player, in the transaction that removes the account. */
  async removeAllOf(em: SqlEntityManager, playerId: string): Promise<void> {
    const statements = statementsOf(em)
    for (const key of await boardsOf(statements, playerId)) await removeFrom(statements, key, playerId)
    for (const table of ['score_exclusions', 'score_submissions'])
      await statements.execute(`delete from ${table} where player_id = ?`, [playerId])
  }

  /** Removes a score that was being stored while the account was removed. */
  async removeLeftOver(playerId: string): Promise<void> {
    const { db } = this.#parts
    const boards = await boardsOf(db, playerId)
    for (const key of boards) await db.groupCommit((statements) => removeFrom(statements, key, playerId))
  }
}

/** @returns the number of removed entries */
async function removeFrom(statements: Statements, key: string, playerId: string): Promise<number> {
  await lockBoard(statements, key)
  const entries = await entriesOf(statements, key, playerId)
  for (const { period, sort_key } of entries) {
    await statements.execute('delete from score_entries where board = ? and period = ? and player_id = ?', [
      key,
      period,
      playerId,
    ])
    if (sort_key === null) continue
    await new RankTree(statements, { board: key, period }).update(new Map([[sort_key, -1]]))
  }
  return entries.length
}

/** Returns the boards with entries of a player, in the order in which every transaction locks them. */
async function boardsOf(statements: Pick<Statements, 'query'>, playerId: string): Promise<string[]> {
  const sql = 'select distinct board from score_entries where player_id = ? order by board'
  return (await statements.query<{ board: string }>(sql, [playerId])).map(({ board }) => board)
}

async function entriesOf(statements: Statements, key: string, playerId: string) {
  const rows = await statements.query<PlainEntry>(
    'select period, score, sort_key from score_entries where board = ? and player_id = ? order by period',
    [key, playerId],
  )
  return rows.map(({ period, score, sort_key }) => ({
    period: Number(period),
    score: Number(score),
    sort_key: sort_key === null ? null : Number(sort_key),
  }))
}

/** Returns the statements of a transaction of an entity manager. */
const statementsOf = (em: SqlEntityManager): Statements => ({
  query: (sql, parameters = []) => em.execute(sql, [...parameters]),
  execute: async (sql, parameters = []) =>
    (await em.execute<{ affectedRows: number }>(sql, [...parameters], 'run')).affectedRows,
})
