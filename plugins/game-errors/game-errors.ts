import { createHash } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { deleteInBatches } from '../../core/data/database.ts'
import { newId } from '../../core/ids.ts'
import { BuildSourceMaps, type SourcePlace } from '../deploy/index.ts'
import { GameErrorRow } from './entities.ts'
import type { GameError, Reported } from './schemas.ts'

/** The number of different errors that are kept of a game. */
const KEPT = 100
/** The number of versions, the latest first, whose source maps are read for a list. */
const MOST_VERSIONS = 5
/** How long an error is kept after its last occurrence. */
const KEPT_MS = 30 * 86_400_000
/** Reports are written together after this time. */
const COLLECT_MS = 1000
/** The maximum number of unwritten errors of all games, such as while the database is away. */
const MOST_PENDING = 2000
/** Beyond this number an error is not counted further; a database's integer ends at twice as much. */
const MOST_COUNTED = 1_000_000_000

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'log' | 'deploys' | 'storage'>
type Occurrence = Omit<GameErrorRow, 'id' | 'firstAt'>
type StoredError = Omit<GameError, 'source'>

/** Where and when reported errors occurred. */
interface Origin {
  gameId: string
  deployId: string | null
  browser: string
}

/**
 * The exceptions in the pages of games: the last hundred different ones of each game, with the number of their
 * occurrences. Reports are collected in memory and written together. A crash loses those of the last second.
 */
export class GameErrors {
  readonly #parts: Parts
  readonly #sourceMaps: BuildSourceMaps
  #pending = new Map<string, Occurrence>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(parts: Parts) {
    this.#parts = parts
    const { manifests, scriptWorker: worker } = parts.deploys
    this.#sourceMaps = new BuildSourceMaps({ storage: parts.storage, manifests, worker })
  }

  /** Adds what a page has reported. It never throws and never waits. */
  add({ gameId, deployId, browser }: Origin, errors: readonly Reported[]): void {
    const lastAt = this.#parts.clock.now()
    for (const { message, path, line, column, stack, count } of errors) {
      const fingerprint = fingerprintOf({ deployId, message, path, line, column })
      const key = `${gameId} ${fingerprint}`
      const known = this.#pending.get(key)
      if (!known && this.#pending.size >= MOST_PENDING) continue
      this.#pending.set(key, {
        gameId,
        fingerprint,
        deployId,
        message,
        path,
        line,
        columnNumber: column,
        stack,
        browser,
        count: Math.min(MOST_COUNTED, (known?.count ?? 0) + count),
        lastAt,
      } as Occurrence)
    }
    this.#timer ??= setTimeout(() => void this.flush(), COLLECT_MS).unref()
  }

  /** Writes what was collected. It never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#flush())
    return this.#writing
  }

  /** Lists the errors of a game, the latest first. */
  async list(gameId: string): Promise<GameError[]> {
    const rows = await this.#parts.db
      .em()
      .find(GameErrorRow, { gameId }, { orderBy: { lastAt: 'desc', id: 'desc' }, limit: KEPT })
    const errors = rows.map(toRecord)
    const sources = await this.#sourcesOf(gameId, errors)
    return errors.map((error) => ({ ...error, source: sources.get(error.id) ?? null }))
  }

  /** Finds the places in the maker's own files, by the ids of the errors. */
  async #sourcesOf(gameId: string, errors: readonly StoredError[]): Promise<Map<string, SourcePlace>> {
    const sources = new Map<string, SourcePlace>()
    const byDeploy = Map.groupBy(errors, ({ deployId }) => deployId)
    byDeploy.delete(null)
    for (const [deployId, ofDeploy] of [...byDeploy].slice(0, MOST_VERSIONS)) {
      const places = ofDeploy.flatMap(({ id, path, line, column }) =>
        path !== null && line !== null ? [{ id, path, line, column: column ?? 1 }] : [],
      )
      const located = await this.#sourceMaps.locate(deployId as string, places, gameId)
      for (const [index, { id }] of places.entries()) {
        const source = located[index]
        if (source) sources.set(id, source)
      }
    }
    return sources
  }

  /** Forgets the errors of a game. Those that occur again are new. */
  async clear(gameId: string): Promise<void> {
    this.#drop(gameId)
    await this.#parts.db.em().nativeDelete(GameErrorRow, { gameId })
  }

  /** Runs in the transaction that permanently deletes a game. */
  async ofGame(em: SqlEntityManager, gameId: string): Promise<void> {
    this.#drop(gameId)
    await em.nativeDelete(GameErrorRow, { gameId })
  }

  /** Deletes errors that have not occurred for 30 days. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#parts
    const parameters = [new Date(clock.now().getTime() - KEPT_MS)]
    await deleteInBatches(db, { table: 'game_errors', key: ['id'], where: 'last_at < ?', parameters }, signal)
  }

  #drop(gameId: string): void {
    for (const [key, occurrence] of this.#pending) if (occurrence.gameId === gameId) this.#pending.delete(key)
  }

  async #flush(): Promise<void> {
    const { db, clock, log } = this.#parts
    if (this.#pending.size === 0) return
    const byGame = Map.groupBy(this.#pending.values(), ({ gameId }) => gameId)
    this.#pending = new Map()
    try {
      await db.transaction(async (em) => {
        // All nodes write in the same order, which prevents deadlocks.
        for (const [gameId, occurrences] of [...byGame].sort(([a], [b]) => (a < b ? -1 : 1)))
          await write(em, gameId, occurrences, clock.now())
      })
    } catch (error) {
      // The next occurrence counts again; no queue grows while the database is away.
      log.warn({ err: error }, 'reported errors of games could not be stored; they are lost')
    }
  }
}

/** What each occurrence has, in the order of the columns. */
const COLUMNS = [
  'gameId',
  'fingerprint',
  'deployId',
  'message',
  'path',
  'line',
  'columnNumber',
  'stack',
  'browser',
  'count',
] as const

