import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const command = process.env.BLENDER ?? 'blender'

/**
 * Models made by the real Blender, by their names in blender-models.py. Answers null, after marking the test as skipped,
 * where there is no Blender; under CI=true that is a failure.
 */
export function blenderModels(t: Test, names: readonly string[]): Map<string, Buffer> | null {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-blender-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const script = join(import.meta.dirname, 'blender-models.py')
  try {
    execFileSync(command, ['-b', '--factory-startup', '--python', script, '--', folder, ...names], { stdio: 'pipe' })
  } catch (error) {
    if (process.env.CI === 'true') throw error
    t.pass('skipped: no Blender on this machine', { skip: 'no Blender (set BLENDER)' })
    return null
  }
  return new Map(names.map((name) => [name, readFileSync(join(folder, `${name}.glb`))]))
}
