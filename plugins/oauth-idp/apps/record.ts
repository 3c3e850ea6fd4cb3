import type { OAuthAppRow } from './entities.ts'
import { redirectUriOf, registeredUris } from './redirect-uris.ts'
import type { App } from './schemas.ts'

/** The addresses of games that live here, by the configuration of this moment. */
export interface HostedGames {
  /** Whether an address is one at which the game is served whose application a client is. */
  serves(clientId: string, address: string): Promise<boolean>
  /** The origins at which games are served, by the client ids of their applications: what every game has comes first. */
  originsOf(clientIds: readonly string[]): Promise<Map<string, HostedOrigins>>
}

export interface HostedOrigins {
  /** Where its players are led to. */
  main: string
  all: string[]
}

/** Applications as their owners see them: a game that lives here has, first of all, the addresses of this moment. */
export async function toApps(rows: readonly StoredApp[], games: HostedGames): Promise<App[]> {
  const hosted = rows.filter((row) => row.hosted).map(({ clientId }) => clientId)
  const origins = hosted.length > 0 ? await games.originsOf(hosted) : new Map<string, HostedOrigins>()
  return rows.map((row) => {
    const app = toApp(row)
    const own = row.hosted && origins.get(row.clientId)
    if (!own) return app
    const served = own.all.map(redirectUriOf)
    const registered = app.redirectUris.filter((uri) => !served.includes(uri))
    return { ...app, homepageUrl: own.main, redirectUris: [...served, ...registered] }
  })
}

/** The columns that are needed to show an application. */
export type StoredApp = Pick<
  OAuthAppRow,
  | 'id'
  | 'clientId'
  | 'name'
  | 'homepageUrl'
  | 'gameId'
  | 'redirectUris'
  | 'hosted'
  | 'publicClient'
  | 'createdAt'
  | 'updatedAt'
> & { servedUris?: string[] | null | undefined; lastUsedAt?: Date | null | undefined }

/** An application with what its owner registered. */
export const toApp = (row: StoredApp): App => ({
  id: row.id,
  clientId: row.clientId,
  name: row.name,
  homepageUrl: row.homepageUrl ?? null,
  gameId: row.gameId ?? null,
  redirectUris: registeredUris(row),
  public: row.publicClient,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
})
