import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { deleteInBatches, type Parameter } from '../../../core/data/database.ts'
import { cutPage, inPages, mustBeCursor, type PageQuery } from '../../../core/http/pagination.ts'
import type { Author } from '../../../core/observe/author.ts'
import type { GamesLimits } from '../schemas.ts'
import type { ActivityEntry } from './schemas.ts'

const DAY_MS = 86_400_000

interface StoredRow {
  id: string
  game_id: string
  action: string
  target: string | null
  detail: string | null
  author_kind: Author['kind']
  player_id: string | null
  author_name: string | null
  tool: string | null
  at: number
}

const COLUMNS = 'id, game_id, action, target, detail, author_kind, player_id, author_name, tool, at'

/** The changes of games: who did what, and when. `recordActivity` writes them. */
export class Activity {
  /** For how many days each change is kept. */
  readonly days: number
  readonly #parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity'>

  constructor(parts: Pick<FastifyInstance, 'db' | 'clock' | 'identity'>, { activityDays }: GamesLimits) {
    this.days = activityDays
    this.#parts = parts
  }

  /** Lists the changes of a game, the latest first. The caller checks who may see them. */
  async list(
    gameId: string,
    { limit, cursor }: PageQuery,
  ): Promise<{ activity: ActivityEntry[]; nextCursor: string | null }> {
    const before = mustBeCursor('act', cursor)
    const rows = await this.#parts.db.query<StoredRow>(
      `select ${COLUMNS} from game_activity where game_id = ?${before ? ' and id < ?' : ''} order by id desc limit ?`,
      [gameId, ...(before ? [before] : []), limit + 1] as Parameter[],
    )
    const { page, nextCursor } = cutPage(rows, limit)
    return { activity: await this.#entriesOf(page), nextCursor }
  }

  /** Returns the changes of all games of a player in pages, game by game, for their data export. */
  async *export(ownerId: string): AsyncGenerator<(ActivityEntry & { gameId: string })[]> {
    const { db } = this.#parts
    yield []
    const ofGame = (id: string) =>
      inPages<StoredRow>((after, limit) =>
        db.query(`select ${COLUMNS} from game_activity where game_id = ? and id > ? order by id limit ?`, [
          id,
          after?.id ?? '',
          limit,
        ]),
      )
    for await (const games of this.#gamesOf(ownerId)) {
      for (const { id: gameId } of games) {
        for await (const rows of ofGame(gameId)) {
          yield (await this.#entriesOf(rows)).map((entry) => ({ gameId, ...entry }))
        }
      }
    }
  }

  /** Returns what a player changed in games of other players, in pages, for their data export. */
  async *exportElsewhere(playerId: string): AsyncGenerator<(ActivityEntry & { gameId: string })[]> {
    const { db } = this.#parts
    const pages = inPages<StoredRow>((after, limit) =>
      db.query(
        `select ${COLUMNS} from game_activity where player_id = ? and id > ?
         and game_id not in (select id from games where owner_id = ?) order by id limit ?`,
        [playerId, after?.id ?? '', playerId, limit],
      ),
    )
    for await (const rows of pages) {
      yield (await this.#entriesOf(rows)).map((entry, index) => ({ gameId: rows[index]?.game_id ?? '', ...entry }))
    }
  }

  #gamesOf(ownerId: string) {
    const { db } = this.#parts
    const sql = 'select id from games where owner_id = ? and id > ? order by id limit ?'
    return inPages<{ id: string }>((after, limit) => db.query(sql, [ownerId, after?.id ?? '', limit]))
  }

  /** Deletes the changes of all games of a player, in the transaction that ends the account. */
  async removeAllOf(em: SqlEntityManager, ownerId: string): Promise<void> {
    const games = 'select id from games where owner_id = ?'
    await em.execute(`delete from game_activity where game_id in (${games})`, [ownerId], 'run')
  }

  /** Deletes changes that are older than `limits.activityDays`. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#parts
    const parameters = [new Date(clock.now().getTime() - this.days * DAY_MS)]
    await deleteInBatches(db, { table: 'game_activity', key: ['id'], where: 'at < ?', parameters }, signal)
  }

  async #entriesOf(rows: StoredRow[]): Promise<ActivityEntry[]> {
    const people = new Set(rows.flatMap(({ player_id }) => player_id ?? []))
    const profiles = await this.#parts.identity.players.profilesOf([...people])
    return rows.map(({ author_kind: kind, author_name, player_id: playerId, tool, ...row }) => {
      const profile = playerId === null ? undefined : profiles.get(playerId)
      const player = playerId !== null && profile ? { id: playerId, ...profile } : null
      return {
        id: row.id,
        at: new Date(row.at).toISOString(),
        action: row.action,
        target: row.target,
        detail: row.detail,
        by: { kind, playerId, player, name: kind === 'person' ? (player?.name ?? null) : author_name, tool },
      }
    })
  }
}
