import type { CallOptions, Connection } from './connection.ts'
import { type List, list } from './lists.ts'
import type { Answer, Body, Query } from './types.ts'

export type Game = Answer<'/api/games/{id}', 'get'>
/** A created game with the client secret of its OAuth application, which is returned only this once. */
export type CreatedGame = Answer<'/api/games', 'post'>
export type NewGame = Body<'/api/games', 'post'>
export type GameChanges = Body<'/api/games/{id}', 'patch'>
export type GameAnalytics = Answer<'/api/games/{id}/analytics', 'get'>
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

/** Deletes a game. It can be restored for 30 days. Needs `games:write`. */
export const deleteGame = (connection: Connection, idOrSlug: string, options?: CallOptions): Promise<void> =>
  connection.json('DELETE', at(idOrSlug), options)

/** Returns plays, players and sign-ins per day. @param options `from` and `to` as `2026-11-21`. Needs `games:read`. */
export const getGameAnalytics = (
  connection: Connection,
  idOrSlug: string,
  { signal, ...query }: CallOptions & { from?: string; to?: string } = {},
): Promise<GameAnalytics> => connection.json('GET', `${at(idOrSlug)}/analytics`, { query, signal })

/** Lists the platform's public games. */
export const listCatalog = (
  connection: Connection,
  { signal, ...query }: CallOptions & CatalogQuery = {},
): List<CatalogGame> => list(connection, '/api/catalog/games', 'games', { query, signal })

/** Fetches the owner of the token. */
export const whoami = (connection: Connection, options?: CallOptions): Promise<Caller> =>
  connection.json('GET', '/api/cli/whoami', options)
