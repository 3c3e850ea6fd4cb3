// Prepares a source tree: the packages that the program needs, browser files and the program. --dev adds the packages
// that contributors need, --test also the test runner. It runs before `npm start`, `npm test` and `npm run check`, on
// Node 20 or later and without node_modules. It does nothing when everything is installed and current.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installedNode, npmCommand } from './executables.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const node = installedNode(root)
const forTests = process.argv.includes('--test')
const forDevelopment = forTests || process.argv.includes('--dev')
/** The development packages are installed when one of them is. */
const hasDevelopment = existsSync(join(root, 'node_modules/tap/package.json'))

if (isOlder('node_modules/.package-lock.json', 'package-lock.json'))
  await install('ci', forDevelopment || hasDevelopment)
// This adds to the installed packages.
else if (forDevelopment && !hasDevelopment) await install('install', true)
await Promise.all([start(node, ['build/browser.ts', '--if-stale']), start(node, ['build/program.ts', '--if-stale'])])
if (forTests) {
  // The packages are built here, because the tests that pack them run in parallel.
  await start(node, ['build/clients.ts', '--if-stale'])
  await prepareTap()
}
// What the platform offers to game developers. A contributor who needs their types builds them with the tests.
else await start(node, ['build/client-packages.ts', '--if-stale', '--without-types'])

function isOlder(file, than) {
  return !existsSync(join(root, file)) || statSync(join(root, file)).mtimeMs < statSync(join(root, than)).mtimeMs
}

async function install(command, withDevelopment) {
  // Optional packages are required whatever NODE_ENV is, because Node itself is one.
  const kinds = [withDevelopment ? '--include=dev' : '--omit=dev', '--include=optional']
  const arguments_ = [command, '--no-audit', '--no-fund', '--no-save', '--loglevel=error', '--progress=false', ...kinds]
  // The Node in node_modules must not replace node_modules.
  const { npm_node_execpath: outerNode, npm_execpath: npm, PATH = '' } = process.env
  const outerPath = PATH.split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter)
  const env = { ...process.env, PATH: outerPath }
  const finished = showProgress(withDevelopment)
  // The progress line of this script replaces npm's summary.
  const options = { env, stdout: 'ignore' }
  const isOuter = outerNode && !outerNode.includes('node_modules')
  const [program, ...first] = npmCommand(isOuter ? { node: outerNode, npm } : { npm: null })
  await start(program, [...first, ...arguments_], options)
  finished()
}

/**
 * Shows how many packages are installed, because npm prints nothing while it works. On a terminal the line is redrawn;
 * elsewhere every tenth number is appended to it.
 */
function showProgress(withDevelopment) {
  const packages = expectedPackages(withDevelopment)
  const startedAt = Date.now()
  const { isTTY } = process.stderr
  const seconds = () => `${Math.round((Date.now() - startedAt) / 1000)} s`
  const title = `Installing ${packages.length} packages${withDevelopment ? ', those of the tests included' : ''}`
  let tenths = 0
  if (!isTTY) process.stderr.write(`${title}:`)
  const timer = setInterval(() => {
    const there = packages.filter((path) => existsSync(join(root, path, 'package.json'))).length
    if (isTTY) return process.stderr.write(`\r${title}: ${there} after ${seconds()} `)
    for (; tenths < Math.floor((there / packages.length) * 10); tenths++) process.stderr.write(` ${tenths + 1}0 %`)
  }, 500)
  return () => {
    clearInterval(timer)
    process.stderr.write(isTTY ? `\r${title}: done in ${seconds()}   \n` : `, done in ${seconds()}\n`)
  }
}

/** Returns the folders of the packages that npm installs on this machine. */
function expectedPackages(withDevelopment) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const fits = (given, here) => {
    const list = [given ?? []].flat()
    return list.length === 0 || list.includes(here) || list.some((name) => name[0] === '!' && name !== `!${here}`)
  }
  return Object.entries(packages)
    .filter(([path, { dev, os, cpu, libc }]) => {
      if (path === '' || (dev && !withDevelopment)) return false
      return fits(os, process.platform) && fits(cpu, process.arch) && !libc?.includes('musl')
    })
    .map(([path]) => path)
}

/** Builds tap's plugin list, which is part of its installation. Ours omits tap's own TypeScript support. */
async function prepareTap() {
  const built = "import('tap').then(({ t }) => process.exit(Number(t.pluginSignature.includes('typescript'))))"
  if (spawnSync(node, ['-e', built], { cwd: root, stdio: 'ignore' }).status === 0) return
  console.error('Preparing the test runner, once.')
  await start(node, ['node_modules/.bin/tap', 'build'])
}

/** Starts a command. Its output goes to standard error, because the next program needs standard output. */
function start(command, arguments_, { env = process.env, stdout = 2 } = {}) {
  return new Promise((resolve) => {
    const fail = (why) => {
      console.error(`\n${[command, ...arguments_].join(' ')} failed${why ? `: ${why}` : ''}`)
      process.exit(1)
    }
    const child = spawn(command, arguments_, { cwd: root, env, stdio: ['ignore', stdout, 2] })
    child.on('error', (error) => fail(error.message))
    child.on('exit', (code) => (code === 0 ? resolve() : fail()))
  })
}
