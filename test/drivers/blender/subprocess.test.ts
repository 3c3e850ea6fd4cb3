import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { testBlenderDriver } from '../../../drivers/blender/conformance.ts'
import { sandboxCommand } from '../../../drivers/blender/sandbox.ts'
import subprocess from '../../../drivers/blender/subprocess.ts'
import { hasPrograms } from '../../kit/components.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { ALL } from '../../kit/extent.ts'
import { until } from '../../kit/until.ts'

const settings = {
  command: 'blender',
  capacity: 2,
  memoryBytes: 1024 ** 3,
  diskBytes: 64 * 1024 ** 2,
  processes: 64,
  threads: 2,
  unsafe: false,
}
const dataDir = mkdtempSync(join(tmpdir(), 'gameyard-subprocess-'))
t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))

// The tests in plugins/blender run a job of each kind; these test the sandbox's restrictions.
if (ALL && hasPrograms(t, 'blender', 'bwrap'))
  testBlenderDriver({
    name: 'subprocess',
    create: () => subprocess.create(settings, driverContext({ dataDir })),
    leftovers: async () => readdirSync(dataDir),
  })

t.test('without bubblewrap it runs nothing, and says what is missing', async (t) => {
  const path = process.env.PATH
  process.env.PATH = '/nowhere'
  t.teardown(() => {
    process.env.PATH = path
  })
  const command = existsSync('/usr/bin/blender') ? '/usr/bin/blender' : process.execPath
  const executor = await subprocess.create({ ...settings, command }, driverContext({ dataDir }))
  t.match(await executor.check(), { available: false, reason: /bubblewrap/ })
  const run = {
    id: 'x',
    files: [{ path: 'main.py', content: '' }],
    main: 'main.py',
    artifacts: [],
    output: dataDir,
    limits: { timeoutSeconds: 5, artifactBytes: 1, logBytes: 1 },
    signal: new AbortController().signal,
    onLine: () => {},
  }
  await t.rejects(executor.run(run), { code: /blender_unavailable/i })
})

t.test('a sandbox whose bwrap is killed before it has started ends with the sweep, and no other', async (t) => {
  if (!hasPrograms(t, 'bwrap')) return
  const sandbox = await sandboxCommand({ ...settings, blender: '/usr/bin/blender' }, 0)
  // bwrap starts the first process, reports it, and only then lets it continue. In a full pipe the report waits.
  const pipe = join(t.testdir(), 'pipe')
  t.equal(spawnSync('mkfifo', [pipe]).status, 0)
  const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  t.throws(
    () => {
      for (;;) writeSync(reader, Buffer.alloc(4096))
    },
    { code: 'EAGAIN' },
  )
  const report = openSync(pipe, constants.O_WRONLY)
  t.teardown(() => {
    closeSync(reader)
    closeSync(report)
  })
  const start = async (reportTo: 'pipe' | number) => {
    const args = ['--info-fd', '3', ...sandbox.args, '/bin/sleep', '1000']
    const child = spawn(sandbox.command, args, { ...sandbox.spawn, stdio: ['ignore', 'ignore', 'inherit', reportTo] })
    t.teardown(() => child.kill('SIGKILL'))
    const pid = child.pid as number
    const [first] = await until(async () => {
      const children = childrenOf(pid)
      return children.length > 0 ? children : null
    })
    return { child, first: first as number }
  }
  const waiting = await start(report)
  const running = await start('pipe')
  await until(() => childrenOf(running.first).length > 0)
  const executor = await subprocess.create(settings, driverContext({ dataDir }))
  t.teardown(() => executor.close())
  await executor.sweep()
  t.ok(isAlive(waiting.first) && isAlive(running.first), 'those that have their bwrap stay')

  waiting.child.kill('SIGKILL')
  await once(waiting.child, 'exit')
  await executor.sweep()
  await until(() => !isAlive(waiting.first))
  t.ok(isAlive(running.first), 'the other still runs')
})

/** The state of a process that has ended, and that its parent has not asked about, is Z. */
function isAlive(pid: number): boolean {
  const file = `/proc/${pid}/stat`
  return existsSync(file) && !/\) Z /.test(readFileSync(file, 'utf8'))
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

t.test('with unsafe: true it runs without a sandbox, in so many words', async (t) => {
  if (!hasPrograms(t, 'blender')) return
  t.ok(spawnSync('blender', ['--version']).status === 0)
  const executor = await subprocess.create({ ...settings, unsafe: true }, driverContext({ dataDir }))
  t.teardown(() => executor.close())
  const output = t.testdir()
  // A start of Blender may take twenty times as long beside other work.
  const run = (script: string, timeoutSeconds = 240) =>
    executor.run({
      id: 'unsafe',
      files: [{ path: 'main.py', content: script }],
      main: 'main.py',
      artifacts: ['a.txt'],
      output,
      limits: { timeoutSeconds, artifactBytes: 1000, logBytes: 100_000 },
      signal: new AbortController().signal,
      onLine: () => {},
    })
  t.match(await run("import sys; open(sys.argv[-1] + '/a.txt', 'w').write('hello')"), {
    ending: 'exited',
    code: 0,
    artifacts: ['a.txt'],
  })
  const niceness = "import os, sys; open(sys.argv[-1] + '/a.txt', 'w').write(str(os.nice(0)))"
  t.match(await run(niceness), { ending: 'exited', code: 0 })
  t.equal(readFileSync(join(output, 'a.txt'), 'utf8'), '10', 'it gives way to everything else')
  t.match(await run('import time; time.sleep(100)', 4), { ending: 'timeout' })
  t.same(readdirSync(join(dataDir, 'blender', 'unsafe')), [], 'its folders go')
})
