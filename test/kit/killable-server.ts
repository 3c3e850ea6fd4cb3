import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bundle } from '../../build/bundle.ts'
import { ALL } from './extent.ts'

const root = resolve(import.meta.dirname, '../..')
/** The bundles of the programs that this process starts. */
const bundles = new Map<string, Promise<string>>()

/**
 * Starts a program that serves the platform, and waits until it is ready, however long that takes. It ends when its
 * standard input closes, so it ends with this process in every case. The long form starts it up to a hundred times, and
 * bundles it before.
 *
 * @param program a file of TypeScript, run with the folder, the port and `rest` as its arguments
 */
export async function startKillable(
  program: string,
  { folder, port, rest }: { folder: string; port: number; rest: readonly string[] },
): Promise<ChildProcess> {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  // V8 takes code from the compile cache only under the flags under which the code was stored.
  const flags = process.execArgv.filter((flag) => flag.includes('semi-space'))
  const file = ALL ? await bundled(program) : program
  const child = spawn(process.execPath, [...flags, file, folder, String(port), ...rest], {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: { PATH, NODE_COMPILE_CACHE },
  })
  for (;;) {
    const end = child.exitCode ?? child.signalCode
    if (end !== null) throw new Error(`The server ended with ${end}.`)
    const answer = await fetch(`http://localhost:${port}/readyz`).catch(() => null)
    if (answer?.ok) return child
    await sleep(50)
  }
}

function bundled(program: string): Promise<string> {
  const earlier = bundles.get(program)
  if (earlier) return earlier
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'killable-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const entry = relative(root, program)
  const file = bundle(entry, folder).then(() => join(folder, `${basename(entry, '.ts')}.js`))
  bundles.set(program, file)
  return file
}
