/**
 * `npm test`: runs the tests and ends with `N passed, N failed, N skipped` on a separate line. A file that failed runs
 * once more at the end, alone. The exit code is 0 when every file has passed and at most two needed the second try, 1
 * otherwise, and 2 when an argument is no test.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chooseFiles, durationsFile, readDurations, root, type TestFile } from './test/files.ts'
import { type Options, readOptions, USAGE, WrongUsage } from './test/options.ts'
import { type Finished, type Run, runFiles } from './test/pool.ts'
import { measureSlowness } from './test/slowness.ts'
import { failuresOf, fileLine, judge, summarize } from './test/summary.ts'

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2))
  if (options === 'help') {
    console.log(USAGE)
    return 0
  }
  const files = chooseFiles(options)
  const startedAt = performance.now()
  const slowness = await measureSlowness()
  if (slowness > 1) console.log(`This machine is slower than usual: time limits of tests times ${slowness}.`)
  const env = {
    ...process.env,
    TEST_EXTENT: options.extent === 'short' ? 'short' : 'all',
    TEST_SLOWNESS: String(slowness),
    // Each test has its own limit.
    TAP_TIMEOUT: '0',
    // The cache of compiled code saves a quarter of the import time.
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/gameyard/tests'),
  }
  let run: Run | undefined
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      interrupted = true
      run?.stop('SIGTERM')
    })
  const runAll = async (files: TestFile[], jobs: number): Promise<Finished[]> => {
    const finished: Finished[] = []
    run = runFiles(files, {
      jobs,
      env,
      onFinished(one) {
        const result = withoutTestsFailed(one)
        finished.push(result)
        console.log(fileLine(result))
        // A long run shows a failure at once, and again at its end.
        if (files.length > 1) for (const line of failuresOf(result)) console.log(line)
      },
    })
    await run.done
    return finished
  }

  const first = await runAll(files, options.jobs)
  const failed = first.filter(({ counts }) => counts.failed > 0).map(({ file }) => file)
  let second: Finished[] = []
  if (options.secondTry && failed.length > 0 && !interrupted) {
    console.log('\nA second try, each file alone:')
    second = await runAll(
      files.filter(({ path }) => failed.includes(path)).map((file) => ({ ...file, alone: true })),
      1,
    )
  }
  const outcome = judge(first, second)
  console.log(summarize(outcome, (performance.now() - startedAt) / 1000))
  if (options.saveDurations && !interrupted) saveDurations(options, first)
  return interrupted || !outcome.passed ? 1 : 0
}

/** When all packages are installed, a file that ends without a test counts as failed. */
function withoutTestsFailed(one: Finished): Finished {
  const { passed, failed, skipped } = one.counts
  if (passed + failed + skipped > 0) return one
  return { ...one, counts: { passed, failed: 1, skipped }, failures: [`${one.file}: there are no tests`] }
}

/** Stores the durations, without those of removed files. */
function saveDurations({ extent }: Options, finished: Finished[]): void {
  const durations = readDurations()
  const kept = extent === 'short' ? 'short' : 'all'
  const taken = finished.map(({ file, seconds }) => [file, Number(seconds.toFixed(1))] as const)
  durations[kept] = Object.fromEntries(
    [...Object.entries(durations[kept]).filter(([file]) => existsSync(join(root, file))), ...taken].sort(
      ([one], [other]) => (one < other ? -1 : 1),
    ),
  )
  writeFileSync(durationsFile, `${JSON.stringify(durations, null, 2)}\n`)
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof WrongUsage)) throw error
  console.error(error.message)
  process.exitCode = 2
}
