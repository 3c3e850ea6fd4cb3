import { type ChildProcess, spawn } from 'node:child_process'

type Signal = 'KILL' | 'TERM' | 'QUIT'

/**
 * Reads process ids from a pipe, and ends the remaining processes when the pipe closes, which happens when the process
 * at its other end is gone, however it ended.
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
    // A session of its own: what ends this process is not to end that one.
    watchdog = spawn('/bin/sh', ['-c', PROGRAM], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
    watchdog.stdin?.on('error', () => {})
    watchdog.unref()
    // Of a socket, which the types of a pipe do not tell.
    ;(watchdog.stdin as unknown as { unref(): void }).unref()
  }
  watchdog.stdin?.write(`${line}\n`)
}

/**
 * Ends a process together with this one, also after a signal that can't be caught, so that a test that times out leaves
 * no process behind.
 *
 * @param pid negative for a whole process group
 * @returns a function to call when the process has ended: its number may soon be another's
 */
export function endWithThisProcess(pid: number, signal: Signal = 'KILL'): () => void {
  const one = `${signal}:${pid}`
  tell(`+ ${one}`)
  return () => tell(`- ${one}`)
}

/** The same for a child process. @returns the child */
export function endWithParent<Child extends ChildProcess>(
  child: Child,
  { signal = 'KILL', group = false }: { signal?: Signal; group?: boolean } = {},
): Child {
  // It has no number when it could not be started.
  if (child.pid !== undefined) child.once('exit', endWithThisProcess(group ? -child.pid : child.pid, signal))
  return child
}
