import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { start, temporaryFolder } from '../../bin/program.ts'
import { GAMEYARD } from '../../kit/gameyard.ts'
import { atProcessEnd } from '../../kit/process-end.ts'
import { type Server, type ServerOptions, startServer } from '../../kit/server.ts'
import { openTerminal, type Terminal } from '../../kit/terminal.ts'
import { ask } from '../../kit/upload.ts'

export const PASSWORD = 'correct yard battery fence'

/** A platform in a separate process, with an account. */
export interface TestServer {
  server: Server
  /** The cookie of the account's browser session. */
  cookie: string
  email: string
  /** Creates an API token, by default with every scope that the command line needs for games. */
  token(scopes?: string[]): Promise<string>
}

const SCOPES = ['games:read', 'games:write', 'deployments:write']

let shared: Promise<Server> | undefined
let accounts = 0

/**
 * @param options starts a platform for this test only; without them the tests of this process share one, each with a
 *   separate account
 */
export async function startTestServer(t: Test, options?: ServerOptions): Promise<TestServer> {
  if (!options) shared ??= startServer({ teardown: (ending) => void atProcessEnd(ending) })
  const server = await (options ? startServer(t, options) : (shared as Promise<Server>))
  const email = `ada-${++accounts}@example.org`
  const headers = { origin: server.portal }
  const body = { email, password: PASSWORD, name: 'Ada' }
  const signedUp = await ask('POST', `${server.portal}/api/auth/sign-up`, { headers, body })
  if (signedUp.status !== 201) throw new Error(`Sign-up was answered with ${signedUp.status}.`)
  const cookie = [signedUp.headers['set-cookie'] ?? []].flat()[0]?.split(';')[0] ?? ''
  return {
    server,
    cookie,
    email,
    async token(scopes = SCOPES) {
      const made = await ask('POST', `${server.portal}/api/tokens`, {
        headers: { ...headers, cookie },
        body: { label: 'Test', scopes },
      })
      if (made.status !== 201) throw new Error(`The token was answered with ${made.status}.`)
      return made.body.token
    },
  }
}

export interface Machine {
  /** The developer's working folder. */
  cwd: string
  /** The command line's configuration folder. */
  configFolder: string
  env: Record<string, string>
  /** Runs `gameyard` to its end. */
  gameyard(...arguments_: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>
  /** Runs with `--json` and returns the parsed standard output. */
  // biome-ignore lint/suspicious/noExplicitAny: tests match its shape
  json(...arguments_: string[]): Promise<any>
  /** Runs with the given standard input. */
  withInput(input: string, ...arguments_: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>
}

/** Creates a developer's machine: empty folders for work and settings. */
export function machine(t: Test, env: Record<string, string> = {}): Machine {
  const home = temporaryFolder(t)
  const cwd = temporaryFolder(t)
  const own = {
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_STATE_HOME: join(home, 'state'),
    BROWSER: 'none',
    ...env,
  }
  const withInput = (input: string, ...arguments_: string[]) => {
    const running = start(t, arguments_, { cwd, env: own })
    running.process.stdin?.end(input)
    return running.ended
  }
  const gameyard = (...arguments_: string[]) => withInput('', ...arguments_)
  return {
    cwd,
    configFolder: join(own.XDG_CONFIG_HOME, 'gameyard'),
    env: own,
    gameyard,
    withInput,
    async json(...arguments_) {
      const { stdout } = await gameyard(...arguments_, '--json')
      return JSON.parse(stdout)
    },
  }
}

/** Returns the process id of the last `gameyard` that was typed into a terminal. */
export const typedProcess = ({ env }: Machine): number => Number(readFileSync(join(env.HOME as string, 'pid'), 'utf8'))

/** Opens the machine's terminal, with `gameyard` in its path. Returns null where tmux is missing. */
export async function terminalOf(
  t: Test,
  { cwd, env }: Machine,
  program: string[] = GAMEYARD,
): Promise<Terminal | null> {
  const folder = temporaryFolder(t)
  const quoted = program.map((part) => `'${part}'`).join(' ')
  writeFileSync(join(folder, 'gameyard'), `#!/bin/sh\necho $$ > "$HOME/pid"\nexec ${quoted} "$@"\n`, { mode: 0o755 })
  const PATH = `${folder}:${process.env.PATH}`
  return openTerminal(t, { cwd, env: { ...env, PATH, LANG: 'C.UTF-8', TERM: 'tmux-256color' } })
}

/** Writes a build of many small files with different content. */
export function writeBuild(folder: string, count: number): void {
  mkdirSync(join(folder, 'levels'), { recursive: true })
  writeFileSync(join(folder, 'index.html'), '<title>Long</title>It is all there.')
  for (let level = 1; level < count; level++)
    writeFileSync(join(folder, `levels/${level}.bin`), Buffer.alloc(100_000, `level ${level}\n`))
}
