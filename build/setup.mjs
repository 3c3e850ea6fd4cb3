// Makes a source tree ready to run: dependencies, browser files, the program and, with --test, the test runner. Runs before `npm
// start` and `npm test`, on whatever Node is there (20 or later) and without node_modules; does nothing when all is
// there already.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const windows = process.platform === 'win32'
const node = join(root, 'node_modules/.bin', windows ? 'node.cmd' : 'node')

if (isOlder('node_modules/.package-lock.json', 'package-lock.json')) {
  console.error('Installing the dependencies; this takes a minute the first time.')
  installDependencies()
}
run(node, ['build/browser.ts', '--if-stale'])
run(node, ['build/program.ts', '--if-stale'])
if (process.argv.includes('--test')) {
  // Here and not by the tests that pack them, which run beside each other.
  run(node, ['build/clients.ts', '--if-stale'])
  prepareTap()
}

function isOlder(file, than) {
  return !existsSync(join(root, file)) || statSync(join(root, file)).mtimeMs < statSync(join(root, than)).mtimeMs
}

function installDependencies() {
  // Development and optional packages are needed whatever NODE_ENV says: the browser build, and Node itself.
  const arguments_ = ['ci', '--no-audit', '--no-fund', '--loglevel=error', '--include=dev', '--include=optional']
  // The Node in node_modules must not be the one that replaces node_modules.
  const { npm_node_execpath: outerNode, npm_execpath: npm, PATH = '' } = process.env
  const outerPath = PATH.split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter)
  const env = { ...process.env, PATH: outerPath }
  if (outerNode && npm && !outerNode.includes('node_modules')) run(outerNode, [npm, ...arguments_], env)
  else run(windows ? 'npm.cmd' : 'npm', arguments_, env)
}

/** tap bakes its list of plugins into its installation; ours leaves out its own way of running TypeScript. */
function prepareTap() {
  const built = "import('tap').then(({ t }) => process.exit(Number(t.pluginSignature.includes('typescript'))))"
  if (spawnSync(node, ['-e', built], { cwd: root, stdio: 'ignore', shell: windows }).status === 0) return
  console.error('Preparing the test runner, once.')
  run(node, ['node_modules/.bin/tap', 'build'])
}

/** Standard output belongs to what comes afterwards, so everything here goes to standard error. */
function run(command, arguments_, env = process.env) {
  const { status, error } = spawnSync(command, arguments_, { cwd: root, env, stdio: ['ignore', 2, 2], shell: windows })
  if (status === 0) return
  console.error(`${[command, ...arguments_].join(' ')} failed${error ? `: ${error.message}` : ''}`)
  process.exit(1)
}
