// Tests how `npm test` reads its arguments, distributes files, and reports at its end.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { chooseFiles } from '../../build/test/files.ts'
import { type Options, readOptions, WrongUsage } from '../../build/test/options.ts'
import type { Finished } from '../../build/test/pool.ts'
import { summarize } from '../../build/test/summary.ts'

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
    '--minutes x: a number from 0 to 999.': ['--minutes', 'x'],
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

t.test('what there is no time to begin is named, and counts as skipped', async (t) => {
  const file = 'test/core/http/pagination.test.ts'
  const run = spawnSync(process.execPath, [join(root, 'build/test.ts'), file, '--minutes', '0'], {
    cwd: root,
    encoding: 'utf8',
  })
  t.equal(run.status, 0)
  t.match(run.stdout, `skip  ${file}  0 passed, 1 skipped`)
  t.match(run.stdout, '  1 skipped: no time was left to begin the file (--minutes 0)\n')
  t.equal(run.stdout.trimEnd().split('\n').at(-1), '0 passed, 0 failed, 1 skipped')
})

t.test('at the end: failures, what was left out and why, and the counts alone on the last line', async (t) => {
  const finished = (file: string, more: Partial<Finished>): Finished => ({
    ...{ file, failures: [], skips: [], seconds: 1, processorSeconds: 1, timedOut: false, output: '' },
    counts: { passed: 3, failed: 0, skipped: 0 },
    ...more,
  })
  const absent = 'blender is not installed (Debian: apt install blender python3-numpy)'
  const text = summarize(
    [
      finished('test/a.test.ts', {
        counts: { passed: 1, failed: 1, skipped: 0 },
        failures: ['test/a.test.ts: is one'],
      }),
      finished('test/b.test.ts', { counts: { passed: 1, failed: 0, skipped: 2 }, skips: [absent, absent] }),
      finished('test/c.test.ts', { output: 'nobody asks for what a file wrote that passed' }),
    ],
    2,
  )
  t.match(text, 'test/a.test.ts: is one')
  t.match(text, `Not tested here:\n  2 skipped: ${absent}\n`)
  t.notMatch(text, 'nobody asks')
  t.equal(text.split('\n').at(-1), '5 passed, 1 failed, 2 skipped')
})
