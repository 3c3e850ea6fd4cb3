import { WorkerPool } from '../../../core/jobs/worker-pool.ts'
import type { WorkerPrograms } from '../../../core/jobs/worker-programs.ts'

/** A compressed form of a file, with the digest of its bytes. */
export interface Variant {
  coding: 'br' | 'gzip'
  sha256: string
  bytes: Uint8Array
}

const IDLE_MS = 5000

/** Compresses with brotli 11 and gzip 9 in worker threads (`workers/compressor.ts`). */
export class Compressor {
  readonly #pool: WorkerPool<Uint8Array, Variant[]>

  constructor(programs: WorkerPrograms) {
    const program = () => programs.text('compressor')
    this.#pool = new WorkerPool({ name: 'compressor', program, idleMs: IDLE_MS, endsItself: true })
  }

  /** The number of files that are compressed concurrently. */
  get threads(): number {
    return this.#pool.threads
  }

  /** @throws when the signal is aborted, or the process stops */
  compress(bytes: Uint8Array, signal: AbortSignal): Promise<Variant[]> {
    // The copy is transferred to the worker, which avoids a second copy.
    const sent = Uint8Array.from(bytes)
    return this.#pool.run(sent, { signal, transfer: [sent.buffer] })
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}
