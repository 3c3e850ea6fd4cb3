import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The memory of a control group in bytes. `used` leaves out cached files, which the system drops when it needs room. */
export interface GroupMemory {
  used: number
  limit: number
}

/** Values above this mean that there is no limit. */
const UNLIMITED = 2 ** 60

/**
 * Reads the memory and the limit of the control group of this process, by the files of either version; null where none
 * limits it, and on other systems than Linux.
 *
 * @param group the lines that say in which groups the process is
 * @param mounts where the system shows the groups
 */
export async function groupMemory(group = '/proc/self/cgroup', mounts = '/sys/fs/cgroup'): Promise<GroupMemory | null> {
  const lines = (await textOf(group))?.split('\n') ?? []
  const [, first] = lines.map((line) => /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/.exec(line)).find(Boolean) ?? []
  const [, second] = lines.map((line) => /^0::(.*)$/.exec(line)).find(Boolean) ?? []
  if (first !== undefined) return readGroup(join(mounts, 'memory'), first, FILES.first)
  return second === undefined ? null : readGroup(mounts, second, FILES.second)
}

const FILES = {
  first: {
    limit: 'memory.limit_in_bytes',
    used: 'memory.usage_in_bytes',
    cached: /^total_(?:in)?active_file (\d+)$/gm,
  },
  second: { limit: 'memory.max', used: 'memory.current', cached: /^(?:in)?active_file (\d+)$/gm },
}

/** Reads the nearest group with a limit. In a container the path of the group may be that of the host. */
async function readGroup(mount: string, path: string, files: (typeof FILES)['first']): Promise<GroupMemory | null> {
  for (let folder = join(mount, path); folder.startsWith(mount); folder = dirname(folder)) {
    const limit = Number((await textOf(join(folder, files.limit))) ?? Number.NaN)
    if (!Number.isFinite(limit) || limit > UNLIMITED) continue
    const [used, stat] = await Promise.all([textOf(join(folder, files.used)), textOf(join(folder, 'memory.stat'))])
    const cached = [...(stat ?? '').matchAll(files.cached)].reduce((sum, [, bytes]) => sum + Number(bytes), 0)
    return used === null ? null : { used: Math.max(0, Number(used) - cached), limit }
  }
  return null
}

const textOf = (file: string): Promise<string | null> => readFile(file, 'utf8').catch(() => null)
