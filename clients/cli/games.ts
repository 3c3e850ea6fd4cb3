import type { Api } from './api.ts'
import { CliError } from './errors.ts'

/** What players filter by. An empty list, or null, means that it is not known. */
export interface Features {
  inputs: string[]
  players: string[]
  languages: string[]
  orientation: string | null
  accessibility: string[]
}

/** The fields of a game that the command line shows. */
export interface Game {
  id: string
  slug: string
  title: string
  description: string
  url: string
  tags: string[]
  /** Absent from older platforms. */
  features?: Features
  visibility: 'public' | 'private'
  playable: boolean
  coverUrl: string | null
  media: Medium[]
  /** Set while the game waits for the approval of the platform, or was refused. */
  approval?: { state: 'waiting' | 'refused'; reason: string | null } | null
  liveDeployId: string | null
  playUrl: string
  manageUrl: string
  /** Older platforms have no `clickToStart`. */
  settings: { authWidget: 'on' | 'off'; crossOriginIsolated: 'auto' | boolean; clickToStart?: boolean }
  /** Whether the live build is served cross-origin isolated. Absent from older platforms. */
  isolated?: boolean
  stats: { plays: number; signIns: number }
  createdAt: string
  updatedAt: string
}

/** A picture or video of a game. */
export interface Medium {
  id: string
  url: string
  kind: 'image' | 'video'
  width: number
  height: number
}

export interface CreatedGame extends Game {
  oauth: { clientId: string; clientSecret: string; redirectUri: string }
  integrationPrompt: string
}

/** A change of a game. */
export interface ActivityEntry {
  id: string
  at: string
  action: string
  target: string | null
  detail: string | null
  by: { kind: string; player: { name: string } | null; name: string | null; tool: string | null }
}

/** Fetches the latest changes of a game, the latest first. */
export const listActivity = (api: Api, gameId: string, limit: number): Promise<ActivityEntry[]> =>
  api.all<ActivityEntry>(`/api/games/${encodeURIComponent(gameId)}/activity`, 'activity', { limit })

/** What a game counts in a day. */
export interface DayCounts {
  plays: number
  uniquePlayers: number
  signIns: number
  /** The most players in its rooms at a time. */
  peakPlayers: number
}

/** Fetches the statistics of a game by day. @param range days in UTC; default: the last 30 */
export const readAnalytics = (
  api: Api,
  gameId: string,
  range: { from: string | undefined; to: string | undefined },
): Promise<{ days: ({ date: string } & DayCounts)[]; totals: DayCounts }> =>
  api.get(`/api/games/${encodeURIComponent(gameId)}/analytics`, { query: range })

/** An exception in the browsers of a game's players. */
export interface GameError {
  id: string
  message: string
  path: string | null
  line: number | null
  column: number | null
  /** The place in the file that was bundled; null without a source map. */
  source: { path: string; line: number; column: number } | null
  stack: string | null
  /** null: a version before the one that was live then. */
  deployId: string | null
  browser: string
  count: number
  firstAt: string
  lastAt: string
}

/** Fetches the exceptions in the browsers of a game's players, the latest first. */
export async function listErrors(api: Api, gameId: string): Promise<GameError[]> {
  const { errors } = await api.get<{ errors: GameError[] }>(`/api/games/${encodeURIComponent(gameId)}/errors`)
  return errors
}

/** Forgets the exceptions of a game. */
export const clearErrors = async (api: Api, gameId: string): Promise<void> =>
  void (await api.delete(`/api/games/${encodeURIComponent(gameId)}/errors`))

export const listGames = (api: Api, limit?: number): Promise<Game[]> =>
  api.all<Game>('/api/games', 'games', limit === undefined ? {} : { limit })

/** Fetches a game of the caller's. @throws CliError that suggests a similar name */
export async function getGame(api: Api, idOrSlug: string): Promise<Game> {
  return api.get<Game>(`/api/games/${encodeURIComponent(idOrSlug)}`).catch(async (error) => {
    if (!(error instanceof CliError && error.code === 'not_found')) throw error
    const games = await listGames(api, 100).catch(() => [])
    const near = await closest(
      idOrSlug,
      games.map(({ slug }) => slug),
    )
    throw new CliError(`You have no game ${idOrSlug} at ${api.baseUrl}.`, {
      code: 'not_found',
      hint: near
        ? `Did you mean ${near}?`
        : games.length > 0
          ? 'See yours: gameyard games list'
          : 'Make one: gameyard games create',
    })
  })
}

/** Returns the closest candidate; null when none is similar. */
export async function closest(word: string, candidates: string[]): Promise<string | null> {
  const { closestMatch } = await import('leven')
  return closestMatch(word, candidates, { maxDistance: Math.max(2, Math.floor(word.length / 3)) }) ?? null
}
