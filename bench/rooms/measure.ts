import { join } from 'node:path'
import { cpuSeconds, jsonLines, residentMb, startPinned } from '../pinned-process.ts'
import type { Job } from './players.ts'

/** One measurement of a server of rooms. */
export interface Measured {
  /** The messages that players received while it was measured. */
  delivered: number
  /** Latencies in milliseconds. */
  p50: number
  p99: number
  /** The CPU seconds of the server meanwhile. */
  cpu: number
  /** The resident memory in MB, before and after the players connect. */
  before: number
  after: number
}

/**
 * Starts a server on the first core and its players on the second, and measures them.
 *
 * @param folder holds the programs `servers.ts` and `load.ts`
 */
export async function measureRooms(
  folder: string,
  { subject, ...scenario }: Pick<Job, 'subject' | 'rooms' | 'players' | 'rate' | 'seconds'>,
): Promise<Measured> {
  const server = startPinned(0, join(folder, 'servers.ts'), subject)
  const pid = server.pid as number
  try {
    const listening = (await jsonLines(server).next()).value
    server.stdout?.resume()
    if (!listening) throw new Error(`${subject} did not start`)
    const before = residentMb(pid)
    const load = startPinned(1, join(folder, 'load.ts'), JSON.stringify({ subject, ...listening, ...scenario }))
    let began = 0
    for await (const line of jsonLines(load)) {
      if (line.phase === 'begin') began = cpuSeconds(pid)
      else return { ...line, cpu: cpuSeconds(pid) - began, before, after: residentMb(pid) }
    }
    throw new Error(`The players of ${subject} gave up.`)
  } finally {
    server.kill('SIGTERM')
  }
}
