import type { Api } from './api.ts'
import { CliError } from './errors.ts'

/** An OAuth application. */
export interface App {
  id: string
  clientId: string
  name: string
  homepageUrl: string | null
  gameId: string | null
  redirectUris: string[]
  idTokenSignedResponseAlg: 'ES256' | 'RS256'
  /** Whether it has no secret. */
  public: boolean
  lastUsedAt: string | null
}

export interface AppWithSecret extends App {
  /** Null for a public application. */
  clientSecret: string | null
}

export type AppFields = Partial<
  Pick<App, 'name' | 'homepageUrl' | 'redirectUris' | 'idTokenSignedResponseAlg' | 'public'>
>

const PATH = '/api/oauth/apps'
const pathOf = (id: string) => `${PATH}/${encodeURIComponent(id)}`

export const listApps = (api: Api): Promise<App[]> => api.all<App>(PATH, 'apps')

/** Fetches an application of the caller's. @param named its id or client id @throws CliError when there is none */
export async function getApp(api: Api, named: string): Promise<App> {
  const found = named.startsWith('svc_client_')
    ? (await listApps(api)).find(({ clientId }) => clientId === named)
    : await api.get<App>(pathOf(named)).catch((error) => {
        if (error instanceof CliError && error.code === 'not_found') return undefined
        throw error
      })
  if (found) return found
  const hint = 'See yours: gameyard apps list'
  throw new CliError(`You have no application ${named} at ${api.baseUrl}.`, { code: 'not_found', hint })
}

export const createApp = (api: Api, fields: AppFields): Promise<AppWithSecret> => api.post(PATH, fields)

export const updateApp = (api: Api, id: string, changes: AppFields): Promise<App> => api.patch(pathOf(id), changes)

export const renewAppSecret = (api: Api, id: string, graceSeconds: number): Promise<AppWithSecret> =>
  api.post(`${pathOf(id)}/secret?graceSeconds=${graceSeconds}`)

export const deleteApp = (api: Api, id: string): Promise<void> => api.delete(pathOf(id))
