import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { hasPrograms } from './components.ts'
import { timeLimit } from './time-limit.ts'
import { endWithThisProcess } from './watchdog.ts'

const run = promisify(execFile)

const PROMPT = '> '
const AT_PROMPT = /(?:^|\n)> \s*$/

export interface TerminalOptions {
  cwd: string
  env: Record<string, string>
  columns?: number
  rows?: number
}

/** A real terminal with a shell: a pseudo-terminal of tmux. */
export interface Terminal {
  /** Clears the screen and the scrollback. The shell must be at its prompt. */
  clear(): Promise<void>
  /** Types a line and Enter. */
  type(line: string): Promise<void>
  /** Presses keys by their tmux names, such as `C-c`. */
  press(key: string): Promise<void>
  /** Returns the screen with its scrollback; `colours` keeps the escape sequences. */
  screen(options?: { colours?: boolean }): Promise<string>
  /** Waits until the screen matches. @throws with the screen's content after `timeLimit(90)` */
  sees(what: RegExp): Promise<string>
}

/**
 * Opens a terminal for a test and closes it at the test's end. Returns null, after marking the test as skipped, where
 * tmux is not installed; under CI=true that is a failure.
 */
export async function openTerminal(
  t: Test,
  { cwd, env, columns = 110, rows = 40 }: TerminalOptions,
): Promise<Terminal | null> {
  if (!hasPrograms(t, 'tmux')) return null
  // A separate tmux server leaves other sessions untouched.
  const socket = `gameyard-${randomUUID()}`
  const tmux = async (...arguments_: string[]) => (await run('tmux', ['-L', socket, ...arguments_])).stdout
  const settings = Object.entries({ ...env, PS1: PROMPT }).map(([name, value]) => `${name}=${value}`)
  const size = ['-x', String(columns), '-y', String(rows)]
  const shell = ['env', ...settings, '/bin/sh']
  execFileSync('tmux', ['-L', socket, '-f', '/dev/null', 'new-session', '-d', ...size, '-c', cwd, ...shell], {
    env: { PATH: process.env.PATH, TERM: 'xterm-256color', LANG: 'C.UTF-8' },
  })
  const left = endWithThisProcess(Number(await tmux('display-message', '-p', '#{pid}')))
  t.teardown(() => {
    spawnSync('tmux', ['-L', socket, 'kill-server'])
    left()
  })
  await tmux('set-option', '-g', 'history-limit', '5000')
  const screen = ({ colours = false } = {}) => tmux('capture-pane', '-p', '-S', '-', ...(colours ? ['-e'] : ['-J']))
  const sees = async (what: RegExp) => {
    const deadline = performance.now() + timeLimit(90)
    for (;;) {
      const text = await screen()
      if (what.test(text)) return text
      if (performance.now() > deadline) throw new Error(`The terminal never showed ${what}:\n${text}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const type = async (line: string) => {
    await tmux('send-keys', '-l', line)
    await tmux('send-keys', 'Enter')
  }
  await sees(AT_PROMPT)
  return {
    screen,
    sees,
    type,
    async clear() {
      await type('clear')
      await sees(/^> \s*$/)
      await tmux('clear-history')
    },
    press: async (key) => void (await tmux('send-keys', key)),
  }
}
