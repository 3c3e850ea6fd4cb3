// The platform without pages, to be killed: node killable.ts FOLDER PORT PROVIDER [HOURS BY WHICH ITS CLOCK IS AHEAD]
import { join } from 'node:path'
import { loadConfig } from '../../../config/load.ts'
import { folderSource } from '../../../core/data/built-files.ts'
import { createKernel } from '../../../core/kernel.ts'
import { families } from '../../../drivers/index.ts'
import { plugins as builtins } from '../../../plugins/index.ts'

const [folder = '', port = '', provider = '', hours = '0'] = process.argv.slice(2)
const needed = ['oauth-idp', 'tokens', 'quotas', 'games', 'deploy', 'assets', 'game-edge', 'billing', 'ai']
const { config, plugins, drivers } = await loadConfig({
  cwd: folder,
  env: {
    SERVICE_LISTEN__PORT: port,
    SERVICE_LOG__LEVEL: 'error',
    SERVICE_LIMITS__RATE_LIMITS: 'false',
    SERVICE_AI__DRIVER: 'openai-compatible',
    SERVICE_AI__BASE_URL: `${provider}/v1`,
    SERVICE_AI__MODELS__TEXT: 'small',
    SERVICE_PLUGINS__BILLING__SIGN_UP_CREDITS: '100000',
  },
  families,
  plugins: builtins.filter(({ name }) => needed.includes(name)),
})
const app = await createKernel(config, {
  plugins,
  drivers,
  browserFiles: folderSource(join(import.meta.dirname, '../../../dist/browser')),
  version: '0.0.0-test',
  clock: { now: () => new Date(Date.now() + Number(hours) * 3_600_000) },
})
await app.listen({ host: '127.0.0.1', port: Number(port) })
process.stdin.resume().on('end', () => process.exit())
