import { readdir, readFile } from 'node:fs/promises'
import { setPriority } from 'node:os'

/** The `nice` value of jobs, so that requests of players come first when processors are busy. */
const PRIORITY = 10

/**
 * Lowers the priority of a process and of all its later descendants, so it must be called right after the start. A
 * process that has ended, or a system that refuses, is ignored.
 */
export function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, PRIORITY)
  } catch {}
}

/**
 * Returns the memory in bytes of a process and all its descendants, from /proc; 0 once they have ended.
 *
 * @param enough a result below this need not be exact
 */
export async function memoryOf(pid: number, enough: number): Promise<number> {
  const pids = await descendantsOf(pid)
  const rough = sum(await Promise.all(pids.map(residentOf)))
  // Forked processes share most of their memory, and `rough` counts it once for each process.
  return rough <= enough ? rough : sum(await Promise.all(pids.map(proportionalOf)))
}

async function descendantsOf(pid: number): Promise<number[]> {
  const found = new Set([pid])
  for (const next of found) for (const child of await childrenOf(next)) found.add(child)
  return [...found]
}

/** Excludes file mappings, which other processes share. */
async function residentOf(pid: number): Promise<number> {
  const [, resident = 0, shared = 0] = (await read(`/proc/${pid}/statm`)).split(' ').map(Number)
  return (resident - shared) * PAGE
}

/** Counts the proportional share of memory that processes share. */
async function proportionalOf(pid: number): Promise<number> {
  const [, kilobytes] = /^Pss_Anon: +(\d+) kB/m.exec(await read(`/proc/${pid}/smaps_rollup`)) ?? []
  return kilobytes ? Number(kilobytes) * 1024 : 0
}

const read = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '')
const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0)

const PAGE = 4096

/** Reads the children of every thread, since any thread can fork. */
async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = await Promise.all(threads.map((thread) => read(`/proc/${pid}/task/${thread}/children`)))
  return lists.flatMap((list) => list.trim().split(' ').filter(Boolean).map(Number))
}
