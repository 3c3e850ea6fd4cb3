import { open } from 'node:fs/promises'
import { devNull } from 'node:os'
import type { FastifyInstance } from 'fastify'

/** The interval of checks. */
export const DESCRIPTOR_WATCH_MS = 2000

type Parts = Pick<FastifyInstance, 'health' | 'clock' | 'log'>

/**
 * Looks whether this process may still open files and connections. While it may not, Node accepts new connections and
 * closes them at once, without a word in the log. `/readyz`, the overview and the log say it instead.
 */
export class DescriptorWatch {
  readonly #parts: Parts
  #exhausted = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Opens a file to find out. It never rejects. */
  async look(): Promise<void> {
    const exhausted = await open(devNull).then(
      async (file) => {
        await file.close()
        return false
      },
      ({ code }: NodeJS.ErrnoException) => code === 'EMFILE' || code === 'ENFILE',
    )
    if (exhausted === this.#exhausted) return
    this.#exhausted = exhausted
    const { health, clock, log } = this.#parts
    const message = exhausted
      ? 'All file descriptors of the process are in use, so new connections are refused. Allow it more: LimitNOFILE=65536 in the unit, or ulimit -n 65536.'
      : 'File descriptors are free again.'
    health.notes.set('descriptors', { state: exhausted ? 'warning' : 'ok', message, at: clock.now() })
    log[exhausted ? 'warn' : 'info'](message)
  }
}
