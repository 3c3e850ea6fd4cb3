/**
 * `npm run mutants`: mutation tests. It makes one mistake after another in a copy of the program, and checks that a
 * test fails.
 *
 *   npm run mutants                    all of them
 *   npm run mutants -- oauth ledger    those whose name or place has one of the words
 *   npm run mutants -- --jobs 2        so many beside each other
 *   npm run mutants -- --check         only whether each mistake's text and tests exist
 *
 * Each mistake (build/mutants/*.mjs) is a text that occurs exactly once below a folder, its replacement, and the tests
 * that should fail, in the order in which they run. They run in their short form, as in `npm test`; when all of them
 * pass, in their long form (`npm run test:all`). The working tree is never written to. The exit code is 1 when no test
 * detects a mistake in either form, when the short form detects fewer than nine in ten, or when a text is not found,
 * since a mistake that changes nothing proves nothing.
 */
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { parseArgs } from 'node:util'
import builds from './mutants/builds.mjs'
import clients from './mutants/clients.mjs'
import core from './mutants/core.mjs'
import decoding from './mutants/decoding.mjs'
import drivers from './mutants/drivers.mjs'
import limits from './mutants/limits.mjs'
import moderation from './mutants/moderation.mjs'
import oauth from './mutants/oauth.mjs'
import operations from './mutants/operations.mjs'
import pages from './mutants/pages.mjs'
import plugins from './mutants/plugins.mjs'
import publishing from './mutants/publishing.mjs'
import savesScoresAndCredits from './mutants/saves-scores-and-credits.mjs'
import scriptsAndAssistants from './mutants/scripts-and-assistants.mjs'
import teams from './mutants/teams.mjs'

const root = join(import.meta.dirname, '..')
/** Paths that the copies omit. A built program would run in place of the changed sources. */
const LEFT_OUT = /^(?:\.git|\.tap|node_modules|data|dist\/program|dist\/clients|coverage)(?:\/|$)/
/** Sources of files that are built for browsers and worker threads (`build/browser.ts`). */
const BUILT = /^(?:clients\/browser|core\/images|plugins\/assets\/models)\/|\/(?:islands|workers)\//
/** A test that no longer ends has detected the mistake. The limit is four times its duration, and at least this. */
const LEAST_MS = 120_000
const LONGEST_MS = 1_800_000

const USAGE = 'Usage: npm run mutants -- [WORD…] [--jobs 1 to 9] [--check]'
const { values, positionals: words } = readArguments()
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const all = [
  ...core,
  ...decoding,
  ...limits,
  ...oauth,
  ...operations,
  ...pages,
  ...plugins,
  ...drivers,
  ...clients,
  ...moderation,
  ...publishing,
  ...savesScoresAndCredits,
  ...builds,
  ...scriptsAndAssistants,
  ...teams,
]
const chosen = all.filter(
  ({ name, in: folder }) => words.length === 0 || words.some((word) => `${folder} ${name}`.includes(word)),
)
if (chosen.length === 0 || !/^[1-9]$/.test(values.jobs)) {
  console.error(`${words.join(' ') || values.jobs} names none. ${USAGE}`)
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'gameyard-mutants-'))
const running = new Set()
const endAll = () => {
  for (const child of running) end(child)
  rmSync(folder, { recursive: true, force: true })
}
process.on('exit', endAll)
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))

const places = findPlaces()
if (values.check) process.exit(0)
const copies = Array.from({ length: Number(values.jobs) }, (_, index) => makeCopy(String(index)))
const passes = new Map()
const survivors = { short: [], long: [] }
const queue = chosen.entries()
const startedAt = performance.now()
await Promise.all(
  copies.map(async (copy) => {
    for (const [index, mutant] of queue) await tryOne(copy, mutant, index)
  }),
)
const noticed = chosen.length - survivors.short.length
const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
for (const name of survivors.short.filter((name) => !survivors.long.includes(name)))
  console.log(`only the long form notices: ${name}`)
for (const name of survivors.long) console.log(`nothing notices: ${name}`)
console.log(`${noticed} of ${chosen.length} mistakes noticed by the short form, in ${minutes} minutes`)
process.exitCode = survivors.long.length > 0 || noticed < 0.9 * chosen.length ? 1 : 0

/** Ends with exit code 2 and one line when an option does not exist. */
function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        jobs: { type: 'string', default: '1' },
        check: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    console.error(`${error.message} ${USAGE}`)
    process.exit(2)
  }
}

