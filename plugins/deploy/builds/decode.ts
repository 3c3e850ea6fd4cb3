import { once } from 'node:events'
import type { Duplex, Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip } from 'node:zlib'

/** The suffixes of compressed files. `.unityweb` is Unity's own: gzip, brotli, or not compressed at all. */
const COMPRESSED = /\.(br|gz|unityweb)$/i

/**
 * Returns the content of a file of a build, decompressed if its name says that it is compressed. The caller destroys
 * both streams. An error of `stored` becomes one of the result.
 */
export async function decode(path: string, stored: Readable): Promise<Readable> {
  const decoder = decoderOf(COMPRESSED.exec(path)?.[1]?.toLowerCase(), await firstBytesOf(stored))
  if (!decoder) return stored
  stored.once('error', (error) => decoder.destroy(error))
  return stored.pipe(decoder)
}

function decoderOf(suffix: string | undefined, first: Buffer): Duplex | null {
  if (suffix === 'gz' || (suffix === 'unityweb' && first[0] === 0x1f && first[1] === 0x8b)) return createGunzip()
  if (suffix === 'br') return createBrotliDecompress()
  // Unity begins its brotli with a metadata block that holds this text.
  return suffix === 'unityweb' && first.includes('UnityWeb Compressed') ? createBrotliDecompress() : null
}

/** Returns the first chunk of a stream, which stays in the stream. */
async function firstBytesOf(stream: Readable): Promise<Buffer> {
  await once(stream, 'readable')
  const chunk: Buffer | null = stream.read()
  if (chunk) stream.unshift(chunk)
  return chunk ?? Buffer.alloc(0)
}
