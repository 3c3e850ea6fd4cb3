import type { CallOptions, Connection } from './connection.ts'
import { type List, list } from './lists.ts'
import type { Answer, Body, Query } from './types.ts'

export type Board = Answer<'/api/games/{id}/boards/{boardId}', 'get'>
export type BoardInput = Body<'/api/games/{id}/boards/{boardId}', 'put'>
export type ScoresQuery = Query<'/api/games/{id}/boards/{boardId}/scores', 'get'>
export type ScoreEntry = Answer<'/api/games/{id}/boards/{boardId}/scores', 'get'>['entries'][number]

const at = (idOrSlug: string, ...parts: string[]) =>
  ['/api/games', idOrSlug, 'boards', ...parts]
    .map((part, index) => (index === 0 ? part : encodeURIComponent(part)))
    .join('/')

/** Lists the boards of your game. Needs `games:read`. */
export const listBoards = async (connection: Connection, idOrSlug: string, options?: CallOptions): Promise<Board[]> =>
  (await connection.json<{ boards: Board[] }>('GET', at(idOrSlug), options)).boards

/** Makes a board, or changes the given fields of it. Needs `games:write`. */
export const putBoard = (
  connection: Connection,
  idOrSlug: string,
  boardId: string,
  board: BoardInput,
  options?: CallOptions,
): Promise<Board> => connection.json('PUT', at(idOrSlug, boardId), { body: board, ...options })

/** Removes a board with its scores. Needs `games:write`. */
export const deleteBoard = (
  connection: Connection,
  idOrSlug: string,
  boardId: string,
  options?: CallOptions,
): Promise<void> => connection.json('DELETE', at(idOrSlug, boardId), options)

/** Lists the scores of a board, the best first. Everybody may read those of a public game. */
export const listScores = (
  connection: Connection,
  idOrSlug: string,
  boardId: string,
  { signal, ...query }: CallOptions & ScoresQuery = {},
): List<ScoreEntry> => list(connection, at(idOrSlug, boardId, 'scores'), 'entries', { query, signal })

/** Removes what a player has on a board, in every period. Needs `games:write`. */
export const deleteScore = (
  connection: Connection,
  idOrSlug: string,
  boardId: string,
  playerId: string,
  options?: CallOptions,
): Promise<void> => connection.json('DELETE', at(idOrSlug, boardId, 'scores', playerId), options)

/** Keeps a player off a board. Needs `games:write`. */
export const excludePlayer = (
  connection: Connection,
  idOrSlug: string,
  boardId: string,
  playerId: string,
  options?: CallOptions,
): Promise<void> => connection.json('PUT', at(idOrSlug, boardId, 'excluded', playerId), options)

/** Lets a player onto a board again. Needs `games:write`. */
export const includePlayer = (
  connection: Connection,
  idOrSlug: string,
  boardId: string,
  playerId: string,
  options?: CallOptions,
): Promise<void> => connection.json('DELETE', at(idOrSlug, boardId, 'excluded', playerId), options)
