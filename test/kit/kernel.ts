import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { loadConfig } from '../../config/load.ts'
import { printConfig } from '../../config/print.ts'
import type { Program } from '../../core/boot/decorators.ts'
import type { Clock } from '../../core/clock.ts'
import { type FileSource, folderSource } from '../../core/data/built-files.ts'
import type { ChosenDriver } from '../../core/driver.ts'
import { createKernel } from '../../core/kernel.ts'
import { createLog } from '../../core/observe/log.ts'
import type { LogTail } from '../../core/observe/log-tail.ts'
import type { Plugin } from '../../core/plugin.ts'
import { families } from '../../drivers/index.ts'
import { withMigratedDatabase } from './migrated-database.ts'

export interface KernelTestOptions {
  plugins?: Plugin[]
  /** Sections of the configuration file. */
  config?: Record<string, unknown>
  clock?: Clock
  log?: Logger
  program?: Program
  logTail?: LogTail
  /** The built browser files; by default those of this source tree. */
  browserFiles?: FileSource
}

const folder = folderSource(resolve(import.meta.dirname, '../../dist/browser'))
const files = new Map<string, ReturnType<FileSource>>()
/** The files are read once for all kernels of this process. */
const browserFiles: FileSource = (name) => files.get(name) ?? files.set(name, folder(name)).get(name) ?? folder(name)

/**
 * Starts a kernel with the given plugins, a separate data folder, SQLite in memory and a silent log. It closes with the
 * test.
 */
export async function startKernel(t: Test, options: KernelTestOptions = {}): Promise<FastifyInstance> {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-kernel-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const settings = { dataDir: './data', database: { driver: 'sqlite', file: ':memory:' }, ...options.config }
  writeFileSync(join(folder, 'gameyard.yaml'), stringify(settings))
  const { config, plugins, drivers, schema } = await loadConfig({
    cwd: folder,
    env: {},
    families,
    plugins: options.plugins ?? [],
  })
  const app = await createKernel(config, {
    plugins,
    drivers: { ...drivers, database: await withMigratedDatabase(drivers.database as ChosenDriver, plugins) },
    browserFiles: options.browserFiles ?? browserFiles,
    clientPackages: folderSource(resolve(import.meta.dirname, '../../dist/packages')),
    version: '0.0.0-test',
    describeConfig: () => printConfig(config, schema),
    log: options.log ?? createLog('silent'),
    program: options.program ?? null,
    ...(options.logTail ? { logTail: options.logTail } : {}),
    ...(options.clock ? { clock: options.clock } : {}),
  })
  t.teardown(() => app.close())
  return app
}
