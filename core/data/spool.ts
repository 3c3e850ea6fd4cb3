import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { defineError, StorageFull } from '../errors.ts'

export const UploadCut = defineError('invalid_request', 400, 'The upload was cut off.')

/** Where uploads wait on the disk while they are looked at. */
export class Spool {
  readonly #folder: string

  /**
   * @param folder used by nothing else, inside the platform's data folder: a system folder for temporary files may be
   *   small and in memory
   */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Makes the folder, and removes what a process that died left in it. */
  async prepare(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    for (const name of await readdir(this.#folder)) await this.remove(join(this.#folder, name))
  }

  /** The path of a new file, which the caller writes; for `remove` in any case. */
  reserve(): string {
    return join(this.#folder, randomUUID())
  }

  /**
   * Writes a stream to the disk.
   *
   * @returns the path of the file, for `remove`
   * @throws StorageFull; UploadCut when the stream is cut off: nothing is kept
   */
  async take(body: Readable): Promise<string> {
    const path = this.reserve()
    let bytes = 0
    try {
      await pipeline(
        body,
        async function* (chunks: AsyncIterable<Buffer>) {
          for await (const chunk of chunks) {
            bytes += chunk.length
            yield chunk
          }
        },
        createWriteStream(path, { flags: 'wx', mode: 0o600 }),
      )
      if ((await stat(path)).size !== bytes) throw new StorageFull()
      return path
    } catch (error) {
      await this.remove(path)
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') throw new StorageFull().with({ cause: error })
      if (code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET') throw new UploadCut().with({ cause: error })
      throw error
    }
  }

  async remove(path: string): Promise<void> {
    await unlink(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }
}
