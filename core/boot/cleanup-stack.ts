import type { FastifyInstance } from 'fastify'

/** Everything that a start has opened so far. Closes it in reverse order, each thing once. */
export class CleanupStack {
  /** Once there is an app, its `onClose` hook closes the rest. */
  app: FastifyInstance | null = null
  readonly #cleanups: (() => unknown)[] = []

  add(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup)
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup()
  }

  /** After a start that failed. */
  async abandon(): Promise<void> {
    if (this.app) await this.app.close()
    else await this.close()
  }
}
