import { join, resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { loadConfig } from '../../config/load.ts'
import { folderSource } from '../../core/data/built-files.ts'
import { createKernel } from '../../core/kernel.ts'
import { createLog } from '../../core/observe/log.ts'
import { families } from '../../drivers/index.ts'
import { plugins as builtins } from '../../plugins/index.ts'

/**
 * Serves the platform in this process, for a program of `startKillable`, whose arguments are those of the process. It
 * ends when standard input closes.
 */
export async function serveKillable(): Promise<FastifyInstance> {
  const [folder = '', port = ''] = process.argv.slice(2)
  const env = {
    SERVICE_LISTEN__PORT: port,
    SERVICE_DATA_DIR: join(folder, 'data'),
    SERVICE_GAMES__DOMAIN: `localhost:${port}`,
    SERVICE_PORTAL__URL: `http://localhost:${port}`,
    SERVICE_STUDIO__URL: `http://localhost:${port}`,
    SERVICE_LIMITS__RATE_LIMITS: 'false',
    SERVICE_LOG__LEVEL: 'fatal',
  }
  const { config, plugins, drivers } = await loadConfig({ cwd: folder, env, families, plugins: builtins })
  const app = await createKernel(config, {
    plugins,
    drivers,
    browserFiles: folderSource(resolve(import.meta.dirname, '../../dist/browser')),
    version: '0.0.0-test',
    log: createLog('fatal'),
  })
  await app.listen({ host: '127.0.0.1', port: Number(port) })
  process.stdin.on('end', () => process.exit()).resume()
  return app
}
