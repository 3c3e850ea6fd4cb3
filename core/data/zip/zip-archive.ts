import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { crc32, inflateRawSync } from 'node:zlib'
import { type Entry, fromRandomAccessReaderPromise, type ZipFile } from 'yauzl'
import { InvalidRequest, PayloadTooLarge } from '../../errors.ts'
import { formatBytes } from '../../format-bytes.ts'
import { pathProblem, printablePath } from '../file-path.ts'
import { declaredName, decoderOf, publishedPath, TOP_FOLDER } from './zip-names.ts'
import { BlockReader } from './zip-reader.ts'

/** A file in an archive. */
export interface ArchivedFile {
  path: string
  /** The announced size, which `read` enforces. */
  size: number
  /** Whether the encoding of the name is unknown, so that `path` is a guess. */
  guessed: boolean
  entry: Entry
}

/**
 * Maximum compression ratio, which no ordinary content exceeds. Small totals up to the slack are exempt, since they are
 * harmless.
 */
const MOST_RATIO = 200
const RATIO_SLACK_BYTES = 64 * 1024 * 1024
/** Size of a local header without its name. */
const HEADER_BYTES = 30
const HEADER_SIGNATURE = 0x04034b50
/** A small file is unpacked by this thread in a few milliseconds at most. */
const SMALL_BYTES = 1024 ** 2
/** Entries are read, and small files unpacked, for this long. Then whatever else waits has its turn. */
const TURN_MS = 5

/**
 * An untrusted zip archive, read from the disk in blocks. The whole directory is checked before anything is unpacked,
 * and the unpacked files are checked against the directory: names, sizes, checksums.
 */
export class Archive {
  readonly #zip: ZipFile
  readonly #reader: BlockReader
  readonly #directoryAt: number
  #turnEnds = 0

  private constructor(zip: ZipFile, reader: BlockReader) {
    this.#zip = zip
    this.#reader = reader
    this.#directoryAt = zip.readEntryCursor as unknown as number
    // Errors of the file while no read is pending are ignored; a reader gets them from its stream.
    zip.on('error', () => {})
  }

  /** @throws InvalidRequest when the file is not a zip archive */
  static async open(path: string): Promise<Archive> {
    const file = await open(path)
    const reader = new BlockReader(file)
    try {
      const { size } = await file.stat()
      const options = { autoClose: false, decodeStrings: false, validateEntrySizes: true }
      const archive = new Archive(await fromRandomAccessReaderPromise(reader, size, options), reader)
      reader.directoryAt = archive.#directoryAt
      return archive
    } catch (error) {
      const kind = await otherKindOf(file).finally(() => file.close())
      if (kind) throw new InvalidRequest(`This is ${kind}, whatever its name says. Pack the folder as a zip archive.`)
      throw refusal(error)
    }
  }

  close(): void {
    this.#zip.close()
  }

