import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Starts a program that serves the platform, and waits until it is ready, however long that takes. It ends when its
 * standard input closes, so it ends with this process in every case.
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
  const child = spawn(process.execPath, [...flags, program, folder, String(port), ...rest], {
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
