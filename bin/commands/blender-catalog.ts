import type { Client } from '../client.ts'
import { studio } from '../studio.ts'

interface Template {
  id: string
  title: string
  description: string
  parameters: { properties?: Record<string, unknown> }
}

/** Lists the scenes with which jobs begin. */
export async function templates(client: Client): Promise<void> {
  const { terminal } = client
  const { api, origin } = await studio(client)
  const { templates: found } = await api.get<{ templates: Template[] }>('/api/blender/v1/templates', { origin })
  terminal.result({ templates: found }, () =>
    terminal.table(
      ['TEMPLATE', 'PARAMETERS', 'WHAT IT IS'],
      found.map(({ id, description, parameters }) => [
        id,
        Object.keys(parameters.properties ?? {}).join(' '),
        description,
      ]),
    ),
  )
}

/** Lists the objects to build with. */
export async function starters(client: Client): Promise<void> {
  const { terminal } = client
  const { api, origin } = await studio(client)
  const { starters: found } = await api.get<{ starters: { id: string; kind: string; title: string }[] }>(
    '/api/blender/v1/library',
    { origin },
  )
  terminal.result({ starters: found }, () =>
    terminal.table(
      ['STARTER', 'KIND', 'WHAT IT IS'],
      found.map(({ id, kind, title }) => [id, kind, title]),
    ),
  )
}

interface Health {
  executor: string
  status: string
  reason?: string
  blenderVersion: string | null
  capacity: number
  active: number
  queued: number
}

/** Shows whether Blender is there, and how busy. */
export async function health(client: Client): Promise<void> {
  const { api, origin } = await studio(client)
  const found = await api.get<Health>('/api/blender/health', { origin })
  client.terminal.result(found, () =>
    found.status === 'ok'
      ? `Blender ${found.blenderVersion} (${found.executor}): ${found.active} of ${found.capacity} running, ${found.queued} queued`
      : `Blender is not available: ${found.reason ?? 'no reason was given'}`,
  )
}
