import { createHash } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { StorageFull } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import { UploadCut } from '../errors.ts'
import { tooLarge, VIDEO_BYTES } from './inspect.ts'

/** An upload on the local disk, which is inspected before it becomes a blob. */
export interface Spooled {
  size: number
  sha256: string
  /** The descriptor of the open file. */
  fd: number
  /** Returns the complete upload as a stream. */
  stream(): Readable
  close(): Promise<void>
}

/**
 * Writes a stream to an unlinked file, which disappears with the process, however that ends. Memory use is constant.
 *
 * @param folder on a disk with room for the largest upload
 * @throws PayloadTooLarge once it is longer than any file may be
 * @throws UploadCut when the stream breaks
 * @throws StorageFull
 */
export async function spool(folder: string, upload: Readable): Promise<Spooled> {
  const path = join(folder, `.upload-${randomText(9)}`)
  const file = await open(path, 'wx+', 0o600).catch(rethrowFull)
  try {
    await unlink(path)
    const hash = createHash('sha256')
    let size = 0
    for await (const chunk of chunksOf(upload)) {
      if (size + chunk.length > VIDEO_BYTES) throw tooLarge(true)
      hash.update(chunk)
      await writeAll(file, chunk, size)
      size += chunk.length
    }
    return {
      size,
      sha256: hash.digest('hex'),
      fd: file.fd,
      stream: () => file.createReadStream({ start: 0, autoClose: false }),
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** The sender causes read errors. The stream stays open, so that an error response can still be sent. */
async function* chunksOf(upload: Readable): AsyncGenerator<Buffer> {
  const chunks = upload.iterator({ destroyOnReturn: false })
  for (;;) {
    const { done, value } = await chunks.next().catch((cause: unknown) => {
      throw new UploadCut().with({ cause })
    })
    if (done) return
    yield value as Buffer
  }
}

/** A full disk may write less than requested without an error. */
async function writeAll(file: FileHandle, chunk: Buffer, position: number): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    const { bytesWritten } = await file
      .write(chunk, written, chunk.length - written, position + written)
      .catch(rethrowFull)
    if (bytesWritten === 0) throw new StorageFull()
    written += bytesWritten
  }
}

function rethrowFull(error: NodeJS.ErrnoException): never {
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') throw new StorageFull().with({ cause: error })
  throw error
}
