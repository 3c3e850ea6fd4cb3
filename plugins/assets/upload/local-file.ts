import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'

/** Identifies the bytes of a file on disk. */
export interface FileDigest {
  sha256: string
  size: number
  crc32: number
}

export async function digestFile(path: string): Promise<FileDigest> {
  const hash = createHash('sha256')
  let sum = 0
  let size = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    hash.update(chunk)
    sum = crc32(chunk, sum)
    size += chunk.length
  }
  return { sha256: hash.digest('hex'), size, crc32: sum }
}

/** Returns the first bytes of a file; fewer when it is shorter. */
export async function headOf(path: string, length: number): Promise<Buffer> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
