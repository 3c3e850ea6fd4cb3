import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, globSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { start, temporaryFolder } from '../../bin/program.ts'
import { inFull } from '../../kit/extent.ts'
import { until } from '../../kit/until.ts'
import { ask } from '../../kit/upload.ts'
import { machine, startTestServer, type TestServer, terminalOf, typedProcess, writeBuild } from './kit.ts'

const FILES = 600

/** Mounts a file system of a given size for the test; null where mounting is not permitted. */
function smallDisk(t: Test, options: string): string | null {
  const folder = temporaryFolder(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    t.pass('skipped', { skip: 'mounting a small file system takes a privilege that is missing here' })
    return null
  }
  t.teardown(() => execFileSync('umount', ['-l', folder]))
  return folder
}

/** The number of files that the platform has stored. */
const storedFiles = ({ server }: TestServer) =>
  globSync('data/blobs/blobs/**/*', { cwd: server.folder, withFileTypes: true }).filter((entry) => entry.isFile())
    .length

/** Waits until files of a deploy have arrived. The screen is looked at too seldom to see the middle of it. */
async function arriving(platform: TestServer, before: number): Promise<void> {
  await until(() => storedFiles(platform) >= before + 40)
}

async function isWhole(platform: TestServer): Promise<boolean> {
  const address = `http://long.localhost:${platform.server.port}`
  const answers = await Promise.all(
    ['/', `/levels/1.bin`, `/levels/${FILES - 1}.bin`].map((path) => ask('GET', `${address}${path}`)),
  )
  return answers.every(({ status }) => status === 200) && answers[0]?.body.includes('It is all there.')
}

t.test('a deploy that is killed in the middle is gone on with by the next one', async (t) => {
  const platform = await startTestServer(t)
  const mine = machine(t, { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: platform.server.portal })
  const terminal = await terminalOf(t, mine)
  if (!terminal) return
  writeBuild(join(mine.cwd, 'dist'), FILES)
  const before = storedFiles(platform)
  await terminal.type('gameyard deploy dist --create')
  await arriving(platform, before)
  process.kill(typedProcess(mine), 'SIGKILL')
  await terminal.sees(/Killed/)
  t.equal((await ask('GET', `http://long.localhost:${platform.server.port}/`)).status, 404, 'nothing is live yet')

  await terminal.clear()
  await terminal.type('gameyard deploy')
  const screen = await terminal.sees(/Live {2}Long/)
  const arrived = Number(/Going on with the deploy of .*: (\d+) files had arrived/.exec(screen)?.[1])
  const uploaded = Number(/(\d+) uploaded/.exec(screen)?.[1])
  t.ok(arrived >= 20, `${arrived} files had arrived`)
  t.equal(arrived + uploaded, FILES, 'and only the others were sent')
  t.ok(await isWhole(platform))
  t.same(readdirSync(join(mine.env.XDG_STATE_HOME as string, 'gameyard/deploys')), [], 'nothing is remembered any more')
  const { deploys } = await mine.json('rollback', '--list')
  t.equal(deploys.length, 1, 'it was one deploy all the time')
})

inFull(t)?.test(
  'a platform that goes away in the middle is waited for, and in the end it says what is so',
  async (t) => {
    const platform = await startTestServer(t, {})
    const mine = machine(t, { SERVICE_API_TOKEN: await platform.token(), SERVICE_BASE_URL: platform.server.portal })
    const terminal = await terminalOf(t, mine)
    if (!terminal) return
    const again = async () => {
      const server = start(t, ['serve'], { cwd: platform.server.folder })
      await server.says('"msg":"ready"')
      return server
    }
    writeBuild(join(mine.cwd, 'dist'), FILES)
    const before = storedFiles(platform)
    await terminal.type('gameyard deploy dist --create')
    await arriving(platform, before)
    await platform.server.stop('SIGKILL')
    await terminal.sees(/Nothing answers at \S+ \((connection refused|the connection was cut)\)\. Trying again…/)
    const end = await terminal.sees(/Run the same command again/)
    t.match(end, /\d+ of 600 files had been sent\./)
    t.match(end, /Nothing was published; players see the version before\./)

    let server = await again()
    await terminal.clear()
    const arrived = storedFiles(platform)
    await terminal.type('gameyard deploy')
    await arriving(platform, arrived)
    server.process.kill('SIGKILL')
    await server.ended
    await terminal.sees(/Going on with/)
    await terminal.sees(/Trying again…/)
    server = await again()
    await terminal.sees(/Live {2}Long/)
    t.ok(await isWhole(platform), 'a restart within its patience it does not even mind')
    t.equal((await mine.gameyard('deploy')).code, 0)
  },
)

