import { readSession, type Session } from '../player/session.ts'
import { type Queued, ScoreQueue } from './queue.ts'
import { type ListOptions, ScoreError, type ScoreList, type Submitted } from './types.ts'

/** Dispatched on `window` when a board has changed by a score of this page. */
export const CHANGED = 'service:scores'

const DEFAULT_LIMIT = 10
/** The time between two attempts to send what is queued, in ms. */
const RETRY_MS = 30_000

export interface ListQuery extends ListOptions {
  limit?: number | undefined
  around?: 'me'
  cursor?: string
}

/** Reads and writes boards by the game's own origin. */
export class ScoreClient {
  readonly #queue = new ScoreQueue()
  #session: Promise<Session | null> | null = null
  #sending: Promise<void> = Promise.resolve()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor() {
    if (typeof addEventListener !== 'function') return
    addEventListener('online', () => this.#flush())
    if (this.#queue.size > 0) this.#flush()
  }

  async submit(name: string, score: number, detail?: unknown): Promise<Submitted | null> {
    // The player of a score that is sent later must be known while there is a connection.
    this.#session ??= readSession()
    const body = { score, ...(detail === undefined ? {} : { detail }) }
    if (!(await this.#mustWait(name))) {
      try {
        return await this.#send(name, body)
      } catch (error) {
        if (!(error instanceof ScoreError && error.code === 'offline')) throw error
        this.#later()
      }
    }
    const player = (await this.#session)?.user?.id ?? null
    this.#queue.add({ name, ...body, player, at: Date.now() })
    return null
  }

  /** Sends what is queued. @returns whether an earlier score of the board still waits, which must not come after it */
  async #mustWait(name: string): Promise<boolean> {
    if (this.#queue.size === 0) return false
    this.#flush()
    await this.#sending
    const session = await this.#session
    if (session && !session.user) return false
    const waiting = session?.user ? this.#queue.of(session.user.id) : this.#queue.all()
    return waiting.some((queued) => queued.name === name)
  }

  list(name: string, { limit = DEFAULT_LIMIT, period, around, cursor }: ListQuery): Promise<ScoreList> {
    const query = new URLSearchParams({ limit: String(limit) })
    if (period) query.set('period', period)
    if (around) query.set('around', around)
    if (cursor) query.set('cursor', cursor)
    return ask<ScoreList>(`${addressOf(name)}?${query}`)
  }

  async more(name: string, { entries, nextCursor }: ScoreList, options: ListOptions = {}): Promise<ScoreList | null> {
    return nextCursor === null ? null : this.list(name, { ...options, limit: entries.length, cursor: nextCursor })
  }

  async #send(name: string, body: Pick<Queued, 'score' | 'detail'>): Promise<Submitted> {
    const submitted = await ask<Submitted>(addressOf(name), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (typeof dispatchEvent === 'function') dispatchEvent(new CustomEvent(CHANGED, { detail: { name } }))
    return submitted
  }

  /** Sends what is queued for the player who is signed in, one tab at a time. */
  #flush(): void {
    this.#sending = this.#sending.then(() => alone(() => this.#sendQueued())).catch(() => this.#later())
  }

  async #sendQueued(): Promise<void> {
    const session = await readSession()
    if (session) this.#session = Promise.resolve(session)
    if (!session) return this.#later()
    if (!session.user) return
    for (const queued of this.#queue.of(session.user.id)) {
      try {
        await this.#send(queued.name, {
          score: queued.score,
          ...(queued.detail === undefined ? {} : { detail: queued.detail }),
        })
      } catch (error) {
        if (!(error instanceof ScoreError)) throw error
        // A refusal is final. The others wait for a connection, the rate limit, a repair or a sign-in.
        if (!isRefusal(error)) return this.#later(error.retryAfter)
      }
      this.#queue.remove(queued)
    }
  }

  #later(seconds: number | null = null): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#flush(), seconds === null ? RETRY_MS : seconds * 1000)
  }
}

const addressOf = (name: string): string => `/__service/scores/${encodeURIComponent(name)}`

async function ask<Answer>(url: string, init?: RequestInit): Promise<Answer> {
  let answer: Response
  try {
    answer = await fetch(url, { cache: 'no-store', ...init })
  } catch {
    throw new ScoreError('offline', 'There is no connection.')
  }
  const body = (await answer.json().catch(() => null)) as
    | (Answer & { error?: { code?: string; message?: string } })
    | null
  if (answer.ok && body) return body
  if (answer.status >= 502 || answer.ok) throw new ScoreError('offline', 'The platform is not available.')
  const seconds = Number(answer.headers.get('retry-after'))
  const { code = 'failed', message = `The platform answered with ${answer.status}.` } = body?.error ?? {}
  throw new ScoreError(code, message, seconds > 0 ? seconds : null, answer.status)
}

/** Whether the platform will not take the score later either. */
const isRefusal = ({ code, status }: ScoreError): boolean =>
  code !== 'offline' && code !== 'rate_limited' && status !== 401 && (status ?? 0) < 500

/** Runs work while no other tab of the game does. A browser without locks runs it at once. */
async function alone(work: () => Promise<void>): Promise<void> {
  await (navigator.locks ? navigator.locks.request('service.scores', work) : work())
}
