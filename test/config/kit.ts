import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type LoadOptions, loadConfig } from '../../config/load.ts'
import { ConfigError } from '../../config/problems.ts'
import { families } from '../../drivers/index.ts'

/** Creates a folder with files, which is removed with the test. */
export function folderWith(t: Test, files: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-config-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 })
  return folder
}

export type Setup = Partial<LoadOptions> & { files?: Record<string, string> }

/** Loads a `gameyard.yaml` with this text, without plugins and without anything from the real environment. */
export function load(t: Test, text: string | null, { files = {}, ...options }: Setup = {}) {
  const cwd = folderWith(t, text === null ? files : { 'gameyard.yaml': text, ...files })
  return loadConfig({ cwd, env: {}, families, plugins: [], ...options })
}

/** Returns the problems that loading reports, as printed, one per item. */
export async function complaints(t: Test, text: string | null, setup: Setup = {}): Promise<string[]> {
  try {
    await load(t, text, setup)
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
  return []
}
