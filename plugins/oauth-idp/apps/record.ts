import type { SigningAlgorithm } from '../oauth/signing-keys.ts'
import type { OAuthAppRow } from './entities.ts'
import { redirectUriOf, registeredUris } from './redirect-uris.ts'
import type { App } from './schemas.ts'

/** The addresses of hosted games under the current configuration. */
export interface HostedGames {
  /** Whether the client's game is served at an address. */
  serves(clientId: string, address: string): Promise<boolean>
  /** Returns the origins at which games are served here, by client id. The origin that every game has comes first. */
  originsOf(clientIds: readonly string[]): Promise<Map<string, HostedOrigins>>
}

export interface HostedOrigins {
  /** The origin to which players are redirected; null for a game that lives elsewhere. */
  main: string | null
  all: string[]
}

/**
 * Converts applications for their owners. A game lists the addresses at which it is served here first if it lives here,
 * and after its own otherwise.
 */
export async function toApps(rows: readonly StoredApp[], games: HostedGames): Promise<App[]> {
  const ofGames = rows.filter((row) => row.hosted || row.gameId).map(({ clientId }) => clientId)
  const origins = ofGames.length > 0 ? await games.originsOf(ofGames) : new Map<string, HostedOrigins>()
  return rows.map((row) => {
    const app = toApp(row)
    const own = origins.get(row.clientId)
    if (!own) return app
    const served = own.all.map(redirectUriOf)
    const registered = app.redirectUris.filter((uri) => !served.includes(uri))
    if (own.main === null) return { ...app, redirectUris: [...registered, ...served] }
    return { ...app, homepageUrl: own.main, redirectUris: [...served, ...registered] }
  })
}

/** The columns that are required to show an application. */
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
> & {
  servedUris?: string[] | null | undefined
  lastUsedAt?: Date | null | undefined
  idTokenAlgorithm?: string | null | undefined
}

/** Converts an application, with the values that its owner registered. */
export const toApp = (row: StoredApp): App => ({
  id: row.id,
  clientId: row.clientId,
  name: row.name,
  homepageUrl: row.homepageUrl ?? null,
  gameId: row.gameId ?? null,
  redirectUris: registeredUris(row),
  idTokenSignedResponseAlg: (row.idTokenAlgorithm as SigningAlgorithm | null) ?? 'ES256',
  public: row.publicClient,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
})
