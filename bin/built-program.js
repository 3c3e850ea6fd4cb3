// Where build/program.ts left the program, for gameyard.js: plain JavaScript that old Nodes can read.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Below the root; each build has a folder of its own in it, and `current.json` says which one counts. */
export const FOLDER = 'dist/program'

/**
 * Returns the file to start the program from, or null when it is older than one of the sources it was built from.
 *
 * @param {string} root of the source tree or package
 * @returns {string | null}
 */
export function builtProgram(root) {
  try {
    const { entry, builtAt, inputs } = JSON.parse(readFileSync(join(root, FOLDER, 'current.json'), 'utf8'))
    return inputs.every((input) => statSync(join(root, input)).mtimeMs <= builtAt) ? join(root, FOLDER, entry) : null
  } catch {
    return null
  }
}
