import { type ChildProcess, spawn } from 'node:child_process'

type Signal = 'KILL' | 'TERM' | 'QUIT'

/**
 * Reads process ids from a pipe, and ends the remaining processes when the pipe closes. The pipe closes when the
 * process at its other end has ended for any reason.
 */
const PROGRAM = `
trap '' HUP INT TERM
left=
while read -r what one; do
  if [ "$what" = + ]; then left="$left $one"; continue; fi
  rest=
  for other in $left; do [ "$other" = "$one" ] || rest="$rest $other"; done
  left=$rest
done
for one in $left; do kill -s "\${one%%:*}" -- "\${one#*:}"; done`

let watchdog: ChildProcess | undefined

function tell(line: string): void {
  if (!watchdog) {
    // A separate session keeps the watchdog alive when a signal ends this process.
    watchdog = spawn('/bin/sh', ['-c', PROGRAM], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
    watchdog.stdin?.on('error', () => {})
    watchdog.unref()
    // The stream is a socket, but the types describe a pipe without `unref`.
    ;(watchdog.stdin as unknown as { unref(): void }).unref()
  }
  watchdog.stdin?.write(`${line}\n`)
}

/**
 * Ends a process together with this one, even after a signal that can't be caught, so that a test that times out leaves
 * no process behind.
 *
 * @param pid negative for a whole process group
 * @returns a function to call when the process has ended, because its id may be reused
 */
export function endWithThisProcess(pid: number, signal: Signal = 'KILL'): () => void {
  const one = `${signal}:${pid}`
  tell(`+ ${one}`)
  return () => tell(`- ${one}`)
}

/** Ends a child process together with this one. @returns the child */
export function endWithParent<Child extends ChildProcess>(
  child: Child,
  { signal = 'KILL', group = false }: { signal?: Signal; group?: boolean } = {},
): Child {
  // A process that failed to start has no id.
  if (child.pid !== undefined) child.once('exit', endWithThisProcess(group ? -child.pid : child.pid, signal))
  return child
}
