// Processes of a benchmark, each on its own core, and what they use.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { createInterface } from 'node:readline'
import { NODE_FLAGS } from '../bin/node-flags.js'

/** The clock ticks per second in /proc/<pid>/stat: USER_HZ, which is 100 on every Linux. */
const TICKS_PER_SECOND = 100

/**
 * Starts a Node process, pinned to a core where `taskset` is available. Our server gets the Node flags of
 * `gameyard serve`.
 *
 * @param args the first one is the name of the server, or of the load generator
 */
export function startPinned(core: number, script: string, ...args: string[]): ChildProcess {
  const flags = args[0] === 'gameyard' ? NODE_FLAGS : []
  const node = [process.execPath, ...flags, script, ...args]
  const isPinned = existsSync('/usr/bin/taskset') && cpus().length > 1
  const [command = '', ...rest] = isPinned ? ['/usr/bin/taskset', '-c', String(core), ...node] : node
  const env = { PATH: process.env.PATH, NODE_ENV: 'production' }
  return spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'], env })
}

/** Yields the lines of JSON that a process writes. */
export async function* jsonLines(child: ChildProcess) {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    if (line.startsWith('{')) yield JSON.parse(line)
  }
}

/** Returns the CPU seconds of a process with all its threads, in user and kernel mode. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

export const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