  /**
   * Lists the files in the order of the archive, without folders.
   *
   * @param most the limit of entries, folders included
   * @param isJunkFile picks entries that operating systems add, whose names are not checked
   * @throws InvalidRequest, PayloadTooLarge saying what is wrong with the archive
   */
  async files({ most, isJunkFile }: { most: number; isJunkFile: (path: string) => boolean }): Promise<ArchivedFile[]> {
    const entries = await this.#entries(most, isJunkFile)
    checkLayout(entries, this.#directoryAt)
    return entries.filter(({ path }) => !path.endsWith('/'))
  }

  /**
   * Checks the total unpacked size of these files.
   *
   * @throws PayloadTooLarge over `mostBytes`; InvalidRequest for a zip bomb
   */
  checkTotal(files: readonly ArchivedFile[], { what, mostBytes }: { what: string; mostBytes: number }): void {
    const total = files.reduce((sum, { size }) => sum + size, 0)
    if (total > mostBytes) {
      throw new PayloadTooLarge(
        `The files are larger than ${formatBytes(mostBytes)} together, the most that ${what} may have.`,
      )
    }
    if (total > this.#zip.fileSize * MOST_RATIO + RATIO_SLACK_BYTES) {
      throw new InvalidRequest(`The archive is taken for a bomb: ${this.#zip.fileSize} bytes unpack to ${total}.`)
    }
  }

  /** Streams a file. Fails with InvalidRequest when the bytes differ from those that the archive announced. */
  read({ entry, path }: ArchivedFile): Readable {
    const zip = this.#zip
    const chunks = async function* () {
      let sum = 0
      try {
        // The library fails at the first byte beyond the announced size, or when a byte is missing.
        for await (const chunk of await zip.openReadStreamPromise(entry)) {
          sum = crc32(chunk, sum)
          yield chunk
        }
      } catch (error) {
        throw refusal(error, path)
      }
      if (sum !== entry.crc32) throw refusal(new Error('its checksum does not match'), path)
    }
    return Readable.from(chunks(), { objectMode: false })
  }

  /** Whether `readSmall` takes the file. */
  isSmall({ entry, size }: ArchivedFile): boolean {
    return size <= SMALL_BYTES && entry.compressedSize <= SMALL_BYTES
  }

  /**
   * Returns the bytes of a small file. A stream for each of thousands of files would take most of the time. Calls in
   * the order of the files' offsets read each part of the archive once.
   *
   * @throws InvalidRequest when the bytes differ from those that the archive announced
   */
  async readSmall({ entry, path, size }: ArchivedFile): Promise<Buffer> {
    if (this.#hadTurn) await this.#giveTurn()
    const { relativeOffsetOfLocalHeader: start, compressedSize, compressionMethod } = entry
    try {
      const header = await this.#reader.piece(start, start + HEADER_BYTES)
      if (header.readUInt32LE(0) !== HEADER_SIGNATURE) throw new Error('its local header is broken')
      const dataAt = start + HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28)
      const data = await this.#reader.piece(dataAt, dataAt + compressedSize)
      const bytes = compressionMethod === 0 ? Buffer.from(data) : inflate(data, size)
      if (bytes.length !== size) throw new Error(`it has ${bytes.length} bytes instead of ${size}`)
      if (crc32(bytes) !== entry.crc32) throw new Error('its checksum does not match')
      return bytes
    } catch (error) {
      throw refusal(error, path)
    }
  }

  /** @throws InvalidRequest when the file differs from the announcement */
  async digest(file: ArchivedFile): Promise<string> {
    const hash = createHash('sha256')
    for await (const chunk of this.read(file)) hash.update(chunk)
    return hash.digest('hex')
  }

  /** Whether this archive has had its turn. The question costs less than a promise for each of thousands of files. */
  get #hadTurn(): boolean {
    return performance.now() > this.#turnEnds
  }

  /** Lets whatever else waits have its turn. */
  async #giveTurn(): Promise<void> {
    await nextTurn()
    this.#turnEnds = performance.now() + TURN_MS
  }

  /** Lists every entry, with validated names. */
  async #entries(most: number, isJunkFile: (path: string) => boolean): Promise<ArchivedFile[]> {
    if (this.#zip.entryCount > most) {
      throw new PayloadTooLarge(
        `The archive has ${this.#zip.entryCount} entries; at most ${most} are read, ignored ones included. ` +
          'Leave out dependencies and version histories.',
      )
    }
    const entries: ArchivedFile[] = []
    const names = new Map<string, string>()
    try {
      const listed: { entry: Entry; name: string | null }[] = []
      for await (const entry of this.#zip.eachEntry()) {
        if (this.#hadTurn) await this.#giveTurn()
        listed.push({ entry, name: declaredName(entry) })
      }
      const unknown = listed.filter(({ name }) => name === null).map(({ entry }) => entry.fileNameRaw)
      const decode = await decoderOf(unknown)
      for (const { entry, name } of listed) {
        if (this.#hadTurn) await this.#giveTurn()
        const path = publishedPath(name ?? decode(entry.fileNameRaw))
        checkEntry(entry, path, isJunkFile(path))
        entries.push({ path, size: entry.uncompressedSize, guessed: name === null, entry })
        // Folders are not published, and some tools list them again for each file.
        if (path.endsWith('/')) continue
        const key = path.toLowerCase()
        const same = names.get(key)
        if (same !== undefined) {
          throw new InvalidRequest(
            same === path
              ? `The archive has ${printablePath(path)} twice.`
              : `The archive has ${printablePath(same)} and ${printablePath(path)}, which many disks take for one file.`,
          )
        }
        names.set(key, path)
      }
    } catch (error) {
      throw refusal(error)
    }
    return entries
  }
}

