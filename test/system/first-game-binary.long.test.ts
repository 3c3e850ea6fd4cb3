import { execFileSync } from 'node:child_process'
import {
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { shippedConfiguration } from '../bin/shipped-files.ts'
import { blocksOf, guideText } from '../docs/blocks.ts'
import { hasPrograms } from '../kit/components.ts'
import { type DockerEngine, importBase, librariesOf, startDocker } from '../kit/docker.ts'
import { openEngine } from '../kit/engines/engine.ts'
import { startOtlp } from '../kit/otlp.ts'
import { freePort, type Server, startServer } from '../kit/server.ts'
import { until } from '../kit/until.ts'
import { ask } from '../kit/upload.ts'
import { deployPage, signUp, tokenOf } from './cluster-players.ts'
import { PASSWORD, playFirstGame } from './first-game-steps.ts'

const root = resolve(import.meta.dirname, '../..')

let built = ''
/** The single binary, built once. */
function builtBinary(): string {
  if (!built)
    execFileSync(process.execPath, [join(root, 'build/binary.ts')], {
      stdio: 'pipe',
      env: { PATH: process.env.PATH },
    })
  built = join(root, 'dist/gameyard')
  return built
}

t.test('the first game from the single binary, alone in an empty folder', async (t) => {
  const engine = await openEngine(t, 'chromium')
  if (!engine) return
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-binary-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const binary = join(folder, 'gameyard')
  copyFileSync(builtBinary(), binary)

  const otlp = await startOtlp(t)
  const config = { portal: { name: 'The Yard' }, telemetry: { endpoint: otlp.endpoint } }
  const server = await startServer(t, { program: [binary], folder, config })
  await playFirstGame(t, engine, server)
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

t.test('the plugin and the driver of the guides run beside the single binary, in an empty folder', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-binary-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const codeOf = (guide: string) => blocksOf(guideText(guide)).find(({ language }) => language === 'ts')?.code ?? ''
  writeFileSync(join(folder, 'guestbook.ts'), codeOf('writing-a-plugin'))
  writeFileSync(join(folder, 'memory-storage.ts'), codeOf('writing-a-driver'))
  const config = { plugins: { './guestbook.ts': {} }, storage: { driver: './memory-storage.ts' } }
  const { portal } = await startServer(t, { program: [builtBinary()], folder, config })
  t.match(await ask('GET', `${portal}/api/guestbook`), { status: 200, body: { lines: [] } })
})

// Nothing can be pulled in a test: the binary is built here, and the base image is this machine's own Debian. The
// engine runs all instructions of the Dockerfile's last stage unchanged.
t.test('as an image on a Docker engine: ordinary user, read-only root, data in a volume', async (t) => {
  if (!hasPrograms(t, 'dockerd', 'docker', 'ldd')) return
  const binary = builtBinary()
  const libraries = librariesOf(binary)
  const engine = await startDocker(t)
  const { docker } = engine
  const slim = libraries.filter((path) => !path.includes('libatomic'))
  const programs = ['/usr/bin/bash', '/usr/bin/install', '/usr/sbin/groupadd', '/usr/sbin/useradd']
  importBase(engine, t, 'debian:12-slim', [...programs, ...slim])
  const context = mkdtempSync(join(tmpdir(), 'gameyard-image-'))
  t.teardown(() => rmSync(context, { recursive: true, force: true }))
  for (const name of ['bin', 'lib']) mkdirSync(join(context, 'out', name), { recursive: true })
  copyFileSync(binary, join(context, 'out/bin/gameyard'))
  for (const path of libraries.filter((path) => !slim.includes(path)))
    copyFileSync(realpathSync(path), join(context, 'out/lib/libatomic.so.1'))
  const dockerfile = readFileSync(join(root, 'docker/Dockerfile'), 'utf8')
  const lastStage = dockerfile.slice(dockerfile.indexOf('FROM debian:12-slim'))
  writeFileSync(join(context, 'Dockerfile'), `FROM scratch AS build\nCOPY out /out\n${lastStage}`)
  docker('build', '--network', 'none', '--tag', 'gameyard', context)

  const port = await freePort()
  const portal = `http://localhost:${port}`
  const inspect = (id: string, path: string) => docker('inspect', '--format', `{{${path}}}`, id).trim()
  const run = async () => {
    const id = docker(
      'run',
      '--detach',
      '--network',
      'host',
      '--read-only',
      '--tmpfs',
      '/tmp',
      '--cap-drop',
      'ALL',
      '--security-opt',
      'no-new-privileges',
      '--volume',
      'gameyard:/var/lib/gameyard',
      '--env',
      `SERVICE_LISTEN__PORT=${port}`,
      '--env',
      'SERVICE_LISTEN__HOST=127.0.0.1',
      'gameyard',
    ).trim()
    await until(async () => {
      if (inspect(id, '.State.Running') === 'false') throw new Error(docker('logs', id))
      return inspect(id, '.State.Health.Status') === 'healthy'
    }, 120)
    return id
  }
  const page = async () => {
    const { status, body } = await ask('GET', `http://pong.localhost:${port}/`)
    return { status, body: String(body) }
  }
  const first = await run()
  t.match(readFileSync(`/proc/${inspect(first, '.State.Pid')}/status`, 'utf8'), /^Uid:\t10001\t10001/m)
  t.throws(() => docker('exec', first, 'bash', '-c', 'echo > /etc/x'), /Read-only file system/)
  const ada = await signUp(portal, 'Ada')
  const token = await tokenOf(ada, portal, ['games:read', 'games:write', 'deployments:write'])
  await deployPage(portal, token, 'Pong', '<!doctype html><title>Pong</title>')
  t.match(await page(), { status: 200, body: '<title>Pong</title>' })
  docker('stop', '--time', '60', first)
  t.equal(inspect(first, '.State.ExitCode'), '0', 'it ends by itself when it is told to')

  const second = await run()
  t.match(await page(), { status: 200, body: '<title>Pong</title>' }, 'what it knew is in the volume')
  docker('kill', second)
  const third = await run()
  t.match(await page(), { status: 200, body: '<title>Pong</title>' }, 'also when it was killed')
  docker('rm', '--force', first, second, third)
  await composed(t, engine)
})

/**
 * Starts the service of deploy/compose.yaml with the printed configuration, and runs the printed commands in it. Only its
 * network differs: this engine has no bridge, and may lack the plugin `compose`.
 */
async function composed(t: Test, { docker }: DockerEngine): Promise<void> {
  const { services } = parse(readFileSync(join(root, 'deploy/compose.yaml'), 'utf8'))
  const {
    container_name: name,
    image,
    environment,
    volumes,
    tmpfs,
    read_only,
    cap_drop,
    security_opt,
  } = services.gameyard
  t.equal(read_only, true)
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-compose-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const place of ['etc/gameyard', 'mnt/backups']) mkdirSync(join(folder, place), { recursive: true })
  const port = await freePort()
  writeFileSync(join(folder, 'etc/gameyard/gameyard.yaml'), shippedConfiguration(port))
  const host = { ...environment, SERVICE_LISTEN__HOST: '127.0.0.1' }
  const guide = guideText('self-hosting')
  const [, owner = ''] = /install -d -o (\d+) -g \d+ -m 700 \/mnt\/backups/.exec(guide) ?? []
  chownSync(join(folder, 'mnt/backups'), Number(owner), Number(owner))
  docker(
    ...['run', '--detach', '--name', name, '--network', 'host', '--read-only'],
    ...tmpfs.flatMap((path: string) => ['--tmpfs', path]),
    ...cap_drop.flatMap((one: string) => ['--cap-drop', one]),
    ...security_opt.flatMap((one: string) => ['--security-opt', one]),
    ...volumes.flatMap((one: string) => ['--volume', one.startsWith('/') ? `${folder}${one}` : one]),
    ...Object.entries(host).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
    image,
  )
  await until(async () => (await ask('GET', `http://127.0.0.1:${port}/readyz`).catch(() => null))?.status === 200)
  const logs = await until(() => {
    const text = docker('logs', name)
    return text.includes('Set-up') && text.includes('backup made and verified') && text
  })
  t.match(logs, /Set-up[^\n]*https:\/\/example\.org\//)
  const [backup = ''] = guide.match(/^docker exec gameyard gameyard backup .*$/m) ?? []
  docker(...backup.split(' ').slice(1))
  const made = readdirSync(join(folder, 'mnt/backups'))
  t.ok(made.includes('before-upgrade.tar'), made.join(' '))
  const doctor = (() => {
    try {
      return docker('exec', name, 'gameyard', 'doctor', '--json')
    } catch (error) {
      return String((error as { stdout: string }).stdout)
    }
  })()
  const { checks } = JSON.parse(doctor)
  t.match(
    checks.find((check: { name: string }) => check.name === 'Backups'),
    { status: 'ok' },
  )
  docker('stop', '--time', '60', name)
  docker('rm', '--force', name)
}

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
