import { createHash } from 'node:crypto'

/** A file of an archive that is written. */
export interface ZipFile {
  path: string
  size: number
  sha256: string
  crc32: number
}

/** A part of the archive: bytes in memory, or a file in the storage. */
export type ZipPart<File extends ZipFile> = { start: number; size: number } & ({ bytes: Buffer } | { file: File })

/** The layout of an archive, which is known before it is sent. */
export interface ZipLayout<File extends ZipFile> {
  parts: ZipPart<File>[]
  size: number
  /** The digest of the contents. The same files give the same archive, byte for byte. */
  digest: string
}

const LOCAL_BYTES = 30
const CENTRAL_BYTES = 46
const END_BYTES = 22
/** Version 2.0, which every reader supports. The flag marks names as UTF-8. */
const VERSION = 20
const UTF8 = 0x0800
/** 1 January 1980, the first date of the format. */
const DATE = 0x0021

/**
 * Computes the layout of a ZIP archive (APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16): uncompressed files in the
 * given order, with a fixed date. Checksums and sizes are known in advance, so no data descriptors are needed.
 *
 * @param files together under 4 GiB and at most 65,535, so that no ZIP64 is needed
 */
export function layOut<File extends ZipFile>(files: readonly File[]): ZipLayout<File> {
  const parts: ZipPart<File>[] = []
  const directory: Buffer[] = []
  const hash = createHash('sha256')
  let at = 0
  const add = (size: number, what: { bytes: Buffer } | { file: File }) => {
    parts.push({ start: at, size, ...what })
    at += size
  }
  for (const file of files) {
    const name = Buffer.from(file.path)
    hash.update(`${file.path}\0${file.sha256}\0`)
    directory.push(centralHeader(file, name, at))
    add(LOCAL_BYTES + name.length, { bytes: localHeader(file, name) })
    if (file.size > 0) add(file.size, { file })
  }
  const central = Buffer.concat(directory)
  const bytes = Buffer.concat([central, endRecord(files.length, central.length, at)])
  add(bytes.length, { bytes })
  return { parts, size: at, digest: hash.digest('hex') }
}

/** Returns the size of an archive of these files without creating it. */
export const zipSize = (files: readonly Pick<ZipFile, 'path' | 'size'>[]): number =>
  files.reduce(
    (sum, { path, size }) => sum + LOCAL_BYTES + CENTRAL_BYTES + 2 * Buffer.byteLength(path) + size,
    END_BYTES,
  )

/** Yields the parts of an archive in a byte range, each with its own range. Both ends are included. */
export function* within<File extends ZipFile>({ parts }: ZipLayout<File>, start: number, end: number) {
  for (const part of parts) {
    const last = part.start + part.size - 1
    if (last < start) continue
    if (part.start > end) return
    yield { part, from: Math.max(0, start - part.start), to: Math.min(last, end) - part.start }
  }
}

type Described = Pick<ZipFile, 'size' | 'crc32'>

/** Returns what precedes a file in an archive. */
export function localHeader(file: Described, name: Buffer): Buffer {
  const header = Buffer.alloc(LOCAL_BYTES)
  header.writeUInt32LE(0x04034b50, 0)
  describeFile(header.subarray(4), file, name)
  return Buffer.concat([header, name])
}

/** Returns the entry of a file in the directory of an archive. @param offset of its local header */
export function centralHeader(file: Described, name: Buffer, offset: number): Buffer {
  const header = Buffer.alloc(CENTRAL_BYTES)
  header.writeUInt32LE(0x02014b50, 0)
  header.writeUInt16LE(VERSION, 4)
  describeFile(header.subarray(6), file, name)
  header.writeUInt32LE(offset, 42)
  return Buffer.concat([header, name])
}

/** Writes the fields that both headers share, from "version needed to extract" to the length of the name. */
function describeFile(fields: Buffer, { crc32, size }: Described, name: Buffer): void {
  fields.writeUInt16LE(VERSION, 0)
  fields.writeUInt16LE(UTF8, 2)
  fields.writeUInt16LE(DATE, 8)
  fields.writeUInt32LE(crc32, 10)
  fields.writeUInt32LE(size, 14)
  fields.writeUInt32LE(size, 18)
  fields.writeUInt16LE(name.length, 22)
}

/** Returns the end of an archive: how many files it has, and where its directory is. */
export function endRecord(count: number, size: number, offset: number): Buffer {
  const record = Buffer.alloc(END_BYTES)
  record.writeUInt32LE(0x06054b50, 0)
  record.writeUInt16LE(count, 8)
  record.writeUInt16LE(count, 10)
  record.writeUInt32LE(size, 12)
  record.writeUInt32LE(offset, 16)
  return record
}
