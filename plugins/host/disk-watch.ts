import { open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { formatBytes } from '../../core/pages/index.ts'

/** The interval of disk checks. */
export const DISK_WATCH_MS = 10_000

type Parts = Pick<FastifyInstance, 'storage' | 'health' | 'identity' | 'config' | 'clock' | 'log' | 'site'>

/**
 * Looks whether blobs may still take room on the disk. While they may not, `/readyz` and the overview warn, and the
 * administrators have got one mail: a file in the data folder says so, whichever process wrote it, until there is room.
 */
export class DiskWatch {
  readonly #parts: Parts
  readonly #marker: string

  constructor(parts: Parts) {
    this.#parts = parts
    this.#marker = join(parts.config.dataDir, 'disk-is-full')
  }

  /** Checks the disk now. It never rejects, because the next check repeats it. */
  async look(): Promise<void> {
    const { storage, health, clock, log } = this.#parts
    try {
      const room = await storage.room?.()
      if (!room) return
      const full = room.free < room.reserve
      const message = full
        ? `${formatBytes(room.free)} are free on the disk. Uploads are refused until ${formatBytes(room.reserve)} are.`
        : 'There is room on the disk.'
      health.notes.set('disk', { state: full ? 'warning' : 'ok', message, at: clock.now() })
      if (full) await this.#writeOnce(message)
      else await unlink(this.#marker).catch(ignoreAbsent)
    } catch (error) {
      log.warn({ err: error }, 'the room on the disk is not known')
    }
  }

  async #writeOnce(message: string): Promise<void> {
    const { identity, log, site } = this.#parts
    const marker = await open(this.#marker, 'wx').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return null
      throw error
    })
    if (!marker) return
    await marker.close()
    log.warn(message)
    await identity
      .writeToAdmins(
        `The disk of ${site.name} is full`,
        `${message}\n\nPlaying, signing in, rooms and payments go on. Once there is room again, uploads do too, without a restart:\n\n${site.portalUrl}/admin/storage\n`,
      )
      .catch(async (error) => {
        await unlink(this.#marker).catch(ignoreAbsent)
        throw error
      })
  }
}

function ignoreAbsent(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
