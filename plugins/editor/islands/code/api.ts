import type { Comparison, Draft, DraftState, WrittenFile } from '../../schemas.ts'

/** A refused request. */
export class Refused extends Error {
  readonly status: number
  readonly code: string
  /** The whole answer, such as `revision` and `updatedBy` of a conflict. */
  readonly body: Record<string, unknown>

  constructor(status: number, body: { error?: { message?: string; code?: string } } & Record<string, unknown>) {
    super(body.error?.message ?? `The server answered with status ${status}.`)
    this.status = status
    this.code = body.error?.code ?? ''
    this.body = body
  }
}

/** The API of one game's draft. A method throws `Refused`, or `TypeError` without a connection. */
export class DraftApi {
  readonly #game: string

  /** @param gameId the game's id */
  constructor(gameId: string) {
    this.#game = `/api/games/${gameId}`
  }

  read = (): Promise<Draft> => this.#json('GET', '/draft')
  rename = (from: string, to: string): Promise<DraftState> => this.#json('POST', '/draft/rename', { from, to })
  setRoom = (room: string | null): Promise<DraftState> => this.#json('PATCH', '/draft', { room })
  rebase = (): Promise<Draft> => this.#json('POST', '/draft/rebase', {})
  discard = (): Promise<void> => this.#json('DELETE', '/draft')
  publish = (message: string): Promise<{ deployId: string; playUrl: string }> =>
    this.#json('POST', '/draft/publish', message ? { message } : {})
  compare = (query: { from?: string; to?: string } = {}): Promise<Comparison> =>
    this.#json('GET', `/diff?${new URLSearchParams(query)}`)
  deploys = (): Promise<{ deploys: { id: string; message: string | null; state: string; createdAt: string }[] }> =>
    this.#json('GET', '/deploys?limit=20')

  /** The address of a file, for pictures and sounds. */
  addressOf = (path: string): string => `${this.#game}/draft/files/${encodeURIComponent(path)}`

  async readText(path: string): Promise<{ text: string; revision: number }> {
    const response = await this.#send('GET', this.addressOf(path))
    return { text: await response.text(), revision: Number(response.headers.get('x-draft-revision')) }
  }

  /** @param seen the revision that the author has seen; null for a file that must not exist; undefined for any */
  async write(path: string, content: string | Blob, seen?: number | null): Promise<WrittenFile> {
    const condition: Record<string, string> =
      seen === undefined ? {} : seen === null ? { 'if-none-match': '*' } : { 'if-match': `"${seen}"` }
    const headers = { 'content-type': 'application/octet-stream', ...condition }
    return (await this.#send('PUT', this.addressOf(path), content, headers)).json()
  }

  async remove(path: string): Promise<DraftState> {
    return (await this.#send('DELETE', this.addressOf(path))).json()
  }

  async #json<Result>(method: string, path: string, body?: unknown): Promise<Result> {
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await this.#send(method, this.#game + path, body && JSON.stringify(body), headers)
    return (response.status === 204 ? undefined : await response.json()) as Result
  }

  async #send(method: string, url: string, body?: BodyInit | unknown, headers: Record<string, string> = {}) {
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: body as BodyInit }) })
    if (!response.ok) throw new Refused(response.status, await response.json().catch(() => ({})))
    return response
  }
}
