import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { testBlenderDriver } from '../../../drivers/blender/conformance.ts'
import subprocess from '../../../drivers/blender/subprocess.ts'
import { hasPrograms } from '../../kit/components.ts'
import { driverContext } from '../../kit/driver-context.ts'
import { ALL } from '../../kit/extent.ts'

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
