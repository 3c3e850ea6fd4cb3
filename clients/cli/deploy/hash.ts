import { createHash, hash, webcrypto } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { CliError, fileReason } from '../errors.ts'
import { forEach } from './concurrently.ts'
import type { BuildFile } from './folder.ts'

export interface HashedFile extends BuildFile {
  /** The SHA-256 digest in hexadecimal. */
  sha256: string
}

/** Files up to this size are read and hashed at once: waiting for the thread pool would take several times as long. */
const AT_ONCE_BYTES = 64 * 1024
/** Files up to this size are read whole and hashed in parallel on the thread pool; larger ones are streamed. */
const WHOLE_BYTES = 16 * 1024 ** 2
const CONCURRENCY = 8

/** Hashes files. Returns the hashed size of each, because a file may have changed since it was listed. */
export async function hashFiles(files: BuildFile[], advance: (bytes: number) => void): Promise<HashedFile[]> {
  const hashed: HashedFile[] = new Array(files.length)
  await forEach(CONCURRENCY, [...files.entries()], async ([index, file]) => {
    const { sha256, size } = await hashFile(file).catch((error) => {
      throw new CliError(`${file.file} can't be read: ${fileReason(error)}.`, { code: 'unreadable', cause: error })
    })
    hashed[index] = { ...file, size, sha256 }
    advance(size)
  })
  return hashed
}

async function hashFile({ file, size }: BuildFile): Promise<{ sha256: string; size: number }> {
  if (size <= AT_ONCE_BYTES) {
    const bytes = readFileSync(file)
    return { sha256: hash('sha256', bytes), size: bytes.length }
  }
  if (size <= WHOLE_BYTES) {
    const bytes = await readFile(file)
    const whole = await webcrypto.subtle.digest('SHA-256', bytes)
    return { sha256: Buffer.from(whole).toString('hex'), size: bytes.length }
  }
  const digest = createHash('sha256')
  let length = 0
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 ** 2 })) {
    digest.update(chunk)
    length += chunk.length
  }
  return { sha256: digest.digest('hex'), size: length }
}
