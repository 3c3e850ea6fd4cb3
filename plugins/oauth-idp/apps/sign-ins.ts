import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import { type Database, deleteInBatches, type Statements } from '../../../core/data/database.ts'
import { inPages } from '../../../core/http/pagination.ts'
import type { Players } from '../players/players.ts'
import { fieldError } from '../players/profile.ts'

const FLUSH_MS = 2000
const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
const MOST_DAYS = 366
/** One year, and one month to export the complete year. */
const KEPT_DAYS = 400
const CLIENTS_AT_ONCE = 50
const PLAYERS_AT_ONCE = 500

/** The sign-ins of one day to an application. */
export interface SignInDay {
  /** UTC date, such as `2026-11-21`. */
  date: string
  count: number
  uniquePlayers: number
}

interface SignInCount {
  clientId: string
  date: string
  playerId: string
  count: number
}

const keyOf = ({ clientId, date, playerId }: Omit<SignInCount, 'count'>) => `${clientId}/${date}/${playerId}`

/**
 * Counts players' sign-ins to applications, in memory, and writes them together every two seconds, so that no sign-in
 * waits for it. A killed process loses the counts since the last write.
 */
export class SignIns {
  readonly #db: Database
  readonly #clock: Clock
  readonly #log: FastifyBaseLogger
  readonly #players: Pick<Players, 'lockPresent'>
  #counts = new Map<string, SignInCount>()
  #timer: NodeJS.Timeout | null = null

  constructor({
    db,
    clock,
    log,
    players,
  }: {
    db: Database
    clock: Clock
    log: FastifyBaseLogger
    players: Pick<Players, 'lockPresent'>
  }) {
    this.#db = db
    this.#players = players
    this.#clock = clock
    this.#log = log
  }

  count(clientId: string, playerId: string): void {
    this.#add({ clientId, date: dayOf(this.#clock.now()), playerId, count: 1 })
  }

  #add({ clientId, date, playerId, count }: SignInCount): void {
    const key = keyOf({ clientId, date, playerId })
    const before = this.#counts.get(key)?.count ?? 0
    this.#counts.set(key, { clientId, date, playerId, count: before + count })
    this.#timer ??= setTimeout(() => {
      this.flush().catch((error) =>
        this.#log.warn({ err: error }, 'sign-ins could not be stored; the next flush repeats it'),
      )
    }, FLUSH_MS).unref()
  }

  /** Writes the counts. After an error, the next flush writes them. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const counts = [...this.#counts.values()]
    this.#counts = new Map()
    if (counts.length === 0) return
    // All nodes write in the same order, which prevents deadlocks.
    counts.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    try {
      await this.#db.groupCommit(async (statements) => {
        // An account may have ended since. Nothing is written that names its player.
        const present = await this.#presentOf(statements, counts)
        for (const { clientId, date, playerId, count } of counts) {
          if (present.has(playerId)) await statements.execute(ADD, [clientId, date, playerId, count])
        }
      })
    } catch (error) {
      for (const count of counts) this.#add(count)
      throw error
    }
  }

  async #presentOf(statements: Statements, counts: readonly SignInCount[]): Promise<ReadonlySet<string>> {
    const ids = [...new Set(counts.map(({ playerId }) => playerId))].sort()
    const present = new Set<string>()
    for (let from = 0; from < ids.length; from += PLAYERS_AT_ONCE) {
      const some = await this.#players.lockPresent(statements, ids.slice(from, from + PLAYERS_AT_ONCE))
      for (const id of some) present.add(id)
    }
    return present
  }

  /** Deletes counts that are more than 400 days old. */
  async sweep(signal?: AbortSignal): Promise<void> {
    const first = dayOf(new Date(this.#clock.now().getTime() - KEPT_DAYS * DAY_MS))
    const where = 'client_id = ? and date < ?'
    for (let after = ''; !signal?.aborted; ) {
      const clients = await this.#db.query<{ id: string; old: number }>(CLIENTS, [first, after, CLIENTS_AT_ONCE])
      for (const { id, old } of clients) {
        if (!old) continue
        const key = ['client_id', 'date', 'player_id']
        await deleteInBatches(this.#db, { table: 'oauth_sign_ins', key, where, parameters: [id, first] }, signal)
      }
      const last = clients.at(-1)
      if (clients.length < CLIENTS_AT_ONCE || !last) return
      after = last.id
      await nextTurn()
    }
  }

  /** Exports the days on which a player signed in to applications, in pages. */
  async *export(playerId: string): AsyncGenerator<unknown[]> {
    const pages = inPages<{ client_id: string; date: string; count: number }>((after, limit) =>
      this.#db.query(
        `select client_id, date, count from oauth_sign_ins where player_id = ?
         ${after ? 'and (client_id, date) > (?, ?)' : ''} order by client_id, date limit ?`,
        [playerId, ...(after ? [after.client_id, after.date] : []), limit],
      ),
    )
    for await (const days of pages)
      yield days.map(({ client_id: clientId, date, count }) => ({ clientId, date, count }))
  }

  /** Returns each day from `from` to `to` (UTC dates, both included) with its count. */
  async between(clientId: string, from: string, to: string): Promise<{ signIns: SignInDay[]; total: number }> {
    await this.flush()
    const rows = await this.#db.query<{ date: string; count: number; players: number }>(SUM, [clientId, from, to])
    const known = new Map(rows.map((row) => [row.date, row]))
    const signIns: SignInDay[] = []
    for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
      const date = dayOf(new Date(at))
      const row = known.get(date)
      signIns.push({ date, count: Number(row?.count ?? 0), uniquePlayers: Number(row?.players ?? 0) })
    }
    return { signIns, total: signIns.reduce((sum, { count }) => sum + count, 0) }
  }
}

/** Parses the days of a query. @throws InvalidRequest for an empty range, or one of more than a year */
export function daysAsked({ from, to }: { from?: string; to?: string }, now: Date): { from: string; to: string } {
  const last = to ?? dayOf(now)
  const first = from ?? dayOf(new Date(Date.parse(last) - (DEFAULT_DAYS - 1) * DAY_MS))
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1
  if (days < 1) throw fieldError('from', 'The first day comes after the last.')
  if (days > MOST_DAYS) throw fieldError('from', `Ask for ${MOST_DAYS} days at most.`)
  return { from: first, to: last }
}

/** Returns the UTC date of an instant. */
export const dayOf = (at: Date): string => at.toISOString().slice(0, 10)

const ADD = `insert into oauth_sign_ins (client_id, date, player_id, count) values (?, ?, ?, ?)
  on conflict (client_id, date, player_id) do update set count = oauth_sign_ins.count + excluded.count`
const CLIENTS = `select client_id as id, case when exists
    (select 1 from oauth_sign_ins s where s.client_id = oauth_apps.client_id and s.date < ?) then 1 else 0 end as old
  from oauth_apps where client_id > ? order by client_id limit ?`
const SUM = `select date, sum(count) as count, count(*) as players from oauth_sign_ins
  where client_id = ? and date >= ? and date <= ? group by date`
