import { createHash } from 'node:crypto'
import type { Client, Platform } from '../../kit/platform.ts'

/** Publishes files, given by path, as a build of a game through the HTTP API, as a developer's tool does. */
export async function deploy(
  platform: Platform,
  program: Client,
  gameId: string,
  files: Record<string, string | Buffer>,
): Promise<string> {
  const bytes = new Map(Object.entries(files).map(([path, body]) => [path, Buffer.from(body as string)]))
  const list = [...bytes].map(([path, body]) => ({
    path,
    size: body.length,
    sha256: createHash('sha256').update(body).digest('hex'),
  }))
  const started = await program.post('/api/deploy', { gameId, files: list })
  if (started.status >= 300) throw new Error(`deploy: ${started.status} ${started.text}`)
  for (const { path, uploadUrl, method, headers } of started.body.uploads) {
    const { pathname, search } = new URL(uploadUrl)
    const payload = bytes.get(path) as Buffer
    const response = await platform.app.inject({
      method,
      url: pathname + search,
      headers: { host: new URL(platform.portal).host, 'content-length': String(payload.length), ...headers },
      payload,
    })
    if (response.statusCode >= 300) throw new Error(`upload of ${path}: ${response.statusCode} ${response.body}`)
  }
  const { deployId } = started.body
  const finalized = await program.post(`/api/deploy/${deployId}/finalize`)
  if (finalized.status !== 200) throw new Error(`finalize: ${finalized.status} ${finalized.text}`)
  return deployId
}

export const sha256 = (body: string | Buffer) => createHash('sha256').update(body).digest('hex')
