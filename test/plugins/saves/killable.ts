// `node killable.ts <folder> <port>`: the platform with continuous garbage collection of saves, to be killed at any
// moment.
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadConfig } from '../../../config/load.ts'
import { folderSource } from '../../../core/data/built-files.ts'
import { createKernel } from '../../../core/kernel.ts'
import { createLog } from '../../../core/observe/log.ts'
import { families } from '../../../drivers/index.ts'
import { plugins as builtins } from '../../../plugins/index.ts'
import { OwnerQuota } from '../../../plugins/saves/owner-quota.ts'
import { GarbageCollector } from '../../../plugins/saves/values/garbage-collector.ts'

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
  browserFiles: folderSource(resolve(import.meta.dirname, '../../../dist/browser')),
  version: '0.0.0-test',
  log: createLog('fatal'),
})
await app.listen({ host: '127.0.0.1', port: Number(port) })
process.stdin.on('end', () => process.exit()).resume()
const { signal } = new AbortController()
for (;;) {
  await new GarbageCollector(app).run(signal)
  await new OwnerQuota(app).count(signal)
  await sleep(50)
}
