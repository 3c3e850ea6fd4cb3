import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { crc32 } from 'node:zlib'
import { centralHeader, endRecord, localHeader, zipSize } from '../../../core/data/zip/zip-layout.ts'
import { PayloadTooLarge } from '../../../core/errors.ts'

/** A file of the archive. */
export interface DownloadedFile {
  path: string
  size: number
  /** Opens its bytes, more than once. */
  open(): Promise<Readable>
}

/** A file up to this size is read once; that of a longer one has its checksum before its bytes, and so is read twice. */
const KEPT_BYTES = 8 * 1024 ** 2
/** The bounds of the format without ZIP64, which not every reader supports. */
const MOST_FILES = 65_535
const MOST_BYTES = 2 ** 32 - 1

/**
 * Writes a ZIP archive (APPNOTE.TXT 6.3) of files whose checksums nobody has, while it is being sent.
 *
 * @returns the archive and its size
 * @throws PayloadTooLarge
 */
export function archiveOf(files: readonly DownloadedFile[]): { size: number; body: Readable } {
  const size = zipSize(files)
  if (files.length > MOST_FILES || size > MOST_BYTES) {
    throw new PayloadTooLarge(`An archive has at most ${MOST_FILES} files and 4 GiB.`)
  }
  return { size, body: Readable.from(partsOf(files), { objectMode: false }) }
}

async function* partsOf(files: readonly DownloadedFile[]): AsyncGenerator<Buffer> {
  const directory: Buffer[] = []
  let at = 0
  for (const { path, size, open } of files) {
    const kept = size <= KEPT_BYTES ? await buffer(await open()) : null
    const name = Buffer.from(path)
    const file = { size, crc32: kept ? crc32(kept) : await checksumOf(await open()) }
    directory.push(centralHeader(file, name, at))
    const header = localHeader(file, name)
    yield header
    if (kept) yield kept
    else yield* (await open()) as AsyncIterable<Buffer>
    at += header.length + size
  }
  const central = Buffer.concat(directory)
  yield Buffer.concat([central, endRecord(files.length, central.length, at)])
}

async function checksumOf(bytes: AsyncIterable<Buffer>): Promise<number> {
  let checksum = 0
  for await (const piece of bytes) checksum = crc32(piece, checksum)
  return checksum
}