/** @throws an error of zlib when there are more than `size` bytes */
const inflate = (data: Buffer, size: number): Buffer =>
  inflateRawSync(data, { maxOutputLength: Math.max(1, size), chunkSize: Math.max(64, size) })

const FILE_TYPE = 0o170000
const REGULAR = 0o100000
const FOLDER = 0o040000
const SYMBOLIC_LINK = 0o120000

function checkEntry(entry: Entry, path: string, isJunkFile: boolean): void {
  const refuse = (problem: string) => new InvalidRequest(`The archive's entry ${printablePath(path)} ${problem}.`)
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE
  if (type === SYMBOLIC_LINK) throw refuse('is a symbolic link; put the file itself there')
  if (type !== 0 && type !== REGULAR && type !== FOLDER) throw refuse('is a device or the like')
  if (entry.isEncrypted()) throw refuse('is encrypted')
  if (!entry.canDecodeFileData()) throw refuse('is compressed in an unusual way; use Deflate')
  const isFolder = path.endsWith('/')
  if (isFolder && entry.uncompressedSize > 0) throw refuse('is a folder with content of its own')
  if (!isFolder && type === FOLDER) throw refuse('is a folder by its mode and a file by its name')
  if (isJunkFile || path === TOP_FOLDER) return
  const fault = pathProblem(isFolder ? path.slice(0, -1) : path)
  if (fault) throw refuse(fault)
}

/** The first bytes of archives that people rename to .zip. */
const OTHER_KINDS: readonly [kind: string, at: number, bytes: string][] = [
  ['a RAR archive', 0, '526172211a07'],
  ['a 7z archive', 0, '377abcaf271c'],
  ['a gzip archive', 0, '1f8b'],
  ['an xz archive', 0, 'fd377a585a00'],
  ['a bzip2 archive', 0, '425a68'],
  ['a zstd archive', 0, '28b52ffd'],
  ['a tar archive', 257, '7573746172'],
  ['a program for Windows', 0, '4d5a'],
  ['a web page', 0, '3c'],
]
const HEAD_BYTES = 512

/** Returns what a file is that is no zip archive, if it is another archive. */
async function otherKindOf(file: FileHandle): Promise<string | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
  const head = buffer.toString('hex', 0, bytesRead)
  return OTHER_KINDS.find(([, at, bytes]) => head.startsWith(bytes, at * 2))?.[0]
}

/** Checks that no entries share bytes, because that would expand kilobytes into gigabytes. */
function checkLayout(entries: readonly ArchivedFile[], directoryAt: number): void {
  const parts = entries
    .map(({ entry, path }) => ({
      path,
      start: entry.relativeOffsetOfLocalHeader,
      end: entry.relativeOffsetOfLocalHeader + HEADER_BYTES + entry.fileNameLength + entry.compressedSize,
    }))
    .sort((a, b) => a.start - b.start)
  for (const [index, { path, end }] of parts.entries()) {
    if (end > (parts[index + 1]?.start ?? directoryAt)) {
      throw new InvalidRequest(`The archive is broken or malicious: ${printablePath(path)} overlaps what follows it.`)
    }
  }
}

/**
 * Converts errors of the library to InvalidRequest. The archive controls some of the text, so unprintable characters
 * are escaped.
 */
function refusal(error: unknown, path?: string): unknown {
  if (error instanceof InvalidRequest || error instanceof PayloadTooLarge) return error
  const { message, code, syscall } = error as NodeJS.ErrnoException
  if (syscall) return error
  const what = path === undefined ? 'The archive' : `The archive's entry ${printablePath(path)}`
  const why = code?.startsWith('Z_') ? 'its compressed data is broken' : printablePath(message)
  return new InvalidRequest(`${what} can't be unpacked: ${why}.`).with({ cause: error })
}
