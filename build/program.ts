/**
 * Bundles the program into a few files below `dist/program/`, from which `bin/gameyard.js` starts it. Compared with
 * some thousand source files this takes two thirds of the time and a sixth less memory. Code that few commands need
 * stays in files of its own.
 *
 * `--if-stale` does nothing while the built program is newer than its sources.
 */
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { builtProgram, FOLDER } from '../bin/built-program.js'
import { bundle } from './bundle.ts'

const root = join(import.meta.dirname, '..')
const output = join(root, FOLDER)
/** The time before an old build is removed, because a running build or program may still read it. */
const KEEP_MS = 24 * 60 * 60 * 1000

async function main() {
  if (process.argv.includes('--if-stale') && builtProgram(root)) return
  // A source that changes from now on is newer than this build.
  const builtAt = Date.now()
  const name = `${builtAt.toString(36)}-${process.pid}`
  const { metafile } = await bundle('bin/main.ts', join(output, name))
  const own = Object.keys(metafile.inputs).filter((input) => !input.includes('node_modules') && !input.includes(':'))
  const inputs = ['build/program.ts', 'package-lock.json', ...own.sort()]
  const scratch = join(output, `.${name}`)
  writeFileSync(scratch, JSON.stringify({ entry: `${name}/main.js`, builtAt, inputs }))
  renameSync(scratch, join(output, 'current.json'))
  for (const entry of readdirSync(output)) {
    const at = join(output, entry)
    if (basename(entry) === 'current.json' || entry === name) continue
    if (builtAt - statSync(at).mtimeMs > KEEP_MS) rmSync(at, { recursive: true, force: true })
  }
  process.stdout.write(`${FOLDER}: ${own.length} sources in ${Date.now() - builtAt} ms\n`)
}

mkdirSync(output, { recursive: true })
await main()