/** Adds the errors of a game, and deletes all but its latest. A purged game gets none. */
async function write(em: SqlEntityManager, gameId: string, occurrences: Occurrence[], now: Date): Promise<void> {
  const [game] = await em.execute<{ id: string }[]>('select id from games where id = ?', [gameId])
  if (!game) return
  const sorted = occurrences.toSorted((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1))
  const rows = sorted.map(({ lastAt, ...occurrence }) => [
    newId('err', now),
    ...COLUMNS.map((column) => occurrence[column]),
    lastAt,
    lastAt,
  ])
  await em.execute(
    `insert into game_errors
       (id, game_id, fingerprint, deploy_id, message, path, line, column_number, stack, browser, count, first_at, last_at)
     values ${rows.map((values) => `(${values.map(() => '?').join(', ')})`).join(', ')}
     on conflict (game_id, fingerprint) do update set
       message = excluded.message, stack = excluded.stack, browser = excluded.browser,
       count = case when game_errors.count < ${MOST_COUNTED} then game_errors.count + excluded.count
         else game_errors.count end,
       last_at = excluded.last_at`,
    rows.flat(),
    'run',
  )
  await em.execute(
    `delete from game_errors where game_id = ? and last_at <=
       (select last_at from game_errors where game_id = ? order by last_at desc limit 1 offset ${KEPT})`,
    [gameId, gameId],
    'run',
  )
}

/** Numbers in a message, such as ids and counts, do not make another error. */
function fingerprintOf({
  deployId,
  message,
  path,
  line,
  column,
}: Omit<Reported, 'stack' | 'count'> & { deployId: string | null }): string {
  const words = message.replace(/\d+/g, '#')
  return createHash('sha256').update([deployId, path, line, column, words].join('\n')).digest('base64url').slice(0, 22)
}

const toRecord = ({ id, path, line, columnNumber, ...row }: GameErrorRow): StoredError => ({
  id,
  message: row.message,
  path: path ?? null,
  line: line ?? null,
  column: columnNumber ?? null,
  stack: row.stack ?? null,
  deployId: row.deployId ?? null,
  browser: row.browser,
  count: row.count,
  firstAt: row.firstAt.toISOString(),
  lastAt: row.lastAt.toISOString(),
})
