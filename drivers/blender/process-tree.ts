import { readdir, readFile } from 'node:fs/promises'

/** Resident memory in bytes of a process and all that descend from it, as /proc has it; 0 once it has ended. */
export async function memoryOf(pid: number): Promise<number> {
  let total = 0
  const waiting = [pid]
  const seen = new Set<number>()
  while (waiting.length > 0 && seen.size < 10_000) {
    const next = waiting.pop() as number
    if (seen.has(next)) continue
    seen.add(next)
    const [statm, children] = await Promise.all([
      readFile(`/proc/${next}/statm`, 'utf8').catch(() => ''),
      childrenOf(next),
    ])
    // Without what it shares with others (libraries, files in memory), which would be counted once for each.
    const [, resident = 0, shared = 0] = statm.split(' ').map(Number)
    total += (resident - shared) * PAGE
    waiting.push(...children)
  }
  return total
}

const PAGE = 4096

/** Any thread may have forked. */
async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  )
  return lists.flatMap((list) => list.trim().split(' ').filter(Boolean).map(Number))
}
