import type { Api } from './api.ts'
import { originOf } from './platform.ts'

/**
 * Origin of the Studio, where assets and Blender jobs are: SERVICE_STUDIO_URL, or what the platform says of itself.
 * Most have one origin for everything.
 */
export async function studioUrl(api: Api, env: NodeJS.ProcessEnv): Promise<string> {
  if (env.SERVICE_STUDIO_URL) return originOf(env.SERVICE_STUDIO_URL, 'SERVICE_STUDIO_URL')
  const metadata = await api.get<{ service_studio?: string }>('/.well-known/oauth-authorization-server')
  return metadata.service_studio ? new URL(metadata.service_studio).origin : api.baseUrl
}
