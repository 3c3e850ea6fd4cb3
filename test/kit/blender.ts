import { spawnSync } from 'node:child_process'
import type { Test } from 'tap'
import type { Answer, Client, Platform } from './platform.ts'

/**
 * Whether programs that a test needs are here. When not, marks the test as skipped; under CI=true that is a failure.
 */
export function hasPrograms(t: Test, ...names: string[]): boolean {
  const missing = names.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)
  if (missing.length === 0) return true
  const reason = `not on this machine: ${missing.join(', ')}`
  if (process.env.CI === 'true') t.fail(reason)
  else t.pass(`skipped: ${reason}`, { skip: reason })
  return false
}

/** Waits until a job is over; generous, since a machine may be busy. */
export async function settled(client: Client, id: string, seconds = 120) {
  return until(async () => {
    const { body } = await client.get(`/api/blender/v1/jobs/${id}`)
    return ['completed', 'failed', 'cancelled'].includes(body.status) ? body : null
  }, seconds)
}

/** Asks again and again until there is an answer. */
export async function until<T>(ask: () => Promise<T | null | undefined | false>, seconds = 60): Promise<T> {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    const found = await ask()
    if (found) return found
    if (Date.now() > deadline) throw new Error(`Nothing happened within ${seconds} s.`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

/** A file of a job, as bytes. */
export async function artifactOf(
  platform: Platform,
  client: Pick<Client, 'token'>,
  id: string,
  name: string,
): Promise<Buffer> {
  const response = await platform.app.inject({
    method: 'GET',
    url: `/api/blender/v1/jobs/${id}/artifacts/${name}`,
    headers: { host: new URL(platform.app.origins.studio).host, authorization: `Bearer ${client.token}` },
  })
  if (response.statusCode !== 200) throw new Error(`${name} was answered with ${response.statusCode}.`)
  return response.rawPayload
}

export const errorOf = ({ status, body }: Answer) => [status, body?.error?.code]
