import { InvalidRequest } from '../../../core/errors.ts'
import { WorkerPool, WorkTookTooLong } from '../../../core/jobs/worker-pool.ts'
import type { WorkerPrograms } from '../../../core/jobs/worker-programs.ts'

/** The file at the root of a build that lists unpublished paths in the format of `.gitignore`. */
export const IGNORE_FILE = '.gameyardignore'

const IDLE_MS = 5000
/** The maximum time to match all paths against a build's patterns. A few `**` can take forever. */
const MATCHING_MS = 5000
const HEAP_MB = 256

/** Junk files that operating systems and tools create. */
const JUNK = /(?:^|\/)(?:__MACOSX\/|\._[^/]*$|\.DS_Store$|Icon\r$|Thumbs\.db$|desktop\.ini$)/
const NEVER = /(?:^|\/)(?:\.git|node_modules)(?:\/|$)|(?:^|\/)\.env[^/]*(?:\/|$)/i

/** Whether a file is in the build by accident. */
export const isJunkFile = (path: string): boolean => JUNK.test(path)

/**
 * Whether a path is never published, whatever a build's own patterns say: secrets, histories,
 * dependencies, junk files.
 */
export const isNeverPublished = (path: string): boolean => isJunkFile(path) || path === IGNORE_FILE || NEVER.test(path)

/** Matches paths against the patterns of builds, in a worker thread. */
export class IgnoreRules {
  readonly #pool: WorkerPool<{ rules: string; paths: string[] }, Uint8Array>

  constructor(programs: WorkerPrograms) {
    const program = () => programs.text('ignored-paths')
    this.#pool = new WorkerPool({ name: 'ignored-paths', program, idleMs: IDLE_MS, heapMb: HEAP_MB })
  }

  /**
   * Returns the files that the patterns do not list.
   *
   * @param rules the text of a `.gameyardignore`
   * @throws InvalidRequest when the patterns take too long
   */
  async published<File extends { path: string }>(rules: string, files: File[]): Promise<File[]> {
    const paths = files.map(({ path }) => path)
    const ignored = await this.#pool.run({ rules, paths }, { longestMs: MATCHING_MS }).catch((error) => {
      if (!(error instanceof WorkTookTooLong) && error.code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error
      throw new InvalidRequest(`The patterns in ${IGNORE_FILE} take too long to match; write them with fewer \`**\`.`)
    })
    return files.filter((_file, index) => ignored[index] === 0)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}
