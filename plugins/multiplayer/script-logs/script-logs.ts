import type { SqlEntityManager } from '@mikro-orm/sql'
import type { FastifyInstance } from 'fastify'
import { SESSION_MS, type Stream } from '../../../core/http/event-streams.ts'
import { cutPage, mustBeCursor, type PageQuery } from '../../../core/http/pagination.ts'
import { firstId, newId } from '../../../core/ids.ts'
import type { ScriptLogLine, ScriptLogs } from '../scripts/interface.ts'
import { RoomLogLine } from './entities.ts'
import type { LogLine } from './schemas.ts'
import { sourcesOf } from './sources.ts'

declare module '../../../core/events.ts' {
  interface DomainEvents {
    /** Room scripts of a game have logged. */
    'rooms.logged': { gameId: string }
  }
}

/** The number of kept lines of a game. */
const KEPT = 1000
/** Lines are written together after this time. */
const COLLECT_MS = 250
/** The lines of all rooms of one game on one node. Beyond it, lines are dropped. Each room has a lower limit. */
const RATE = { perSecond: 200, atOnce: 1000 }
/** The maximum number of unwritten lines of all games, such as while the database is away. */
const MOST_PENDING = 20_000
const LONGEST_TEXT = 2000
const LONGEST_STACK = 4000
/** Another node writes its lines up to this time after they were made. Streams look back as far. */
const LATEST_MS = 10_000

type Parts = Pick<FastifyInstance, 'db' | 'clock' | 'events' | 'eventStreams' | 'log' | 'deploys'>

interface Pending {
  lines: RoomLogLine[]
  /** Lines that may still be added at once, and the time of that count in ms. */
  left: number
  countedAt: number
  dropped: number
}

/**
 * The logs of room scripts: the last thousand lines of each game. Lines are collected in memory and written together. A
 * crash loses those of the last moment.
 */
export class StoredScriptLogs implements ScriptLogs {
  readonly #parts: Parts
  readonly #pending = new Map<string, Pending>()
  #size = 0
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(parts: Parts) {
    this.#parts = parts
    parts.events.on('rooms.logged', ({ gameId }) => {
      parts.eventStreams.wake(streamKey(gameId))
    })
    parts.events.on('game.purged', ({ gameId }) => this.#drop(gameId))
  }

  append(gameId: string, lines: ScriptLogLine[]): void {
    const now = this.#parts.clock.now()
    const pending = this.#pendingOf(gameId, now.getTime())
    for (const line of lines) {
      if (pending.left < 1 || this.#size >= MOST_PENDING) {
        pending.dropped++
        continue
      }
      pending.left--
      pending.lines.push(rowOf(gameId, line, now))
      this.#size++
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

  /** Lists the lines of a game, newest first. */
  async list(gameId: string, { limit, cursor }: PageQuery): Promise<{ lines: LogLine[]; nextCursor: string | null }> {
    const last = mustBeCursor('log', cursor)
    const before = last ? { id: { $lt: last } } : {}
    const rows = await this.#parts.db
      .em()
      .find(RoomLogLine, { gameId, ...before }, { orderBy: { id: 'desc' }, limit: limit + 1 })
    const { page, nextCursor } = cutPage(rows, limit)
    return { lines: await this.#linesOf(gameId, page), nextCursor }
  }

  /** Returns a stream of the newest lines and then of every further one, the oldest first. */
  follow(gameId: string, limit: number): Stream {
    const seen = new Set<string>()
    let last: { lines: LogLine[] } | null = null
    let lookedAt = Infinity
    const look = async () => {
      const now = this.#parts.clock.now().getTime()
      // On a busy machine the last time may be long ago.
      const recent = await this.#since(gameId, Math.min(now, lookedAt) - LATEST_MS)
      lookedAt = now
      const first = last === null ? (await this.list(gameId, { limit })).lines.reverse() : null
      const unseen = first ?? recent.filter(({ id }) => !seen.has(id))
      if (seen.size > 2 * KEPT) seen.clear()
      for (const { id } of [...recent, ...unseen]) seen.add(id)
      // The same message again is not sent.
      if (last === null || unseen.length > 0) last = { lines: unseen }
      return { event: 'lines', data: last }
    }
    return { key: streamKey(gameId), look, longestMs: SESSION_MS }
  }

  /** Runs in the transaction that permanently deletes a game. */
  async ofGame(em: SqlEntityManager, gameId: string): Promise<void> {
    this.#drop(gameId)
    await em.nativeDelete(RoomLogLine, { gameId })
  }

  /** Returns the lines since a time in ms since 1970, the oldest first. */
  async #since(gameId: string, time: number): Promise<LogLine[]> {
    const from = firstId('log', new Date(time))
    const rows = await this.#parts.db
      .em()
      .find(RoomLogLine, { gameId, id: { $gte: from } }, { orderBy: { id: 'asc' }, limit: KEPT })
    return this.#linesOf(gameId, rows)
  }

  async #linesOf(gameId: string, rows: readonly RoomLogLine[]): Promise<LogLine[]> {
    const sources = await sourcesOf(rows, (deployId, places) =>
      this.#parts.deploys.roomScripts.locate(gameId, deployId, places),
    )
    return rows.map((row) => lineOf(row, sources.get(row.id) ?? null))
  }

  #pendingOf(gameId: string, now: number): Pending {
    const pending = this.#pending.get(gameId) ?? { lines: [], left: RATE.atOnce, countedAt: now, dropped: 0 }
    this.#pending.set(gameId, pending)
    const seconds = Math.max(0, now - pending.countedAt) / 1000
    pending.left = Math.min(RATE.atOnce, pending.left + seconds * RATE.perSecond)
    pending.countedAt = now
    return pending
  }

  #drop(gameId: string): void {
    this.#size -= this.#pending.get(gameId)?.lines.length ?? 0
    this.#pending.delete(gameId)
  }

