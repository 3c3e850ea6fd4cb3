import type { Api } from '../clients/cli/api.ts'
import type { Client } from './client.ts'

/** The API of the platform, and the origin that serves assets and Blender jobs. */
export interface Studio {
  api: Api
  origin: string
}

/** Connects a command with the Studio of its platform. */
export async function studio(client: Client): Promise<Studio> {
  const [api, { studioUrl }] = await Promise.all([client.api(), import('../clients/cli/studio-url.ts')])
  return { api, origin: await studioUrl(api, client.env) }
}
