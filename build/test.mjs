// Runs the tests and closes with `N passed, N failed, N skipped`, alone on a line. Arguments go to tap: files, --bail …
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const tap = spawn(
  'node_modules/.bin/node',
  ['node_modules/.bin/tap', 'run', '--reporter=base', ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: ['inherit', 'pipe', 'inherit'],
    // Keeps tap from redrawing its screen: one line a file as it ends, then the failures. CI itself is not set here,
    // since tests look at it to decide whether an absent component is a failure.
    // What was compiled once is kept: a quarter of the time that a file's imports take.
    env: {
      ...process.env,
      CONTINUOUS_INTEGRATION: '1',
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/gameyard/tests'),
    },
  },
)
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => tap.kill(signal))

let output = ''
tap.stdout.on('data', (chunk) => {
  process.stdout.write(chunk)
  output += chunk
})
tap.on('error', (error) => console.error(`tap could not be started: ${error.message}`))
tap.on('close', (code) => {
  const { pass, fail, skip, todo } = summary(output) ?? files(output)
  // Where everything is installed, a file that comes to its end, or to its time limit, without a test has failed.
  const none = process.env.CI === 'true' ? (output.match(/^ ~ no tests found$/gm) ?? []).length : 0
  if (none > 0) console.log(`${none} files had no tests.`)
  // One that dies before its first assertion fails without one being counted.
  const failed = code === 0 ? fail + none : Math.max(fail + none, 1)
  console.log(`${pass} passed, ${failed} failed, ${skip + todo} skipped`)
  process.exitCode = code === 0 && failed > 0 ? 1 : (code ?? 1)
})

/** Reads tap's last word: `# { total: 8, pass: 5, fail: 1, skip: 2 }`, where what is zero may be missing. */
function summary(text) {
  const [, line] = [...text.matchAll(/^# \{ (.*) \}$/gm)].at(-1) ?? []
  if (line === undefined) return null
  const counts = { pass: 0, fail: 0, skip: 0, todo: 0 }
  for (const [, name, count] of line.matchAll(/(\w+): (\d+)/g)) counts[name] = Number(count)
  return counts
}

/** Tap did not come to its last word: the lines of the files, ` FAIL  test/a.test.ts 1 failed, 2 skip of 35 13s`. */
function files(text) {
  const counts = { pass: 0, fail: 0, skip: 0, todo: 0 }
  for (const [, line] of text.matchAll(/^ (?:PASS|FAIL|SKIP|TODO) +\S+ (.*) \S+$/gm)) {
    const all = Number(/(\d+)(?: OK)?$/.exec(line)?.[1] ?? 0)
    const [fail, skip, todo] = ['failed', 'skip', 'todo'].map((what) => Number(line.match(`(\\d+) ${what}`)?.[1] ?? 0))
    counts.pass += all - fail - skip - todo
    counts.fail += fail
    counts.skip += skip
    counts.todo += todo
  }
  return counts
}
