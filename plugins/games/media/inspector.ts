import { createInflate } from 'node:zlib'
import { WorkerPool, WorkTookTooLong } from '../../../core/jobs/worker-pool.ts'
import type { WorkerPrograms } from '../../../core/jobs/worker-programs.ts'
import { MediaRefused, MediaTooLarge } from '../errors.ts'
import { damaged } from './formats/damaged.ts'
import type { PackedPixels } from './formats/format.ts'
import type { Inspected } from './record.ts'
import type { MediaAnswer, MediaTask } from './worker-messages.ts'

const IDLE_MS = 5000
/** The most processor time for one file. A picture of 10 MiB takes 0.2 s. */
const LONGEST_MS = 5000
const HEAP_MB = 128

/** Inspects uploads in worker threads, since a small file can be made of very many parts. */
export class MediaInspector {
  readonly #pool: WorkerPool<MediaTask, MediaAnswer>

  constructor(programs: WorkerPrograms) {
    const program = () => programs.text('media')
    this.#pool = new WorkerPool({ name: 'media', program, idleMs: IDLE_MS, heapMb: HEAP_MB, interactiveThreads: 2 })
  }

  /**
   * Determines the type and dimensions of an upload (`inspect.ts`).
   *
   * @param file stays open until the result is there
   * @param owner the player who waits for it
   * @throws MediaRefused, MediaTooLarge saying what is wrong
   */
  async inspect(file: MediaTask, owner: string): Promise<Inspected> {
    const { fd, size } = file
    const answer = await this.#pool.run({ fd, size }, { owner, longestMs: LONGEST_MS }).catch((error) => {
      if (error instanceof WorkTookTooLong) {
        throw new MediaRefused(`The file takes longer to read than ${LONGEST_MS / 1000} seconds, the most for one.`)
      }
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') throw new MediaRefused('The file takes too much memory to read.')
      throw error
    })
    if ('failure' in answer) throw new Error(answer.failure)
    if ('refusal' in answer) throw new (answer.isTooLarge ? MediaTooLarge : MediaRefused)(answer.refusal)
    const { inspected, packed } = answer
    if (packed && (await unpackedBytes(packed)) !== packed.bytes) {
      damaged(`it does not hold ${inspected.width} × ${inspected.height} pixels`)
    }
    return inspected
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}

/**
 * Counts the decompressed bytes without keeping them. It stops once there are more than expected. zlib works in Node's
 * own threads. A worker that may be terminated must not create such a stream (see `WorkerPoolOptions`).
 */
async function unpackedBytes({ data, bytes }: PackedPixels): Promise<number> {
  const inflate = createInflate({ chunkSize: 256 * 1024 })
  let count = 0
  try {
    // A truncated stream ends with an error of zlib.
    inflate.end(data)
    for await (const chunk of inflate) {
      count += (chunk as Buffer).length
      if (count > bytes) break
    }
  } catch {
    damaged('its pixels cannot be unpacked')
  } finally {
    inflate.destroy()
  }
  return count
}
