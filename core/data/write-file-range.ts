import { once } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import type { ByteRange } from './byte-range.ts'

const PIECE_BYTES = 512 * 1024
const SMALL_PIECE_BYTES = 64 * 1024
/** Maximum number of large buffers; further transfers use small ones. */
const MOST_PIECES = 64

/** Buffers for reuse, since allocating one for each chunk would cost as much as reading the file. */
const spare: Buffer[] = []
let pieces = 0

function takePiece(bytes: number): Buffer {
  const piece = bytes > SMALL_PIECE_BYTES ? spare.pop() : undefined
  if (piece) return piece
  if (bytes <= SMALL_PIECE_BYTES || pieces === MOST_PIECES) return Buffer.allocUnsafeSlow(SMALL_PIECE_BYTES)
  pieces++
  return Buffer.allocUnsafeSlow(PIECE_BYTES)
}

function giveBack(piece: Buffer): void {
  if (piece.length === PIECE_BYTES) spare.push(piece)
}

/**
 * Writes a range of a file to a response and ends it. A slow client costs the memory of one chunk.
 *
 * @param range both ends included
 * @param last false when more is to be written afterwards
 * @throws when the file is shorter than the range, or the client disconnects
 */
export async function writeFileRange(
  file: FileHandle,
  range: ByteRange,
  response: ServerResponse,
  { last = true } = {},
): Promise<void> {
  const over = new AbortController()
  const gone = once(response, 'close', { signal: over.signal }).then(() => {
    throw new Error('The client went away.')
  })
  gone.catch(() => {})
  try {
    await write(file, range, response, gone)
  } finally {
    over.abort()
  }
  if (last) response.end()
}

async function write(file: FileHandle, { start, end }: ByteRange, response: ServerResponse, gone: Promise<never>) {
  for (let at = start; at <= end; ) {
    const left = end - at + 1
    const piece = takePiece(left)
    let written: Promise<void> | undefined
    try {
      const { bytesRead } = await file.read(piece, 0, Math.min(left, piece.length), at)
      if (bytesRead === 0) throw new Error('The file is shorter than it should be.')
      at += bytesRead
      const bytes = piece.subarray(0, bytesRead)
      written = new Promise((resolve, reject) => {
        response.write(bytes, (error) => (error ? reject(error) : resolve()))
      })
      await Promise.race([written, gone])
    } finally {
      // The buffer is reused only after the system has taken its bytes; garbage collection frees it when the client has
      // gone.
      if (written)
        written.then(
          () => giveBack(piece),
          () => forgetPiece(piece),
        )
      else giveBack(piece)
    }
  }
}

function forgetPiece(piece: Buffer): void {
  if (piece.length === PIECE_BYTES) pieces--
}
