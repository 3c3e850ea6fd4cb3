import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { endWithParent } from '../watchdog.ts'

/** A virtual display for browsers that render only to one. */
export interface Display {
  /** The value of the environment variable `DISPLAY`. */
  name: string
  close(): void
}

/** Starts Xvfb on an unused display. */
export async function startDisplay(): Promise<Display> {
  const screen = ['-screen', '0', '2600x2000x24', '-nolisten', 'tcp']
  const xvfb = endWithParent(
    spawn('Xvfb', ['-displayfd', '3', ...screen], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] }),
  )
  const number = await new Promise<string>((resolve, reject) => {
    let said = ''
    const stream = xvfb.stdio[3] as Readable
    stream.on('data', (chunk) => {
      said += chunk
      if (said.includes('\n')) resolve(said.trim())
    })
    xvfb.once('error', reject)
    xvfb.once('exit', () => reject(new Error('Xvfb ended before it said its display.')))
  })
  return { name: `:${number}`, close: () => void xvfb.kill('SIGKILL') }
}
