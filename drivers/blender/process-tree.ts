import { readdir, readFile } from 'node:fs/promises'
import { setPriority } from 'node:os'

/** Of `nice`: players come before jobs wherever processors are short. */
const PRIORITY = 10

/**
 * Gives way to everything else on this machine, with all that the process starts from now on: call it at once after the
 * start. One that has ended, or a system that refuses, changes nothing.
 */
export function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, PRIORITY)
  } catch {}
}

/**
 * Returns the memory in bytes of a process and all its descendants, from /proc; 0 once they have ended.
 *
 * @param enough a value below this need not be exact
 */
export async function memoryOf(pid: number, enough: number): Promise<number> {
  const pids = await descendantsOf(pid)
  const rough = sum(await Promise.all(pids.map(residentOf)))
  // Forked processes share most of their memory, which this counts once for each.
  return rough <= enough ? rough : sum(await Promise.all(pids.map(proportionalOf)))
}

async function descendantsOf(pid: number): Promise<number[]> {
  const found = new Set([pid])
  for (const next of found) for (const child of await childrenOf(next)) found.add(child)
  return [...found]
}

/** Without files, which others have too. */
async function residentOf(pid: number): Promise<number> {
  const [, resident = 0, shared = 0] = (await read(`/proc/${pid}/statm`)).split(' ').map(Number)
  return (resident - shared) * PAGE
}

/** Its share of what it has in common with others. */
async function proportionalOf(pid: number): Promise<number> {
  const [, kilobytes] = /^Pss_Anon: +(\d+) kB/m.exec(await read(`/proc/${pid}/smaps_rollup`)) ?? []
  return kilobytes ? Number(kilobytes) * 1024 : 0
}

const read = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '')
const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0)

const PAGE = 4096

/** Any thread may have forked. */
async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = await Promise.all(threads.map((thread) => read(`/proc/${pid}/task/${thread}/children`)))
  return lists.flatMap((list) => list.trim().split(' ').filter(Boolean).map(Number))
}
