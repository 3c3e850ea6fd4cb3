import { rmSync } from 'node:fs'
import { lstat, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { constants, hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** The file in a working folder that says which process works there. */
export const MARK = 'under-way.json'
/** A working folder of another machine, or of a container that is gone, counts as left behind after this time. */
const ABANDONED_AFTER_MS = 24 * 3600 * 1000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

interface Mark {
  pid: number
  host: string
}

/**
 * A folder for unfinished work, which has the size of the platform's data and may hold its keys. It is removed at the end,
 * also when a signal ends the process. What a killed process has left is removed when the next folder of its kind is made.
 */
export class WorkingFolder {
  readonly path: string
  readonly #stop = (signal: NodeJS.Signals) => {
    rmSync(this.path, { recursive: true, force: true })
    process.exit(128 + constants.signals[signal])
  }

  private constructor(path: string) {
    this.path = path
    for (const signal of SIGNALS) process.on(signal, this.#stop)
  }

  /**
   * @param prefix the path, without the six characters that make it unique
   * @param note called with a sentence for each folder that a killed process had left
   */
  static async create(prefix: string, note: (message: string) => void = () => {}): Promise<WorkingFolder> {
    await removeAbandoned(dirname(prefix), note)
    const folder = new WorkingFolder(await mkdtemp(prefix))
    await writeFile(join(folder.path, MARK), JSON.stringify({ pid: process.pid, host: hostname() } satisfies Mark))
    return folder
  }

  async remove(): Promise<void> {
    for (const signal of SIGNALS) process.off(signal, this.#stop)
    await rm(this.path, { recursive: true, force: true })
  }
}

/** Removes the working folders of processes that no longer run. */
async function removeAbandoned(parent: string, note: (message: string) => void): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const path = join(parent, name)
    if (!/-[A-Za-z0-9]{6}$/.test(name) || !(await isAbandoned(path))) continue
    await rm(path, { recursive: true, force: true })
    note(`Removed ${basename(path)}, which an interrupted run had left in ${parent}.`)
  }
}

/** Returns whether a folder is the working folder of a process that no longer runs. */
export async function isAbandoned(path: string): Promise<boolean> {
  const file = join(path, MARK)
  const [text, stats] = await Promise.all([readFile(file, 'utf8').catch(() => ''), lstat(file).catch(() => null)])
  if (!stats) return false
  const { pid, host } = readMark(text)
  return host === hostname() ? !runs(pid) : Date.now() - stats.mtimeMs > ABANDONED_AFTER_MS
}

/** A machine that lost its power may have cut the text. Such a folder counts as one of another machine. */
function readMark(text: string): Mark {
  try {
    return JSON.parse(text) as Mark
  } catch {
    return { pid: 0, host: '' }
  }
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
