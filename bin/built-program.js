// Locates the program that build/program.ts built, for gameyard.js. Plain JavaScript, so that old versions of Node can
// parse it.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Relative to the root. Each build has its own folder in it, and `current.json` names the current build. */
export const FOLDER = 'dist/program'

/**
 * Returns the entry file of the built program, or null when it is older than one of its sources.
 *
 * @param {string} root root of the source tree or package
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
