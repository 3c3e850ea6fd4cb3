import { retryAfter } from '../retry-after.ts'
import { SaveError } from './types.ts'
import type { Encoded } from './values.ts'

/** Browsers send larger bodies of closing pages to nobody. */
const KEEPALIVE_BYTES = 60_000
const TIMEOUT_MS = 30_000
/** A game that begins waits for this answer. */
const SESSION_TIMEOUT_MS = 10_000

const LONGEST_RETRY_AFTER_MS = 300_000
/** Proxies rewrite entity tags and preconditions, and leave this header alone. */
const VERSION_HEADER = 'service-save-version'

/** The current value of a save on the server. */
export interface Theirs extends Encoded {
  version: number
  updatedAt: number
}

/** The result of a change: written, refused because of another version, or not (yet) possible. */
export type Outcome =
  | { kind: 'written'; version: number }
  | { kind: 'gone' }
  | { kind: 'conflict' }
  | { kind: 'signed-out'; code: string; message: string }
  | { kind: 'refused'; code: string; message: string }
  | { kind: 'unreachable'; retryAfterMs: number; code: string; message: string }

/** The server's part of saves, at the game's own origin. */
export class Server {
  /** What to add to the clock of this device for the server's time; null while it is unknown. */
  offset: number | null = null
  #isPageHidden = false

  constructor() {
    globalThis.addEventListener?.('pagehide', () => {
      this.#isPageHidden = true
    })
    globalThis.addEventListener?.('pageshow', () => {
      this.#isPageHidden = false
    })
  }

  /** Whether the page may be closing. Its requests are cancelled with it, unless they say otherwise. */
  get isClosing(): boolean {
    return this.#isPageHidden || globalThis.document?.visibilityState === 'hidden'
  }

