import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Test } from 'tap'
import { FROM_SOURCE, GAMEYARD } from '../kit/gameyard.ts'
import { endWithParent } from '../kit/watchdog.ts'

/** The system's own Node of any version, if there is one, and not the one in node_modules. */
export const systemNode = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => folder && !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((file) => existsSync(file))

export interface Result {
  code: number | null
  stdout: string
  stderr: string
}

export interface Running {
  process: ChildProcess
  output(): Result
  /** Resolves when standard output contains the text; rejects when the process ends first. */
  says(text: string): Promise<void>
  ended: Promise<Result>
}

/** Creates a folder that is removed with the test. */
export function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'gameyard-bin-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts `gameyard` in a separate process. @param options.command runs it in another way, such as in a sandbox */
export function start(
  t: Test,
  arguments_: string[],
  {
    node,
    command: own = GAMEYARD,
    cwd = temporaryFolder(t),
    env = {},
  }: { node?: string; command?: string[]; cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Running {
  const environment = Object.entries(process.env).filter(([name]) => !/^(SERVICE_|NODE_OPTIONS|TAP|NODE_V8)/.test(name))
  const [command, ...first] = node ? [node, FROM_SOURCE] : own
  // A server would run Blender to learn its version, which takes as long as its own start.
  const usual = arguments_[0] === 'serve' ? { SERVICE_BLENDER__DRIVER: 'none' } : {}
  const child = spawn(command as string, [...first, ...arguments_], {
    cwd,
    env: { ...Object.fromEntries(environment), ...usual, ...env },
  })
  endWithParent(child)
  t.teardown(() => child.kill('SIGKILL'))
  const result: Result = { code: null, stdout: '', stderr: '' }
  child.stderr.on('data', (chunk) => {
    result.stderr += chunk
  })
  child.stdout.on('data', (chunk) => {
    result.stdout += chunk
  })
  const ended = new Promise<Result>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ ...result, code }))
  })
  const says = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => result.stdout.includes(text) && resolve()
      child.stdout.on('data', look)
      look()
      ended.then(({ code, stderr }) => reject(new Error(`ended with ${code} before saying ${text}: ${stderr}`)), reject)
    })
  return { process: child, output: () => result, says, ended }
}

/** Runs `gameyard` to its end. */
export const run = (t: Test, arguments_: string[], options?: Parameters<typeof start>[2]): Promise<Result> =>
  start(t, arguments_, options).ended

/** Returns a port of this machine that a server of the test occupies. */
export function takenPort(t: Test): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
    t.teardown(() => server.close())
  })
}
