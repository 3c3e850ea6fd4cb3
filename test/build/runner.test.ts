// Tests how `npm test` reads its arguments, distributes files, and reports at its end.
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chooseFiles } from '../../build/test/files.ts'
import { type Options, readOptions, WrongUsage } from '../../build/test/options.ts'
import type { Finished } from '../../build/test/pool.ts'
import { judge, summarize } from '../../build/test/summary.ts'

const root = join(import.meta.dirname, '../..')
const read = (...args: string[]) => readOptions(args) as Options
const paths = (...args: string[]) => chooseFiles(read(...args)).map(({ path }) => path)

t.test('a folder, a file, or everything; the long form has more', async (t) => {
  const tokens = paths('test/plugins/tokens')
  t.ok(tokens.length > 0 && tokens.every((path) => path.startsWith('test/plugins/tokens/')))
  t.same(paths('test/core/origins/origins.test.ts'), ['test/core/origins/origins.test.ts'])
  const [short, all, rest] = [paths(), paths('--all'), paths('--rest')]
  const isLong = (path: string) => path.endsWith('.long.test.ts')
  t.notOk(short.some(isLong))
  t.same(all.filter((path) => !isLong(path)).sort(), [...short].sort())
  t.ok(rest.filter(isLong).length === all.filter(isLong).length && rest.length < all.length)
  t.same(paths('test/system/release.long.test.ts'), ['test/system/release.long.test.ts'], 'one that is named runs')
})

t.test('shards have every file once, the same whoever asks, and about as much to do', async (t) => {
  const shards = [1, 2, 3, 4].map((number) => chooseFiles(read('--all', '--shard', `${number}/4`)))
  t.same(shards.flatMap((files) => files.map(({ path }) => path)).sort(), paths('--all').sort())
  const seconds = shards.map((files) => files.reduce((sum, file) => sum + file.seconds, 0))
  const longest = shards.flat().reduce((most, file) => Math.max(most, file.seconds), 0)
  t.ok(Math.max(...seconds) - Math.min(...seconds) <= longest, `${seconds.map(Math.round)} s`)
})

t.test('what is typed wrongly is said in one line, with exit code 2', async (t) => {
  const wrong = {
    'There is no test/nothing.': ['test/nothing'],
    'There are no tests in docs.': ['docs'],
    '--shard 5/4: a shard is the first of four as 1/4, the last as 4/4.': ['--shard', '5/4'],
    '--jobs 0: a number from 1 to 99.': ['--jobs', '0'],
    '--all and --rest exclude each other.': ['--all', '--rest'],
  }
  for (const [message, args] of Object.entries(wrong))
    t.throws(() => chooseFiles(read(...args)), new WrongUsage(message), message)
  const run = spawnSync(process.execPath, [join(root, 'build/test.ts'), 'test/nothing'], {
    cwd: root,
    encoding: 'utf8',
  })
  t.match(run, { status: 2, stdout: '', stderr: 'There is no test/nothing.\n' })
})

const finished = (file: string, more: Partial<Finished> = {}): Finished => ({
  file,
  failures: [],
  skips: [],
  seconds: 1,
  processorSeconds: 1,
  timedOut: false,
  output: '',
  counts: { passed: 3, failed: 0, skipped: 0 },
  ...more,
})
const failing = (file: string) =>
  finished(file, { counts: { passed: 1, failed: 1, skipped: 0 }, failures: [`${file}: is one`] })

t.test('at the end: failures, what was left out and why, and the counts alone on the last line', async (t) => {
  const absent = 'blender is not installed (Debian: apt install blender python3-numpy)'
  const first = [
    failing('test/a.test.ts'),
    finished('test/b.test.ts', { counts: { passed: 1, failed: 0, skipped: 2 }, skips: [absent, absent] }),
    finished('test/c.test.ts', { output: 'nobody asks for what a file wrote that passed' }),
  ]
  const text = summarize(judge(first, []), 2)
  t.match(text, 'test/a.test.ts: is one')
  t.match(text, `Not tested here:\n  2 skipped: ${absent}\n`)
  t.notMatch(text, 'nobody asks')
  t.equal(text.split('\n').at(-1), '5 passed, 1 failed, 2 skipped')
})

t.test('a run passes with at most two files that needed a second try, and with none that failed twice', async (t) => {
  const [a, b, c] = ['test/a.test.ts', 'test/b.test.ts', 'test/c.test.ts'] as const
  t.match(judge([finished(a)], []), { passed: true, unsteady: [] })
  t.match(judge([failing(a)], []), { passed: false, unsteady: [] }, 'without a second try')
  t.match(judge([failing(a)], [failing(a)]), { passed: false, unsteady: [] }, 'failed twice')
  const two = judge([failing(a), failing(b), finished(c)], [finished(a), finished(b)])
  t.match(two, { passed: true, unsteady: [{ file: a }, { file: b }] })
  t.match(two.finished[0], { counts: { passed: 3, failed: 0 }, processorSeconds: 2 }, 'the counts of the second try')
  const three = judge([failing(a), failing(b), failing(c)], [finished(a), finished(b), finished(c)])
  t.equal(three.passed, false)
  t.match(summarize(three, 2), 'More than 2 files were unsteady, so this run has failed.')
  t.equal(judge([failing(a), failing(b)], [finished(a), failing(b)]).passed, false)
})

t.test('a file that failed runs once more, alone in a process, and the report says so', async (t) => {
  const folder = t.testdir({
    test: {
      'durations.json': JSON.stringify({ short: {}, all: {} }),
      'steady.test.ts': "import t from 'tap'\nt.ok(true, 'steady')\n",
      // It leaves its process id at its first run, and passes in another process only.
      'unsteady.test.ts': `
        import { existsSync, readFileSync, writeFileSync } from 'node:fs'
        import t from 'tap'
        const mark = new URL('first', import.meta.url)
        if (!existsSync(mark)) writeFileSync(mark, String(process.pid))
        t.not(readFileSync(mark, 'utf8'), String(process.pid), 'another process')`,
    },
  })
  // The runner works on the tree that it stands in.
  for (const path of ['build/test', 'build/test.ts', 'test/kit/process-end.ts', 'test/kit/time-limit.ts'])
    cpSync(join(root, path), join(folder, path), { recursive: true })
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(folder, 'build/test.ts'), '--jobs', '1', ...args], { encoding: 'utf8' })
  const one = run('--no-second-try')
  t.match(one.stdout, /another process.*\n1 passed, 1 failed, 0 skipped\n$/s)
  t.equal(one.status, 1, one.stderr)
  rmSync(join(folder, 'test/first'))
  const two = run()
  t.match(two.stdout, /A second try, each file alone:\npass {2}test\/unsteady.test.ts/)
  t.match(two.stdout, /Unsteady .*another process.*\n2 passed, 0 failed, 0 skipped\n$/s)
  t.equal(two.status, 0, two.stderr)
})
