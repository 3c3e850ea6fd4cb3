import { WorkerPool, WorkTookTooLong } from '../jobs/worker-pool.ts'
import type { WorkerPrograms } from '../jobs/worker-programs.ts'
import { ImageRefusal } from './refusal.ts'
import type { ImageAnswer, ImageTask } from './worker-messages.ts'

declare module 'fastify' {
  interface FastifyInstance {
    images: Images
  }
}

export { ImageRefusal } from './refusal.ts'

const IDLE_MS = 10_000
/** The most processor time for one picture. One of 2048 × 2048 pixels takes 0.2 s. */
const LONGEST_MS = 5000
const HEAP_MB = 256

/** Makes small pictures of uploaded ones. All decoding runs in worker threads, since its cost is not the file's size. */
export class Images {
  readonly #pool: WorkerPool<ImageTask, ImageAnswer>

  constructor(programs: WorkerPrograms) {
    const program = () => programs.text('images')
    this.#pool = new WorkerPool({ name: 'images', program, idleMs: IDLE_MS, heapMb: HEAP_MB, interactiveThreads: 2 })
  }

  /**
   * Decodes a PNG or JPEG, by content and not by name, and draws it smaller.
   *
   * @param by the player who causes the work, and whether nobody waits for it
   * @throws ImageRefusal with the reason; the signal's reason
   */
  async resize(
    task: ImageTask,
    by: { owner: string; background?: boolean; signal?: AbortSignal | undefined },
  ): Promise<Buffer> {
    const answer = await this.#pool.run(task, { ...by, longestMs: LONGEST_MS }).catch((error) => {
      if (error instanceof WorkTookTooLong) {
        throw new ImageRefusal(`This picture takes longer than ${LONGEST_MS / 1000} seconds to decode; save it again.`)
      }
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') throw new ImageRefusal('This picture takes too much memory.')
      throw error
    })
    if ('refusal' in answer) throw new ImageRefusal(answer.refusal)
    if ('failure' in answer) throw new Error(answer.failure)
    const { buffer, byteOffset, byteLength } = answer.bytes
    return Buffer.from(buffer, byteOffset, byteLength)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}
