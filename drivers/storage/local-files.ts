import type { FileHandle } from 'node:fs/promises'
import { StorageFull } from '../../core/errors.ts'

/** Writes a whole chunk. The system may write only a part of it without an error, as with a full disk. */
export async function writeWhole(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    const { bytesWritten } = await file.write(chunk, written)
    if (bytesWritten === 0) throw new StorageFull()
    written += bytesWritten
  }
}

export async function syncWhole(file: FileHandle, size: number): Promise<void> {
  await file.sync()
  if ((await file.stat()).size !== size) throw new StorageFull()
}

export function nullWhenAbsent(error: NodeJS.ErrnoException): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code ?? '')) return null
  throw error
}
