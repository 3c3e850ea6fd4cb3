import type { Api } from './api.ts'
import { CliError } from './errors.ts'

/** A game as the platform describes it; what the command line shows of it. */
export interface Game {
  id: string
  slug: string
  title: string
  description: string
  url: string
  tags: string[]
  visibility: 'public' | 'private'
  playable: boolean
  liveDeployId: string | null
  playUrl: string
  manageUrl: string
  settings: { authWidget: 'on' | 'off'; crossOriginIsolated: boolean }
  stats: { plays: number; signIns: number }
  createdAt: string
  updatedAt: string
}

export interface CreatedGame extends Game {
  oauth: { clientId: string; clientSecret: string; redirectUri: string }
  integrationPrompt: string
}

export const listGames = (api: Api, limit?: number): Promise<Game[]> =>
  api.all<Game>('/api/games', 'games', limit === undefined ? {} : { limit })

/** A game of the caller's own. @throws CliError that names one that may be meant */
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

/** The word that was most likely meant; null when none is near. */
export async function closest(word: string, candidates: string[]): Promise<string | null> {
  const { closestMatch } = await import('leven')
  return closestMatch(word, candidates, { maxDistance: Math.max(2, Math.floor(word.length / 3)) }) ?? null
}
