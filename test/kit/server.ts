import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { GAMEYARD } from './gameyard.ts'
import { endWithParent } from './watchdog.ts'

export interface ServerOptions {
  /** The program and its first arguments; `GAMEYARD` by default. */
  program?: string[]
  /** Sections of the configuration file, beside a free port. */
  config?: Record<string, unknown>
  /** A folder to run in, kept by the caller; by default one that goes with the test. */
  folder?: string
  /** Where it listens; by default a port that is free. */
  port?: number
  env?: Record<string, string>
}

/** The platform as a process of its own, as its host runs it: a folder, a configuration file, signals. */
export interface Server {
  portal: string
  port: number
  folder: string
  process: ChildProcess
  /** From the log: the one-time link of the first start, or null once there is an administrator. */
  setupLink: string | null
  /** Everything it wrote so far. */
  output(): string
  /** Sends a signal and waits for the end. @returns the exit code, null after a signal that kills */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** What a server goes with: a test, or the process. */
type Owner = { teardown(ending: () => Promise<void>): void }

/** Starts the platform in its own process and waits until it is ready. Ends with the test. */
export async function startServer(t: Owner, options: ServerOptions = {}): Promise<Server> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'gameyard-server-'))
  const port = options.port ?? (await freePort())
  writeFileSync(join(folder, 'gameyard.yaml'), stringify({ ...options.config, listen: { port } }))
  const [command = '', ...first] = options.program ?? GAMEYARD
  const own = Object.entries(process.env).filter(([name]) => !/^(SERVICE_|NODE_|TAP)/.test(name))
  const child = spawn(command, [...first, 'serve'], {
    cwd: folder,
    env: { ...Object.fromEntries(own), ...options.env },
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
  await ready(port, exited, () => output)
  const setupLink = /http:\/\/localhost:\d+\/setup\/[\w-]+/.exec(output)?.[0] ?? null
  return { portal, port, folder, process: child, setupLink, output: () => output, stop }
}

/** Waits for the line that names the addresses: by then the set-up link, if there is one, has been written as well. */
async function ready(port: number, exited: Promise<unknown>, output: () => string): Promise<void> {
  let over = false
  exited.then(() => {
    over = true
  })
  const deadline = Date.now() + 60_000
  while (!output().includes('"msg":"ready"')) {
    if (over) throw new Error(`The server ended before it was ready:\n${output()}`)
    if (Date.now() > deadline) throw new Error(`The server on port ${port} was not ready in time:\n${output()}`)
    await new Promise((done) => setTimeout(done, 20))
  }
}

const given = new Set<number>()

/**
 * Returns a port that was free a moment ago, a different one each time. It is below the range that the system assigns
 * by itself (Linux: from 32768 on), so that it is still free when the program listens on it, seconds later.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(11_000, 32_000)
    if (given.has(port)) continue
    given.add(port)
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
