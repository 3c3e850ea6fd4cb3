// A platform for benchmarks that serve it from their own process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { loadConfig } from '../config/load.ts'
import { folderSource } from '../core/data/built-files.ts'
import { createKernel } from '../core/kernel.ts'
import { createLog } from '../core/observe/log.ts'
import { families } from '../drivers/index.ts'
import { plugins } from '../plugins/index.ts'
import { freePort } from '../test/kit/server.ts'

/** The account that benchmarks create. */
export const ACCOUNT = { email: 'ada@example.org', password: 'correct yard battery fence', name: 'Ada' }

/**
 * Creates a platform with SQLite in a new folder, without limits of rates or games. It does not listen yet. The folder is
 * removed when the process ends.
 *
 * @param options `silent`: without log lines
 */
export async function createPlatform({ silent = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.on('SIGTERM', () => process.exit())
  const port = await freePort()
  const env = {
    SERVICE_LIMITS__RATE_LIMITS: 'false',
    SERVICE_LIMITS__GAMES_PER_PLAYER: '100000',
    SERVICE_LISTEN__PORT: String(port),
  }
  const { config, plugins: chosen, drivers } = await loadConfig({ cwd: folder, env, families, plugins })
  const browserFiles = folderSource(resolve(import.meta.dirname, '../dist/browser'))
  const log = silent ? { log: createLog('silent') } : {}
  const app = await createKernel(config, { plugins: chosen, drivers, browserFiles, version: 'bench', ...log })
  return { app, port }
}
