import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Config } from '../core/config.ts'
import { type Override, variableFor } from './environment.ts'
import { isMapping } from './validate.ts'

/** `auto` starts no more than so many. */
const MOST = 8

/**
 * Chooses the bus of a platform of several processes, unless the configuration names one. It happens before drivers are
 * loaded, and so before the values are validated.
 */
export function chooseBus(
  values: Record<string, unknown>,
  { env, overrides }: { env: Record<string, string | undefined>; overrides: Override[] },
): void {
  const path = ['listen', 'processes']
  const option = overrides.findLast((override) => override.path.join('.') === path.join('.'))?.value
  const written = isMapping(values.listen) ? values.listen.processes : undefined
  const processes = option ?? env[variableFor(path)] ?? written ?? 1
  if (String(processes) === '1') return
  values.bus ??= {}
  if (isMapping(values.bus)) values.bus.driver ??= 'ipc'
}

/**
 * Returns how many processes serve; null for one that no other supervises.
 *
 * @param machine `cores`: what this program may use; `path`: the folders of programs
 */
export function processCount(config: Config, machine: { cores: number; path: string | undefined }): number | null {
  const { processes } = config.listen
  if (processes === 1) return null
  if (processes !== 'auto') return processes
  return Math.max(1, Math.min(MOST, machine.cores - (rendersHere(config, machine.path) ? 1 : 0)))
}

/** Whether Blender jobs run on this machine: they need a core of their own. */
function rendersHere({ blender }: Config, path = ''): boolean {
  const { driver, capacity, command, url } = (blender ?? {}) as Record<string, unknown>
  if (capacity === 0) return false
  if (driver === 'docker') return url === undefined
  if (driver !== 'subprocess' || typeof command !== 'string') return false
  const files = command.includes('/') ? [command] : path.split(delimiter).map((folder) => join(folder, command))
  return files.some((file) => {
    try {
      accessSync(file, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
