import { readdir, readFile } from 'node:fs/promises'
import { ISOLATION } from './sandbox.ts'

/**
 * Ends sandboxes that outlived their server.
 *
 * A sandbox normally ends with bwrap, which ends with the server. But bwrap starts its first process, lets it wait, and
 * only then prepares what it waits for; the process asks to end with bwrap even later. When the server is killed in
 * between, the process waits for ever. It has run nothing.
 */
export async function endLeftovers(): Promise<void> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number)
  for (const pid of pids) {
    if (!(await isSandbox(pid))) continue
    const status = await read(pid, 'status')
    // The first process of a sandbox has number 1 in it. bwrap itself has only its number outside.
    if (!/^NSpid:(\t\d+)+\t1$/m.test(status)) continue
    const parent = Number(/^PPid:\t(\d+)$/m.exec(status)?.[1])
    if (await isSandbox(parent)) continue
    try {
      process.kill(pid, 'SIGKILL')
    } catch {} // it has just ended, or another user's server has started it
  }
}

/** Whether a process is bwrap, outside or inside of the sandbox, before the program in the sandbox has started. */
const isSandbox = async (pid: number): Promise<boolean> =>
  (await read(pid, 'cmdline')).includes(`\0${ISOLATION.join('\0')}\0`)

const read = (pid: number, file: string): Promise<string> => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
