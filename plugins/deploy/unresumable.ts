import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { makeFolder } from '../../core/data/folders/make-folder.ts'
import { isLeftBehind, OWN_PREFIX } from '../../core/data/sharing/process-files.ts'
import { isPlatformError, StorageFull } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { DeployRow, DeployUpload } from './entities.ts'
import { releaseStorage } from './stored-bytes.ts'

/**
 * The deploys that only this process can continue, because nobody else has their bytes. Each has an empty file, whose
 * name is that of the process and the deploy. A start finds the files of processes of this node that have died; other
 * nodes have folders of their own.
 */
export class UnresumableDeploys {
  readonly #folder: string
  readonly #clock: FastifyInstance['clock']
  readonly #fail: (deployId: string, failure: string) => Promise<void>

  /** @param fail ends a deploy; for one that does not exist, or has ended, it does nothing */
  constructor(
    { config, clock }: Pick<FastifyInstance, 'config' | 'clock'>,
    fail: (deployId: string, failure: string) => Promise<void>,
  ) {
    this.#folder = join(config.dataDir, 'deploys')
    this.#clock = clock
    this.#fail = fail
  }

  /**
   * Does work on a new deploy whose bytes are gone when the work ends. The deploy fails when the work does; after a crash
   * it fails at the next start of this node.
   *
   * @param work begins the deploy with this id, stores its files and finalizes it
   * @throws the error of the work; StorageFull
   */
  async run<Result>(work: (deployId: string) => Promise<Result>): Promise<Result> {
    const deployId = newId('dep', this.#clock.now())
    const note = join(this.#folder, OWN_PREFIX + deployId)
    await this.#write(note)
    const forget = () => rm(note, { force: true })
    try {
      const result = await work(deployId)
      await forget().catch(() => {})
      return result
    } catch (error) {
      await this.#fail(deployId, isPlatformError(error) ? error.message : 'The server made a mistake.')
        .then(forget)
        // The next start tries again.
        .catch(() => {})
      throw error
    }
  }

  /** Ends the deploys that a crash of a process of this node has cut. @returns their number */
  async endLeftBehind(): Promise<number> {
    const names = (await readdir(this.#folder).catch(() => [])).filter(isLeftBehind)
    for (const name of names) {
      const deployId = name.slice(name.indexOf('dep_'))
      await this.#fail(deployId, 'The server stopped while it published the files; publish them again.')
      await rm(join(this.#folder, name), { force: true })
    }
    return names.length
  }

  async #write(note: string): Promise<void> {
    try {
      await makeFolder(this.#folder)
      await writeFile(note, '', { mode: 0o600 })
    } catch (error) {
      const isFull = ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')
      throw isFull ? new StorageFull().with({ cause: error }) : error
    }
  }
}

/** Ends a deploy, and records the reason. A deploy that has ended already stays unchanged. */
export async function endDeploy(
  { db, quotas }: Pick<FastifyInstance, 'db' | 'quotas'>,
  deployId: string,
  failure: string,
): Promise<void> {
  await db.transaction(async (em) => {
    const failed = await em.nativeUpdate(
      DeployRow,
      { id: deployId, state: { $in: ['uploading', 'finalizing'] } },
      { state: 'failed', failure: failure.slice(0, 500) },
    )
    if (failed === 0) return
    await em.nativeDelete(DeployUpload, { deployId })
    await releaseStorage(em, quotas, [deployId])
  })
}
