// The worker thread program that compresses files. Each message is the bytes of one file, and each answer its variants;
// null ends it.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import type { Transform } from 'node:stream'
import { parentPort } from 'node:worker_threads'
import {
  type BrotliOptions,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  gzipSync,
} from 'node:zlib'
import type { Variant } from '../compression/compressor.ts'

/**
 * Larger files are compressed in pieces: a thread can't be terminated within one call, and a stop must not wait for a
 * minute of work.
 */
const AT_ONCE = 512 * 1024
const PIECE = 64 * 1024

// On Linux a thread has its own priority. A lower one leaves the CPU to requests of players.
try {
  setPriority(Number(readlinkSync('/proc/thread-self').split('/').pop()), 15)
} catch {}

async function inPieces(stream: Transform, bytes: Uint8Array): Promise<Buffer> {
  const chunks: Buffer[] = []
  stream.on('data', (chunk) => chunks.push(chunk))
  const ended = once(stream, 'end')
  for (let at = 0; at < bytes.length; at += PIECE) {
    if (!stream.write(bytes.subarray(at, at + PIECE))) await once(stream, 'drain')
  }
  stream.end()
  await ended
  return Buffer.concat(chunks)
}

parentPort?.on('message', async (bytes: Uint8Array | null) => {
  // The worker exits between two calls of zlib, never within one.
  if (bytes === null) process.exit()
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants
  const best: BrotliOptions = { params: { [BROTLI_PARAM_QUALITY]: 11, [BROTLI_PARAM_SIZE_HINT]: bytes.length } }
  const small = bytes.length <= AT_ONCE
  const br = small ? brotliCompressSync(bytes, best) : await inPieces(createBrotliCompress(best), bytes)
  const gzip = small ? gzipSync(bytes, { level: 9 }) : await inPieces(createGzip({ level: 9 }), bytes)
  const variants = (
    [
      ['br', br],
      ['gzip', gzip],
    ] as const
  ).map(([coding, made]): Variant => {
    const sha256 = createHash('sha256').update(made).digest('hex')
    // The copy has its own buffer: small Node buffers share one, which can't be transferred.
    return { coding, sha256, bytes: new Uint8Array(made) }
  })
  parentPort?.postMessage(
    variants,
    variants.map(({ bytes }) => bytes.buffer as ArrayBuffer),
  )
})
