import type { FastifyInstance } from 'fastify'

/** Closes everything that a start has opened so far, in reverse order, each thing once. */
export class CleanupStack {
  /** Once the app exists, its `onClose` hook closes the rest. */
  app: FastifyInstance | null = null
  readonly #cleanups: (() => unknown)[] = []

  add(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup)
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup()
  }

  /** Closes everything after a failed start. */
  async abandon(): Promise<void> {
    if (this.app) await this.app.close()
    else await this.close()
  }
}
