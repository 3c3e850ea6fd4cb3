/**
 * `npm test`: runs the tests and ends with `N passed, N failed, N skipped` on a separate line. The exit code is 0 when
 * no test has failed, 1 when one has, and 2 when an argument is no test.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chooseFiles, durationsFile, readDurations, root } from './test/files.ts'
import { type Options, readOptions, USAGE, WrongUsage } from './test/options.ts'
import { type Finished, runFiles } from './test/pool.ts'
import { failuresOf, fileLine, sum, summarize } from './test/summary.ts'

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2))
  if (options === 'help') {
    console.log(USAGE)
    return 0
  }
  const files = chooseFiles(options)
  const startedAt = performance.now()
  const finished: Finished[] = []
  const { done, stop } = runFiles(files, {
    jobs: options.jobs,
    minutes: options.minutes,
    env: {
      ...process.env,
      TEST_EXTENT: options.extent === 'short' ? 'short' : 'all',
      // Each test has its own limit.
      TAP_TIMEOUT: '0',
      // The cache of compiled code saves a quarter of the import time.
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/gameyard/tests'),
    },
    onFinished(one) {
      // When all packages are installed, a file that ends without a test counts as failed.
      const isEmpty = one.counts.passed + one.counts.failed + one.counts.skipped === 0
      if (isEmpty) one = { ...one, counts: { ...one.counts, failed: 1 }, failures: [`${one.file}: there are no tests`] }
      finished.push(one)
      console.log(fileLine(one))
      // A long run says at once what has failed, and again at its end, where it is looked for.
      if (files.length > 1) for (const line of failuresOf(one)) console.log(line)
    },
  })
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      interrupted = true
      stop('SIGTERM')
    })
  await done
  console.log(summarize(finished, (performance.now() - startedAt) / 1000))
  if (options.saveDurations && !interrupted) saveDurations(options, finished)
  return interrupted || sum(finished.map(({ counts }) => counts)).failed > 0 ? 1 : 0
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