inFull(t)?.test("the platform's disk being full is said, and the deploy goes on when there is room", async (t) => {
  const disk = smallDisk(t, 'size=24m')
  if (!disk) return
  const platform = await startTestServer(t, { folder: disk })
  const { gameyard, cwd } = machine(t, {
    SERVICE_API_TOKEN: await platform.token(),
    SERVICE_BASE_URL: platform.server.portal,
  })
  const ballast = join(disk, 'ballast')
  writeFileSync(join(cwd, 'index.html'), '<title>Long</title>It is all there.')
  for (let part = 0; part < 4; part++) writeFileSync(join(cwd, `part${part}.bin`), Buffer.alloc(2_000_000, part + 1))
  t.equal((await gameyard('games', 'create', '--title', 'Long', '--description', '')).code, 0)
  const free = () => Number(execFileSync('df', ['--output=avail', '-B1', disk], { encoding: 'utf8' }).split('\n')[1])
  writeFileSync(ballast, Buffer.alloc(Math.max(0, free() - 5_000_000)))
  const full = await gameyard('deploy', '.', '--game', 'long')
  t.match(full, { code: 1, stderr: /was not taken[\s\S]*disk is full[\s\S]*run the same command/ })
  writeFileSync(ballast, '')
  t.match(await gameyard('deploy', '.', '--game', 'long'), { code: 0, stdout: /Live {2}Long/, stderr: /Going on with/ })
})

inFull(t)?.test('a full disk or a read-only folder here is said before anybody is sent to a browser', async (t) => {
  const platform = await startTestServer(t)
  const { portal } = platform.server
  const readOnly = smallDisk(t, 'ro,size=64k')
  const full = smallDisk(t, 'size=64k')
  if (!readOnly || !full) return
  const refused = await machine(t, { XDG_CONFIG_HOME: readOnly }).gameyard('login', '--url', portal)
  t.match(refused, {
    code: 1,
    stdout: '',
    stderr:
      /can't be kept in \S+credentials\.json: the file system is read-only\.\n {2}Nothing was changed\. Make the folder writable/,
  })
  t.notMatch(refused.stderr, /Approve/)

  try {
    writeFileSync(join(full, 'ballast'), Buffer.alloc(100_000))
  } catch {
    // The write fails because it fills the disk, as intended.
  }
  const token = await platform.token()
  const mine = machine(t, { XDG_CONFIG_HOME: full })
  t.match(await mine.withInput(token, 'login', '--with-token', '--url', portal), {
    code: 1,
    stderr: /the disk is full\.\n {2}Nothing was changed/,
  })
  t.same(readdirSync(join(full, 'gameyard')), [], 'no half file is left behind')
  t.match(await machine(t, { XDG_CONFIG_HOME: full, SERVICE_API_TOKEN: token }).json('whoami', '--url', portal), {
    user: { name: 'Ada' },
  })

  // A deploy does not require a journal: where none can be written it works, from the beginning each time.
  const amnesiac = machine(t, { XDG_STATE_HOME: readOnly, SERVICE_API_TOKEN: token, SERVICE_BASE_URL: portal })
  writeFileSync(join(amnesiac.cwd, 'index.html'), '<title>Long</title>It is all there.')
  t.match(await amnesiac.json('deploy', '--create'), { uploaded: 1 })
})

t.test('a damaged or foreign settings file is no riddle', async (t) => {
  const { gameyard, json, configFolder, env } = machine(t)
  mkdirSync(configFolder, { recursive: true })
  const file = join(configFolder, 'credentials.json')
  writeFileSync(file, '{ "platforms"')
  t.match(await gameyard('whoami'), {
    code: 1,
    stderr: /credentials\.json is damaged\.\n {2}Remove it and sign in again: gameyard login/,
  })
  writeFileSync(file, JSON.stringify({ current: null, platforms: {} }))
  chmodSync(file, 0o644)
  const { checks } = await json('doctor', '--url', 'http://127.0.0.1:9')
  t.match(checks, [
    { name: 'Program', status: 'ok' },
    { name: 'Settings', status: 'warning', hint: `chmod 600 ${file}` },
    {},
    { name: 'Connection', status: 'failed' },
  ])
  t.ok(existsSync(env.HOME as string))
})

t.test('Ctrl-C stops a sign-in, and nothing is kept', async (t) => {
  const platform = await startTestServer(t)
  const mine = machine(t)
  const terminal = await terminalOf(t, mine)
  if (!terminal) return
  await terminal.type(`gameyard login --url ${platform.server.portal}; echo code $?`)
  await terminal.sees(/shows the code/)
  await terminal.press('C-c')
  await terminal.sees(/Stopped\.\s+code 130/)
  t.notOk(existsSync(join(mine.configFolder, 'credentials.json')))
})