  /** Returns the id of the signed-in player, '' for nobody; null when the server can't be reached. */
  async player(): Promise<string | null> {
    const answer = await this.#fetch('/auth/service/session', {
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(SESSION_TIMEOUT_MS),
    })
    if (!answer?.ok) return null
    const session = await jsonOf<{ signedIn: boolean; user?: { id: string } }>(answer)
    if (typeof session?.signedIn !== 'boolean') return null
    return session.signedIn ? (session.user?.id ?? '') : ''
  }

  async list(player: string): Promise<string[] | null> {
    const answer = await this.#fetch('/__service/saves', { headers: { 'service-player': player } })
    if (!answer?.ok) return null
    const list = await jsonOf<{ saves: { key: string }[] }>(answer)
    return Array.isArray(list?.saves) ? list.saves.map(({ key }) => key) : null
  }

  /**
   * Reads a save.
   *
   * @param known a version that this device has already
   * @returns undefined when there is no such save; `same` when it is the known version
   * @throws SaveError with the code `offline`, or the server's
   */
  async get(player: string, key: string, known: number | null): Promise<Theirs | undefined | 'same'> {
    // The console of the browser shows an answer of 404 as an error, and most saves are absent at first.
    if (known === null) {
      const keys = await this.list(player)
      if (keys && !keys.includes(key)) return undefined
    }
    const headers: Record<string, string> = { 'service-player': player }
    if (known !== null) headers['if-none-match'] = `"${known}"`
    const answer = await this.#fetch(addressOf(key), { headers })
    if (answer?.status === 304) return 'same'
    if (answer?.ok) {
      const version = versionOf(answer)
      const bytes = await answer.arrayBuffer().catch(() => null)
      // A service worker or the page of a hotel's network may answer for the server.
      if (!bytes || version === null) throw unreachable()
      return {
        bytes,
        type: answer.headers.get('content-type') ?? '',
        version,
        updatedAt: Date.parse(answer.headers.get('last-modified') ?? ''),
      }
    }
    if (!answer || answer.status >= 500) throw unreachable()
    const { code, message } = await errorOf(answer)
    if (code === 'no_such_save') return undefined
    throw new SaveError(code, message)
  }

  /**
   * @param base the version that the value was made from; null: there must be none
   * @param isConflict as in `Pending`
   */
  async put(
    player: string,
    key: string,
    { bytes, type }: Encoded,
    base: number | null,
    isConflict = false,
  ): Promise<Outcome> {
    const condition = base === null ? { 'if-none-match': '*' } : { 'if-match': `"${base}"` }
    const version = { [VERSION_HEADER]: String(base ?? 0), ...(isConflict ? { 'service-save-conflict': '1' } : {}) }
    return this.#change(key, {
      method: 'PUT',
      headers: { 'service-player': player, 'content-type': type, ...condition, ...version },
      body: bytes,
      keepalive: this.isClosing && bytes.byteLength < KEEPALIVE_BYTES,
    })
  }

  /** @param base null: whatever is there */
  async delete(player: string, key: string, base: number | null): Promise<Outcome> {
    const condition = base === null ? {} : { 'if-match': `"${base}"`, [VERSION_HEADER]: String(base) }
    return this.#change(key, {
      method: 'DELETE',
      headers: { 'service-player': player, ...condition } as Record<string, string>,
      keepalive: this.isClosing,
    })
  }

  async #change(key: string, request: RequestInit): Promise<Outcome> {
    const answer = await this.#fetch(addressOf(key), request)
    if (!answer) return OFFLINE
    if (answer.status === 204) return { kind: 'gone' }
    if (answer.ok) {
      const written = await jsonOf<{ version: number }>(answer)
      if (!Number.isInteger(written?.version)) return NO_SERVER
      return { kind: 'written', version: written?.version as number }
    }
    const { code, message } = await errorOf(answer)
    if (code === 'save_conflict') return { kind: 'conflict' }
    if (code === 'no_such_save') return { kind: 'gone' }
    if (answer.status === 401 || code === 'other_player') return { kind: 'signed-out', code, message }
    if (answer.status === 429 || (answer.status >= 500 && answer.status !== 507)) {
      return { kind: 'unreachable', retryAfterMs: retryAfterMs(answer), code, message }
    }
    return { kind: 'refused', code, message }
  }

  /** @returns null when the server can't be reached */
  async #fetch(path: string, request: RequestInit): Promise<Response | null> {
    if (globalThis.navigator?.onLine === false) return null
    try {
      const answer = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS), ...request })
      const date = Date.parse(answer.headers.get('date') ?? '')
      if (path !== '/auth/service/session' && !Number.isNaN(date)) this.offset = date - Date.now()
      return answer
    } catch {
      return null
    }
  }
}

const OFFLINE = { kind: 'unreachable', retryAfterMs: 0, code: 'offline', message: 'There is no connection.' } as const
const NO_SERVER = { ...OFFLINE, message: 'Something else than the server has answered.' }

const unreachable = () => new SaveError('offline', 'The server cannot be reached.')

/** @returns null for an answer that breaks off, or is not the server's */
const jsonOf = <Body>(answer: Response): Promise<Body | null> => answer.json().catch(() => null)

/** @returns null for an answer that names no version */
function versionOf({ headers }: Response): number | null {
  const tag = /^(?:W\/)?"([1-9][0-9]*)(?:[-;.:]+[A-Za-z]+)*"$/.exec(headers.get('etag') ?? '')
  return Number(headers.get(VERSION_HEADER) ?? tag?.[1]) || null
}

const retryAfterMs = (answer: Response): number => Math.min(1000 * (retryAfter(answer) ?? 0), LONGEST_RETRY_AFTER_MS)

const addressOf = (key: string): string => `/__service/saves/${key}`

async function errorOf(answer: Response): Promise<{ code: string; message: string }> {
  const body = await answer.json().catch(() => null)
  return { code: body?.error?.code ?? 'internal', message: body?.error?.message ?? `The answer was ${answer.status}.` }
}
