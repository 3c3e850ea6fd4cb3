import type { CallOptions, Connection } from './connection.ts'
import { type List, list } from './lists.ts'
import type { Answer, Body, Query } from './types.ts'

export type Game = Answer<'/api/games/{id}', 'get'>
/** A created game with the client secret of its OAuth application, which is returned only this once. */
export type CreatedGame = Answer<'/api/games', 'post'>
export type NewGame = Body<'/api/games', 'post'>
export type GameChanges = Body<'/api/games/{id}', 'patch'>
export type GameAnalytics = Answer<'/api/games/{id}/analytics', 'get'>
export type GameLogLine = Answer<'/api/games/{id}/logs', 'get'>['lines'][number]
export type CatalogQuery = Query<'/api/catalog/games', 'get'>
export type CatalogGame = Answer<'/api/catalog/games', 'get'>['games'][number]
export type Caller = Answer<'/api/cli/whoami', 'get'>

const at = (idOrSlug: string) => `/api/games/${encodeURIComponent(idOrSlug)}`

/** Registers a game. Needs `games:write`. */
export const createGame = (connection: Connection, game: NewGame, options?: CallOptions): Promise<CreatedGame> =>
  connection.json('POST', '/api/games', { body: game, idempotent: true, ...options })

/** Fetches one of your games by id or slug. Needs `games:read`. */
export const getGame = (connection: Connection, idOrSlug: string, options?: CallOptions): Promise<Game> =>
  connection.json('GET', at(idOrSlug), options)

/** Lists your games, newest first. Needs `games:read`. */
export const listGames = (connection: Connection, options: CallOptions & { limit?: number } = {}): List<Game> =>
  list(connection, '/api/games', 'games', { query: { limit: options.limit }, signal: options.signal })

/** Changes the given fields. Needs `games:write`. */
export const updateGame = (
  connection: Connection,
  idOrSlug: string,
  changes: GameChanges,
  options?: CallOptions,
): Promise<Game> => connection.json('PATCH', at(idOrSlug), { body: changes, ...options })

/**
 * Deletes a game. It can be restored for 30 days. Needs `games:write`.
 *
 * @param options `forever` deletes it for good, whether it is deleted already or not; `confirm` is its slug, repeated
 */
export const deleteGame = (
  connection: Connection,
  idOrSlug: string,
  { signal, ...query }: CallOptions & { forever?: boolean; confirm?: string } = {},
): Promise<void> => connection.json('DELETE', at(idOrSlug), { query, signal })

/** Returns plays, players and sign-ins per day. @param options `from` and `to` as `2026-11-21`. Needs `games:read`. */
export const getGameAnalytics = (
  connection: Connection,
  idOrSlug: string,
  { signal, ...query }: CallOptions & { from?: string; to?: string } = {},
): Promise<GameAnalytics> => connection.json('GET', `${at(idOrSlug)}/analytics`, { query, signal })

/** Lists what the room scripts of a game have logged, newest first: the last 1,000 lines. Needs `games:read`. */
export const listGameLogs = (
  connection: Connection,
  idOrSlug: string,
  options: CallOptions & { limit?: number } = {},
): List<GameLogLine> =>
  list(connection, `${at(idOrSlug)}/logs`, 'lines', { query: { limit: options.limit }, signal: options.signal })

/**
 * A function for `createConnection` only, since few programs follow a log, and the client would grow for all.
 *
 * Yields the newest `limit` lines of room scripts, the oldest first, and then every further line until the signal is
 * aborted. Needs `games:read`.
 */
export async function* followGameLogs(
  connection: Connection,
  idOrSlug: string,
  { limit = 20, signal }: CallOptions & { limit?: number } = {},
): AsyncGenerator<GameLogLine> {
  const seen = new Set<string>()
  /** The id of the first line. Ids sort by time. */
  let first = ''
  // A stream ends after two minutes. The next one repeats lines, which are skipped.
  for (let count = limit; ; count = 100) {
    const query = { follow: true, limit: count }
    const headers = { accept: 'text/event-stream' }
    const response = await connection.send('GET', `${at(idOrSlug)}/logs`, { query, headers, signal })
    // A further stream begins with lines that may be older than the first one. Later, a line with a smaller id is one
    // that another node has stored after this node stored newer ones.
    let since = first
    for await (const { lines } of eventsOf<{ lines: GameLogLine[] }>(response, signal)) {
      for (const line of lines) {
        if (line.id < since || seen.has(line.id)) continue
        first ||= line.id
        if (seen.size >= MOST_SEEN) seen.delete(seen.values().next().value as string)
        seen.add(line.id)
        yield line
      }
      since = ''
    }
  }
}

/** More lines than the platform keeps of a game. */
const MOST_SEEN = 2000

/** Yields the data of server-sent events, until the stream ends or is cut. @throws the signal's reason */
async function* eventsOf<Data>(response: Response, signal: AbortSignal | undefined): AsyncGenerator<Data> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true as const, value: undefined }))
      signal?.throwIfAborted()
      if (done) return
      text += decoder.decode(value, { stream: true })
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1]
        text = text.slice(end + 2)
        if (data !== undefined) yield JSON.parse(data)
      }
    }
  } finally {
    // A caller that stops early ends the stream.
    await reader.cancel().catch(() => {})
  }
}

/** Lists the platform's public games. */
export const listCatalog = (
  connection: Connection,
  { signal, ...query }: CallOptions & CatalogQuery = {},
): List<CatalogGame> => list(connection, '/api/catalog/games', 'games', { query, signal })

/** Fetches the owner of the token. */
export const whoami = (connection: Connection, options?: CallOptions): Promise<Caller> =>
  connection.json('GET', '/api/cli/whoami', options)
