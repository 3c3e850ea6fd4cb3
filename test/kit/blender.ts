import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { hasPrograms } from './components.ts'
import type { Answer, Client, Platform } from './platform.ts'
import { until } from './until.ts'

/**
 * Returns a program that runs the real Blender without numpy, as `apt install --no-install-recommends blender` installs
 * it. It is a sandbox itself, so it needs `unsafe: true`.
 *
 * @returns its path, or null, after marking the test as skipped
 */
export function blenderWithoutNumpy(t: Test): string | null {
  if (!hasPrograms(t, 'blender', 'bwrap')) return null
  const where = 'import numpy, os; print("numpy in " + os.path.dirname(os.path.dirname(numpy.__file__)))'
  const asked = spawnSync('blender', ['-b', '--factory-startup', '--python-expr', where], { encoding: 'utf8' })
  const folder = /^numpy in (.+)$/m.exec(asked.stdout)?.[1]
  if (!folder) throw new Error('The Blender of this machine has no numpy to take away.')
  const program = join(t.testdir(), 'blender')
  const blender = spawnSync('sh', ['-c', 'command -v blender'], { encoding: 'utf8' }).stdout.trim()
  writeFileSync(program, `#!/bin/sh\nexec bwrap --dev-bind / / --tmpfs ${folder} ${blender} "$@"\n`, { mode: 0o755 })
  return program
}

/** Waits until a job has ended. The time limit is long, since a machine may be busy. */
export async function settled(client: Client, id: string, seconds = 120) {
  return until(async () => {
    const { body } = await client.get(`/api/blender/v1/jobs/${id}`)
    return ['completed', 'failed', 'cancelled'].includes(body.status) ? body : null
  }, seconds)
}

/** Fetches a file of a job as bytes. */
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
