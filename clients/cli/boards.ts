import type { Api } from './api.ts'

/** The fields of a board that its owner sets. Those that are not given keep their value, or have the default. */
export interface BoardFields {
  title: string
  order?: 'asc' | 'desc'
  format?: 'number' | 'milliseconds' | 'seconds'
  decimals?: number
  keep?: 'best' | 'last' | 'sum'
  reset?: 'never' | 'daily' | 'weekly' | 'monthly'
  min?: number | null
  max?: number | null
  writers?: 'players' | 'room'
}

/** A board as gameyard.json has it. */
export type ProjectBoard = BoardFields & { id: string }

export type Board = Required<BoardFields> & { id: string; createdAt: string; updatedAt: string }

/** A board that was made or changed. Older platforms send no warning. */
export type PutBoard = Board & { warning?: string | null }

export interface ScoreEntry {
  rank: number
  player: { sub: string; name: string }
  score: number
  detail: unknown
  at: string
}

const pathOf = (gameId: string, id?: string, more = '') =>
  `/api/games/${encodeURIComponent(gameId)}/boards${id === undefined ? '' : `/${encodeURIComponent(id)}`}${more}`

export const listBoards = async (api: Api, gameId: string): Promise<Board[]> =>
  (await api.get<{ boards: Board[] }>(pathOf(gameId))).boards

/** Makes a board, or changes it. */
export const putBoard = (api: Api, gameId: string, { id, ...fields }: ProjectBoard): Promise<PutBoard> =>
  api.json<PutBoard>('PUT', pathOf(gameId, id), { body: fields, repeatable: true })

export const getBoard = (api: Api, gameId: string, id: string): Promise<Board> => api.get<Board>(pathOf(gameId, id))

export const removeBoard = (api: Api, gameId: string, id: string): Promise<void> => api.delete(pathOf(gameId, id))

/** Lists the first entries of a board. */
export const listScores = (
  api: Api,
  gameId: string,
  id: string,
  { limit, period }: { limit: number; period: string },
): Promise<ScoreEntry[]> => api.all<ScoreEntry>(pathOf(gameId, id, '/scores'), 'entries', { limit, query: { period } })

export const removeScore = (api: Api, gameId: string, id: string, playerId: string): Promise<void> =>
  api.delete(pathOf(gameId, id, `/scores/${encodeURIComponent(playerId)}`))

/** Keeps a player off a board, or lets them onto it again. */
export const setExcluded = (api: Api, gameId: string, id: string, playerId: string, excluded: boolean): Promise<void> =>
  api.json<void>(excluded ? 'PUT' : 'DELETE', pathOf(gameId, id, `/excluded/${encodeURIComponent(playerId)}`))
