import { retryAfter } from '../retry-after.ts'
import { ScorePlayer } from './player.ts'
import { newId, type Queued, ScoreQueue } from './queue.ts'
import { type ListOptions, ScoreError, type ScoreList, type Submitted } from './types.ts'

/** Dispatched on `window` when a board has changed by a score of this page. */
export const CHANGED = 'service:scores'

const DEFAULT_LIMIT = 10
/** The time between two attempts to send what is queued, in ms. */
const RETRY_MS = 30_000
const LONGEST_RETRY_S = 300
const TIMEOUT_MS = 30_000
/** The largest detail, as the platform takes it. */
const DETAIL_BYTES = 1024

export interface ListQuery extends ListOptions {
  limit?: number | undefined
  around?: 'me'
  cursor?: string
}

/** Reads and writes boards by the game's own origin. */
export class ScoreClient {
  readonly #queue = new ScoreQueue()
  readonly #player = new ScorePlayer()
  #sending: Promise<void> = Promise.resolve()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor() {
    if (typeof addEventListener !== 'function') return
    addEventListener('online', () => this.#flush())
    // The player of a score that is sent later must be known while there is a connection.
    void this.#player.read()
    if (this.#queue.size > 0) this.#flush()
  }

  async submit(name: string, score: number, detail?: unknown): Promise<Submitted | null> {
    mustBeScore(score, detail)
    const made = { id: newId(), name, score, ...(detail === undefined ? {} : { detail }) }
    await this.#player.settle()
    // The player may have signed in elsewhere since.
    if (this.#player.id === '') await this.#player.read()
    // Who signs in while this is being sent has not made it.
    const player = this.#player.id
    if (player === '') throw new ScoreError('unauthorized', 'Sign in to be on the board.', null, 401)
    if (!(await this.#mustWait(name, player))) {
      try {
        return await this.#send({ ...made, player })
      } catch (error) {
        if (!(error instanceof ScoreError) || !isPassing(error)) throw error
        this.#later(error.retryAfter)
      }
    }
    this.#queue.add({ ...made, player })
    return null
  }

  /** Sends what is queued. @returns whether an earlier score of the board still waits, which must not come after it */
  async #mustWait(name: string, player: string | null): Promise<boolean> {
    if (this.#queue.size === 0) return false
    this.#flush()
    await this.#sending
    const waiting = player === null ? this.#queue.all() : this.#queue.of(player)
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

  /** Sends a score. A server of an earlier version refuses the id, which it does not know, and then gets none. */
  async #send({ id, name, score, detail, player }: Queued): Promise<Submitted> {
    const made = { score, ...(detail === undefined ? {} : { detail }) }
    const post = (body: object) =>
      ask<Submitted>(addressOf(name), {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(player === null ? {} : { 'service-player': player }) },
        body: JSON.stringify(body),
      })
    const submitted = await post({ ...made, submissionId: id }).catch((error: ScoreError) => {
      if (error.code !== 'invalid_request') throw error
      return post(made)
    })
    if (typeof dispatchEvent === 'function') dispatchEvent(new CustomEvent(CHANGED, { detail: { name } }))
    return submitted
  }

  /** Sends what is queued for the player who is signed in, one tab at a time. */
  #flush(): void {
    this.#sending = this.#sending.then(() => alone(() => this.#sendQueued())).catch(() => this.#later())
  }

  async #sendQueued(): Promise<void> {
    const session = await this.#player.read()
    if (!session) return this.#later()
    if (!session.user) return
    this.#queue.claim(session.user.id)
    for (const queued of this.#queue.of(session.user.id)) {
      try {
        await this.#send(queued)
      } catch (error) {
        if (!(error instanceof ScoreError)) throw error
        // A refusal is final. The others wait for a connection, the rate limit, a repair or a sign-in.
        if (isPassing(error) || error.code === 'rate_limited' || error.status === 401) {
          return this.#later(error.retryAfter)
        }
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
    answer = await fetch(url, { cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS), ...init })
  } catch {
    throw new ScoreError('offline', 'There is no connection.')
  }
  const body = (await answer.json().catch(() => null)) as
    | (Answer & { error?: { code?: string; message?: string } })
    | null
  if (answer.ok && body) return body
  // Proxies, hotels' networks and a game's own service worker answer in the place of the platform.
  if (answer.status >= 502 || answer.ok || !body?.error)
    throw new ScoreError('offline', 'The platform is not available.', null, answer.status)
  const seconds = retryAfter(answer)
  const { code = 'failed', message = `The platform answered with ${answer.status}.` } = body.error
  throw new ScoreError(code, message, seconds ? Math.min(seconds, LONGEST_RETRY_S) : null, answer.status)
}

/**
 * Whether the platform may take the score later: there is no connection, the platform has failed, the game is suspended,
 * or another player is signed in.
 */
const isPassing = ({ code, status }: ScoreError): boolean =>
  code === 'offline' || code === 'other_player' || status === 451 || (status ?? 0) >= 500

/** What the platform would refuse is refused without a connection too. @throws TypeError, ScoreError */
function mustBeScore(score: number, detail: unknown): void {
  if (typeof score !== 'number' || !Number.isFinite(score)) throw new TypeError('A score is a finite number.')
  if (detail === undefined) return
  const text = JSON.stringify(detail)
  if (text === undefined) throw new TypeError('The detail of a score is something that JSON can express.')
  if (new TextEncoder().encode(text).byteLength > DETAIL_BYTES)
    throw new ScoreError(
      'payload_too_large',
      `The detail of a score is at most ${DETAIL_BYTES} bytes of JSON.`,
      null,
      413,
    )
}

/** Runs work while no other tab of the game does. A browser without locks runs it at once. */
async function alone(work: () => Promise<void>): Promise<void> {
  await (navigator.locks ? navigator.locks.request('service.scores', work) : work())
}