  async #flush(): Promise<void> {
    const { db, clock, events, log } = this.#parts
    const now = clock.now()
    const taken = new Map<string, RoomLogLine[]>()
    for (const [gameId, pending] of this.#pending) {
      if (pending.dropped > 0) pending.lines.push(droppedLine(gameId, pending, now))
      pending.dropped = 0
      if (pending.lines.length > 0) taken.set(gameId, pending.lines.slice(-KEPT))
      this.#size -= pending.lines.length
      pending.lines = []
      // A game that has been quiet needs no count.
      if (this.#pendingOf(gameId, now.getTime()).left >= RATE.atOnce) this.#pending.delete(gameId)
    }
    if (taken.size === 0) return
    try {
      await db.transaction(async (em) => {
        for (const [gameId, lines] of taken) await write(em, gameId, lines)
      })
    } catch (error) {
      // A log is worth no queue that grows while the database is away.
      log.warn({ err: error }, 'lines of room scripts could not be stored; they are lost')
      return
    }
    for (const gameId of taken.keys()) await events.emit('rooms.logged', { gameId })
  }
}

const streamKey = (gameId: string): string => `room logs of ${gameId}`

/** Inserts the lines of a game, and deletes all but its newest. A purged game gets none. */
async function write(em: SqlEntityManager, gameId: string, lines: RoomLogLine[]): Promise<void> {
  const [game] = await em.execute<{ id: string }[]>('select id from games where id = ?', [gameId])
  if (!game) return
  await em.insertMany(RoomLogLine, lines)
  await em.execute(
    `delete from room_log_lines where game_id = ? and id <=
       (select id from room_log_lines where game_id = ? order by id desc limit 1 offset ${KEPT})`,
    [gameId, gameId],
    'run',
  )
}

function rowOf(gameId: string, line: ScriptLogLine, now: Date): RoomLogLine {
  return {
    id: newId('log', now),
    gameId,
    at: new Date(line.at),
    level: line.level,
    roomId: line.roomId,
    deployId: line.deployId,
    text: storable(line.text, LONGEST_TEXT),
    line: line.line ?? null,
    columnNumber: line.column ?? null,
    stack: line.stack === undefined ? null : storable(line.stack, LONGEST_STACK),
  } as RoomLogLine
}

/** Returns a text that every database can store: PostgreSQL refuses NUL and half a surrogate pair. */
const storable = (text: string, longest: number): string =>
  (text.length > longest ? `${text.slice(0, longest)}…` : text).replaceAll('\0', '�').toWellFormed()

function droppedLine(gameId: string, { lines, dropped }: Pending, now: Date): RoomLogLine {
  const { roomId = '', deployId = '' } = lines.at(-1) ?? {}
  const text = `${dropped} lines were dropped: the rooms of a game may log ${RATE.perSecond} lines a second.`
  return rowOf(gameId, { at: now.getTime(), level: 'error', roomId, deployId, text }, now)
}

const lineOf = (
  { id, at, level, roomId, deployId, text, line, columnNumber, stack }: RoomLogLine,
  source: LogLine['source'],
): LogLine => ({
  id,
  at: at.toISOString(),
  level,
  roomId,
  deployId,
  text,
  line: line ?? null,
  column: columnNumber ?? null,
  stack: stack ?? null,
  source,
})
