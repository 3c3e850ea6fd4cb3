import type { Database, Statements } from '../../../core/data/database.ts'

interface Entry {
  deployId: string
  sha256: string
  settle: (noted: boolean | Promise<never>) => void
}

/** The row counts of statements. They are few, so that each statement is prepared once. */
const SIZES = [1, 8, 64, 512]
/** The maximum number of waiting records that share a transaction. */
const SHARED = 64

/**
 * Records which files of which deploys have arrived. Each record is durable before it is acknowledged, which costs a
 * wait for the disk; records that arrive during one transaction share the next.
 */
export class UploadLog {
  readonly #db: Database
  #waiting: Entry[] = []
  #writing = false

  constructor(db: Database) {
    this.#db = db
  }

  /** @returns false when the deploy accepts no files, and nothing was recorded */
  add(deployId: string, sha256: string): Promise<boolean> {
    return new Promise<boolean>((resolve) => {
      this.#waiting.push({ deployId, sha256, settle: resolve })
      if (!this.#writing) void this.#write()
    })
  }

  /**
   * Records many files in one transaction.
   *
   * @returns false when the deploy accepts no files, and nothing was recorded
   */
  addAll(deployId: string, digests: readonly string[]): Promise<boolean> {
    // The rows are sorted, so that two transactions with the same files wait for each other instead of deadlocking.
    const sorted = [...new Set(digests)].sort()
    return this.#db.groupCommit(async (statements) => {
      const most = SIZES.at(-1) as number
      for (let start = 0; start < sorted.length; start += most)
        if (!(await insert(statements, deployId, sorted.slice(start, start + most)))) return false
      return true
    })
  }

  async #write(): Promise<void> {
    this.#writing = true
    // Records of the same turn of the event loop share the transaction.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      const { deployId } = this.#waiting[0] as Entry
      const batch = this.#waiting.filter((entry) => entry.deployId === deployId).slice(0, SHARED)
      const taken = new Set(batch)
      this.#waiting = this.#waiting.filter((entry) => !taken.has(entry))
      try {
        const digests = [...new Set(batch.map((entry) => entry.sha256))]
        const noted = await insert(this.#db, deployId, digests)
        for (const entry of batch) entry.settle(noted)
      } catch (error) {
        for (const entry of batch) entry.settle(Promise.reject(error))
      }
    }
    this.#writing = false
  }
}

/** @returns whether the deploy accepts files */
async function insert(statements: Pick<Statements, 'execute'>, deployId: string, digests: string[]): Promise<boolean> {
  const size = SIZES.find((size) => size >= digests.length) as number
  const padded = [...digests, ...Array<string>(size - digests.length).fill(digests[0] as string)]
  const values = Array(size).fill('(?)').join(', ')
  // The update changes no value. Its row count tells whether the deploy accepts files.
  const rows = await statements.execute(
    `with came (sha256) as (select distinct * from (values ${values}) as listed)
     insert into deploy_uploads (deploy_id, sha256)
     select deploys.id, came.sha256 from deploys cross join came
     where deploys.id = ? and deploys.state in ('uploading', 'finalizing') order by came.sha256
     on conflict (deploy_id, sha256) do update set sha256 = excluded.sha256`,
    [...padded, deployId],
  )
  return rows > 0
}