/** Finds the file of each mistake by its text, because files may move. */
function findPlaces() {
  const texts = new Map()
  const textsBelow = (folder) => {
    const known = texts.get(folder)
    if (known) return known
    const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:ts|mjs|js|py)$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .filter((path) => !path.includes(`node_modules${sep}`))
      .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
    texts.set(folder, files)
    return files
  }
  const faults = []
  const found = chosen.map(({ name, in: folder, find, replace, tests }) => {
    const hits = textsBelow(folder).filter(({ text }) => text.includes(find))
    const times = hits.reduce((sum, { text }) => sum + text.split(find).length - 1, 0)
    if (times !== 1) faults.push(`${name}: its text stands ${times} times below ${folder}: ${find}`)
    if (find === replace) faults.push(`${name}: changes nothing`)
    for (const { path, text } of hits) {
      const fault = path.endsWith('.ts') && syntaxFault(text.replace(find, () => replace))
      if (fault) faults.push(`${name}: ${fault}`)
    }
    for (const test of tests)
      if (!existsSync(join(root, pathOf(test)))) faults.push(`${name}: there is no ${pathOf(test)}`)
    return hits[0]
  })
  if (faults.length > 0) {
    console.error(faults.join('\n'))
    process.exit(1)
  }
  return found
}

/** Returns the syntax error of a text, because any test would detect a program that does not start. */
function syntaxFault(text) {
  try {
    stripTypeScriptTypes(text)
    return null
  } catch (error) {
    return String(error.message)
  }
}

function makeCopy(name) {
  const copy = join(folder, name)
  cpSync(root, copy, { recursive: true, filter: (path) => !LEFT_OUT.test(relative(root, path)) })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction')
  return copy
}

async function tryOne(copy, { name, find, replace, tests }, index) {
  for (const test of tests) await mustPass(copy, test)
  const { path, text } = places[index]
  // The replacement is a function, because `$` has a meaning in a replacement string.
  writeFileSync(
    join(copy, path),
    text.replace(find, () => replace),
  )
  if (BUILT.test(path)) await buildBrowserFiles(copy)
  try {
    const by = (await firstFailure(copy, tests, 'short')) ?? null
    if (by) return console.log(`noticed   ${name} (${by})`)
    survivors.short.push(name)
    const later = await firstFailure(copy, tests, 'all')
    if (!later) survivors.long.push(name)
    console.log(later ? `long only ${name} (${later})` : `SURVIVED  ${name} (${path})`)
  } finally {
    writeFileSync(join(copy, path), text)
    if (BUILT.test(path)) await buildBrowserFiles(copy)
  }
}

/** Builds what browsers and worker threads run. Tests take it as it is. */
async function buildBrowserFiles(copy) {
  const status = await run(copy, ['build/browser.ts'], { extent: 'short', limitMs: LEAST_MS })
  if (status !== 0) throw new Error(`build/browser.ts ended with ${status}`)
}

async function firstFailure(copy, tests, extent) {
  for (const test of tests) {
    const limitMs = extent === 'all' ? LONGEST_MS : Math.max(LEAST_MS, 4 * (await passes.get(test)))
    const status = await runTest(copy, test, { extent, limitMs })
    if (status !== 0) return status === null ? `${test}, which came to no end` : test
  }
  return null
}

/**
 * Checks that a test passes without the mistake, since a failing test would detect any mistake. @returns its duration
 * in ms
 */
function mustPass(copy, test) {
  const known = passes.get(test)
  if (known) return known
  const passing = (async () => {
    const from = performance.now()
    const status = await runTest(copy, test, { extent: 'short', limitMs: LONGEST_MS })
    if (status !== 0) {
      console.error(`${pathOf(test)} fails without any mistake (${status}).`)
      process.exit(1)
    }
    return performance.now() - from
  })()
  passes.set(test, passing)
  return passing
}

/** Runs a test file up to its first failure. @returns its exit code; null when it exceeded the limit and was stopped */
function runTest(copy, test, limits) {
  return run(copy, [pathOf(test)], limits)
}

/** Runs a program of a copy. @returns its exit code; null when it exceeded the limit and was stopped */
function run(copy, arguments_, { extent, limitMs }) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, TEST_EXTENT: extent, TAP_BAIL: '1', TAP_TIMEOUT: '0', NODE_ENV: 'test' }
    const child = spawn(process.execPath, arguments_, { cwd: copy, env, stdio: 'ignore', detached: true })
    running.add(child)
    const timer = setTimeout(() => end(child), limitMs)
    child.once('error', reject)
    child.once('exit', (code) => {
      clearTimeout(timer)
      // This ends processes that the test started and did not end.
      end(child)
      running.delete(child)
      resolve(code)
    })
  })
}

function end(child) {
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}

function pathOf(test) {
  return `test/${test}.test.ts`
}
