import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { openBrowser } from '../kit/browser.ts'
import { startOtlp } from '../kit/otlp.ts'
import { type Server, startServer } from '../kit/server.ts'
import { ask } from '../kit/upload.ts'
import { PASSWORD, playFirstGame } from './first-game-story.ts'

const root = resolve(import.meta.dirname, '../..')

t.test('the same story from the single binary, alone in an empty folder', async (t) => {
  const browser = await openBrowser(t)
  if (!browser) return
  execFileSync(process.execPath, [join(root, 'build/binary.ts')], {
    stdio: 'pipe',
    env: { PATH: process.env.PATH },
  })
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-binary-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const binary = join(folder, 'gameyard')
  copyFileSync(join(root, 'dist/gameyard'), binary)

  const otlp = await startOtlp(t)
  const config = { portal: { name: 'The Yard' }, telemetry: { endpoint: otlp.endpoint } }
  const server = await startServer(t, { program: [binary], folder, config })
  await playFirstGame(t, browser, server)
  await deployFromBinary(t, binary, server)
  const deployed = await otlp.span(({ name }) => name === 'POST /api/deploy')
  t.match(deployed, {
    status: 0,
    attributes: { 'http.route': '/api/deploy' },
    resource: { 'service.name': 'gameyard' },
  })
  t.ok(
    otlp.spans.some(({ traceId, name }) => traceId === deployed.traceId && name.startsWith('db ')),
    'it traces without hooks in the module loader',
  )
  t.equal(await server.stop(), 0, 'it stops when told to')
  t.same(readdirSync(folder).sort(), ['data', 'gameyard', 'gameyard.yaml'], 'and leaves nothing but its data')
})

/** The same file is the developer's command line. */
async function deployFromBinary(t: Test, binary: string, { portal }: Server): Promise<void> {
  const headers = { origin: portal }
  const ada = { email: 'ada@example.org', password: PASSWORD }
  const signedIn = await ask('POST', `${portal}/api/auth/sign-in`, { headers, body: ada })
  const cookie = [signedIn.headers['set-cookie'] ?? []].flat()[0]?.split(';')[0] ?? ''
  const scopes = ['games:read', 'games:write', 'deployments:write']
  const made = await ask('POST', `${portal}/api/tokens`, {
    headers: { ...headers, cookie },
    body: { label: 'CLI', scopes },
  })
  const cwd = t.testdir({ '.gameyardignore': '*.txt', 'index.html': '<title>Tiny</title>', 'left.txt': 'out' })
  const env = {
    PATH: process.env.PATH,
    HOME: t.testdirName,
    SERVICE_API_TOKEN: made.body.token,
    SERVICE_BASE_URL: portal,
  }
  const run = (...arguments_: string[]) =>
    execFileSync(binary, arguments_, { cwd, env, encoding: 'utf8', stdio: 'pipe' })
  t.match(JSON.parse(run('deploy', '--create', '--json')), { created: true, game: { slug: 'tiny' }, files: 1 })
  t.match(JSON.parse(run('deploy', '--json')), { uploaded: 0 })
  t.match(JSON.parse(run('doctor', '--json')), { healthy: true })
  t.match(run('games', 'list'), /tiny +Tiny/)
  t.match(run('completion', 'bash'), /complete -o default/)
}
