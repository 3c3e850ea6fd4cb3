import type { Api } from './api.ts'
import { originOf } from './platform.ts'

/**
 * Returns the origin of the Studio, which serves assets and Blender jobs: SERVICE_STUDIO_URL, or the address that the
 * platform reports. Most platforms have one origin for everything.
 */
export async function studioUrl(api: Api, env: NodeJS.ProcessEnv): Promise<string> {
  if (env.SERVICE_STUDIO_URL) return originOf(env.SERVICE_STUDIO_URL, 'SERVICE_STUDIO_URL')
  const metadata = await api.get<{ service_studio?: string }>('/.well-known/oauth-authorization-server')
  return metadata.service_studio ? new URL(metadata.service_studio).origin : api.baseUrl
}
