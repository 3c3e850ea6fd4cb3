// `node killable.ts <folder> <port> <hours>`: the platform on a clock that is some hours ahead, with continuous garbage
// collection, to be killed at any moment.
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadConfig } from '../../../config/load.ts'
import { folderSource } from '../../../core/data/built-files.ts'
import { createKernel } from '../../../core/kernel.ts'
import { createLog } from '../../../core/observe/log.ts'
import { families } from '../../../drivers/index.ts'
import { GarbageCollector } from '../../../plugins/deploy/blobs/garbage-collector.ts'
import { plugins as builtins } from '../../../plugins/index.ts'

const [folder = '', port = '', hours = '0'] = process.argv.slice(2)
const env = {
  SERVICE_LISTEN__PORT: port,
  SERVICE_DATA_DIR: join(folder, 'data'),
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
  clock: { now: () => new Date(Date.now() + Number(hours) * 3_600_000) },
})
await app.listen({ host: '127.0.0.1', port: Number(port) })
process.stdin.on('end', () => process.exit()).resume()
const collector = new GarbageCollector(app)
const { signal } = new AbortController()
for (;;) {
  await collector.run(signal)
  await collector.collect(signal)
  await sleep(5)
}
