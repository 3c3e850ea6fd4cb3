import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { stringify } from 'yaml'
import { allocatorEnvironment, NODE_FLAGS } from '../../bin/node-flags.js'
import { GAMEYARD } from './gameyard.ts'
import { endWithParent } from './watchdog.ts'

export interface ServerOptions {
  /** The program and its first arguments. Default: `GAMEYARD` */
  program?: string[]
  /** The sections of the configuration file, in addition to a free port and to Blender, which is off. */
  config?: Record<string, unknown>
  /** The working folder, which the caller owns; by default one that is removed with the test. */
  folder?: string
  /** The port. Default: a free one */
  port?: number
  env?: Record<string, string>
}

/** The platform in a separate process, as its host runs it: with a folder, a configuration file and signals. */
export interface Server {
  portal: string
  port: number
  folder: string
  process: ChildProcess
  /** The one-time link of the first start, from the log; null when there is an administrator. */
  setupLink: string | null
  /** Returns all output so far. */
  output(): string
  /** Sends a signal and waits for the end. @returns the exit code; null after a signal that kills */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** The owner of a server, with which it ends: a test or the process. */
type Owner = { teardown(ending: () => Promise<void>): void }

/** Each start would run Blender to learn its version, which takes as long as the start. Tests of Blender turn it on. */
const WITHOUT_BLENDER = { blender: { driver: 'none' } }

/** Otherwise the program would start Node again to set these. test/bin/serve.test.ts starts it without them. */
const withFlags = ([command, ...first]: readonly string[]): string[] =>
  command === process.execPath ? [command, ...NODE_FLAGS, ...first] : [command as string, ...first]

/** Starts the platform in a separate process and waits until it is ready. It ends with the test. */
export async function startServer(t: Owner, options: ServerOptions = {}): Promise<Server> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'gameyard-server-'))
  const port = options.port ?? (await freePort())
  writeFileSync(join(folder, 'gameyard.yaml'), stringify({ ...WITHOUT_BLENDER, ...options.config, listen: { port } }))
  const [command = '', ...first] = options.program ?? withFlags(GAMEYARD)
  // Servers share their compiled code with the commands that tests run.
  const own = Object.entries(process.env).filter(([name]) => !/^(SERVICE_|NODE_(?!COMPILE_CACHE$)|TAP)/.test(name))
  const env = { ...Object.fromEntries(own), ...options.env }
  const child = spawn(command, [...first, 'serve'], {
    cwd: folder,
    env: allocatorEnvironment(env) ?? env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endWithParent(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const exited = once(child, 'exit')
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    await exited
    return child.exitCode
  }
  t.teardown(async () => {
    await stop('SIGKILL')
    if (!options.folder) rmSync(folder, { recursive: true, force: true })
  })
  const portal = `http://localhost:${port}`
  await ready(child, exited, () => output)
  const setupLink = /http:\/\/localhost:\d+\/setup\/[\w-]+/.exec(output)?.[0] ?? null
  return { portal, port, folder, process: child, setupLink, output: () => output, stop }
}

/**
 * Waits for the line with the addresses, however long a busy machine takes. The log contains the set-up link, if any,
 * before that line.
 */
async function ready(child: ChildProcess, exited: Promise<unknown>, output: () => string): Promise<void> {
  const over = exited.then(() => {
    throw new Error(`The server ended before it was ready:\n${output()}`)
  })
  // Nobody waits for it when the server ends later.
  over.catch(() => {})
  while (!output().includes('"msg":"ready"')) await Promise.race([once(child.stdout as Readable, 'data'), over])
}

const given = new Set<number>()

/**
 * Reserves a port among the test processes of this machine until this process ends, by a socket in Linux' abstract
 * namespace. A server may listen seconds later, or be killed and start again at its port.
 */
function reserve(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return Promise.resolve(true)
  const mark = createServer().unref()
  return new Promise((done) => {
    mark.once('error', () => done(false)).listen(`\0gameyard-test-port-${port}`, () => done(true))
  })
}

/** Below the range that the system assigns automatically (Linux: 32768 to 60999). */
const SERVER_PORTS = [11_000, 32_000] as const

/**
 * For platforms that give each game a port: above both other ranges, so that no server of another test takes the port
 * of a game while its platform restarts.
 */
export const GAME_PORTS = [61_500, 65_000] as const

/**
 * Returns a port that was free a moment ago, a different one each time. No range contains ports that the system assigns
 * automatically, so that it is still free when the program listens on it seconds later.
 */
export async function freePort([from, below]: readonly [number, number] = SERVER_PORTS): Promise<number> {
  for (;;) {
    const port = randomInt(from, below)
    if (given.has(port)) continue
    given.add(port)
    if (!(await reserve(port))) continue
    const server = createServer()
    const isFree = new Promise<boolean>((done) => {
      server.once('error', () => done(false)).listen(port, '127.0.0.1', () => done(true))
    })
    if (!(await isFree)) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
