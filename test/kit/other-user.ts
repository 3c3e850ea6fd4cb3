import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from '../bin/program.ts'
import { until } from './until.ts'
import { endWithParent } from './watchdog.ts'

/**
 * Opens a shell in the empty home folder of another user (nobody), who may write nothing else. Each `enter` is a group of lines, and
 * begins in the home folder.
 *
 * @param commands programs of the user by name, as shell scripts
 */
export function openHome(
  t: Test,
  { commands = {}, env = {} }: { commands?: Record<string, string>; env?: NodeJS.ProcessEnv },
) {
  const home = temporaryFolder(t)
  const bin = temporaryFolder(t)
  for (const folder of [home, bin]) chmodSync(folder, 0o755)
  for (const [name, script] of Object.entries(commands)) writeFileSync(join(bin, name), script, { mode: 0o755 })
  const user = ['--unshare-user', '--uid', '65534', '--gid', '65534']
  const files = ['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--bind', home, '/mnt', '--chdir', '/mnt']
  // Whatever the user has started ends with the shell.
  const ends = ['--unshare-pid', '--die-with-parent']
  const shell = spawn('bwrap', [...user, ...ends, ...files, '/bin/bash', '--noprofile', '--norc'], {
    env: { HOME: '/mnt', TMPDIR: '/mnt', PATH: `${bin}:/usr/bin:/bin`, ...env },
  })
  endWithParent(shell)
  t.teardown(() => shell.kill('SIGKILL'))
  let printed = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (printed += chunk))
  let count = 0
  /** Resolves with what the lines printed. @param seconds the limit on an idle machine @throws when one of them fails */
  const enter = async (lines: string, seconds?: number): Promise<string> => {
    const from = printed.length
    const end = new RegExp(`^end ${++count} (\\d+)$`, 'm')
    shell.stdin.write(`(set -e; ${lines}\n)\necho "end ${count} $?"\n`)
    const [, status] = await until(() => end.exec(printed.slice(from)), seconds)
    if (status !== '0') throw new Error(`ended with ${status}: ${lines}\n${printed.slice(from)}`)
    return printed.slice(from)
  }
  /** Resolves with what a pattern finds in what is printed from now on. */
  const see = (pattern: RegExp, from = printed.length): Promise<RegExpExecArray> =>
    until(() => pattern.exec(printed.slice(from)))
  /** Writes a file as an editor does. */
  const write = (file: string, text: string, { append = false } = {}) => {
    mkdirSync(join(home, file, '..'), { recursive: true })
    writeFileSync(join(home, file), text, { flag: append ? 'a' : 'w', mode: 0o644 })
  }
  return { enter, see, write }
}
