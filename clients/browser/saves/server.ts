import { SaveError } from './types.ts'
import type { Encoded } from './values.ts'

/** Browsers send larger bodies of closing pages to nobody. */
const KEEPALIVE_BYTES = 60_000
const TIMEOUT_MS = 30_000

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
  | { kind: 'signed-out' }
  | { kind: 'refused'; code: string; message: string }
  | { kind: 'unreachable'; retryAfterMs: number }

/** The server's part of saves, at the game's own origin. */
export class Server {
  /** What to add to the clock of this device for the server's time; null while it is unknown. */
  offset: number | null = null

  /** Returns the id of the signed-in player, '' for nobody; null when the server can't be reached. */
  async player(): Promise<string | null> {
    const answer = await this.#fetch('/auth/service/session', { headers: { accept: 'application/json' } })
    if (!answer?.ok) return null
    const session = (await answer.json()) as { signedIn: boolean; user?: { id: string } }
    return session.signedIn ? (session.user?.id ?? '') : ''
  }

  async list(player: string): Promise<string[] | null> {
    const answer = await this.#fetch('/__service/saves', { headers: { 'service-player': player } })
    if (!answer?.ok) return null
    const { saves } = (await answer.json()) as { saves: { key: string }[] }
    return saves.map(({ key }) => key)
  }

  /**
   * Reads a save.
   *
   * @param known a version that this device has already
   * @returns undefined when there is no such save; `same` when it is the known version
   * @throws SaveError with the code `offline`, or the server's
   */
  async get(player: string, key: string, known: number | null): Promise<Theirs | undefined | 'same'> {
    const headers: Record<string, string> = { 'service-player': player }
    if (known !== null) headers['if-none-match'] = `"${known}"`
    const answer = await this.#fetch(addressOf(key), { headers })
    if (answer?.status === 304) return 'same'
    if (answer?.ok) {
      return {
        bytes: await answer.arrayBuffer(),
        type: answer.headers.get('content-type') ?? '',
        version: Number(answer.headers.get('etag')?.slice(1, -1)),
        updatedAt: Date.parse(answer.headers.get('last-modified') ?? ''),
      }
    }
    if (!answer || answer.status >= 500) throw new SaveError('offline', 'The server can not be reached.')
    const { code, message } = await errorOf(answer)
    if (code === 'no_such_save') return undefined
    throw new SaveError(code, message)
  }

  /** @param base the version that the value was made from; null: there must be none */
  async put(player: string, key: string, { bytes, type }: Encoded, base: number | null): Promise<Outcome> {
    const condition = base === null ? { 'if-none-match': '*' } : { 'if-match': `"${base}"` }
    return this.#change(key, {
      method: 'PUT',
      headers: { 'service-player': player, 'content-type': type, ...condition },
      body: bytes,
      keepalive: bytes.byteLength < KEEPALIVE_BYTES,
    })
  }

  /** @param base null: whatever is there */
  async delete(player: string, key: string, base: number | null): Promise<Outcome> {
    const condition = base === null ? {} : { 'if-match': `"${base}"` }
    return this.#change(key, {
      method: 'DELETE',
      headers: { 'service-player': player, ...condition } as Record<string, string>,
      keepalive: true,
    })
  }

  async #change(key: string, request: RequestInit): Promise<Outcome> {
    const answer = await this.#fetch(addressOf(key), request)
    if (!answer) return { kind: 'unreachable', retryAfterMs: 0 }
    if (answer.status === 204) return { kind: 'gone' }
    if (answer.ok) {
      const written = (await answer.json().catch(() => null)) as { version: number } | null
      return written ? { kind: 'written', version: written.version } : { kind: 'unreachable', retryAfterMs: 0 }
    }
    const { code, message } = await errorOf(answer)
    if (code === 'save_conflict') return { kind: 'conflict' }
    if (code === 'no_such_save') return { kind: 'gone' }
    if (answer.status === 401 || code === 'other_player') return { kind: 'signed-out' }
    if (answer.status === 429 || (answer.status >= 500 && answer.status !== 507)) {
      return { kind: 'unreachable', retryAfterMs: 1000 * Number(answer.headers.get('retry-after') ?? 0) }
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

const addressOf = (key: string): string => `/__service/saves/${key}`

async function errorOf(answer: Response): Promise<{ code: string; message: string }> {
  const body = await answer.json().catch(() => null)
  return { code: body?.error?.code ?? 'internal', message: body?.error?.message ?? `The answer was ${answer.status}.` }
}
