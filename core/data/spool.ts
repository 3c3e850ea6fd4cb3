import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { defineError, StorageFull } from '../errors.ts'
import { makeFolder } from './folders/make-folder.ts'
import { isLeftBehind, OWN_PREFIX } from './sharing/process-files.ts'

export const UploadCut = defineError('invalid_request', 400, 'The upload was cut off.')

/**
 * Throws the error of the file of a form. That of a form which ends in the middle of the file has no code: it comes from
 * the parser.
 */
export function throwCut(error: unknown): never {
  throw (error as { code?: string }).code ? error : new UploadCut().with({ cause: error })
}

/** Holds files on the disk for a request: uploads while they are examined, copies while they are sent. */
export class Spool {
  readonly #folder: string

  /**
   * @param folder a folder inside the platform's data folder, with no other use: a system folder for temporary files
   *   may be small and in memory
   */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Creates the folder, and removes the remains of processes that died. */
  async prepare(): Promise<void> {
    await makeFolder(this.#folder)
    for (const name of await readdir(this.#folder)) if (isLeftBehind(name)) await this.remove(join(this.#folder, name))
  }

  /** Returns the path of a new file, which the caller writes, and later passes to `remove` in any case. */
  reserve(): string {
    return join(this.#folder, OWN_PREFIX + randomUUID())
  }

  /**
   * Writes a stream to the disk.
   *
   * @returns the path of the file, for `remove`
   * @throws StorageFull, or UploadCut when the stream breaks off; the file is then removed
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

  /** Removes a file, or a folder of this name with all that is in it. */
  async remove(path: string): Promise<void> {
    await rm(path, { recursive: true, force: true })
  }
}
