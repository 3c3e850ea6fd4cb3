import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { InvalidRequest, PayloadTooLarge } from '../../../core/errors.ts'
import { shown } from '../check-files.ts'
import { problemOf } from '../paths.ts'
import type { DeployLimits } from '../schemas.ts'
import { IGNORE_FILE, isLitter, leftOut } from './left-out.ts'

/** A file of an archive that is to be published. */
export interface ArchivedFile {
  path: string
  /** As the archive announces it; `read` holds it to that. */
  size: number
  entry: Entry
}

/** Folders and litter count too: so many entries for each file that a deploy may have. */
const ENTRIES_PER_FILE = 4
/** No build shrinks to less than a two-hundredth; up to the slack it may, since that can't hurt. */
const MOST_RATIO = 200
const RATIO_SLACK_BYTES = 64 * 1024 * 1024
const IGNORE_FILE_BYTES = 65_536
/** A local header without its name. */
const HEADER_BYTES = 30

/**
 * A zip archive that a stranger made. Everything that its directory says is checked before anything is unpacked, and
 * what comes out is held to what was said: names, sizes, checksums. It is read from the disk piece by piece.
 */
export class Archive {
  readonly #zip: ZipFile
  readonly #directoryAt: number

  private constructor(zip: ZipFile) {
    this.#zip = zip
    this.#directoryAt = zip.readEntryCursor as unknown as number
    // Of a file that breaks while nobody waits; whoever reads it is told by the stream.
    zip.on('error', () => {})
  }

  /** @throws InvalidRequest when the file is no zip archive */
  static async open(path: string): Promise<Archive> {
    try {
      return new Archive(await openPromise(path, { autoClose: false, strictFileNames: true, validateEntrySizes: true }))
    } catch (error) {
      throw refusal(error)
    }
  }

  close(): void {
    this.#zip.close()
  }

  /**
   * The files to publish, relative to the folder with the `index.html`, and how many were left out.
   *
   * @throws InvalidRequest, PayloadTooLarge saying what is wrong with the archive
   */
  async files(limits: DeployLimits): Promise<{ files: ArchivedFile[]; skipped: number }> {
    const entries = await this.#entries(limits)
    checkLayout(entries, this.#directoryAt)
    const all = entries.filter(({ path }) => !path.endsWith('/'))
    const root = rootOf(all.map(({ path }) => path))
    const inside = all.filter(({ path }) => path.startsWith(root))
    const listed = inside.find(({ path }) => path === root + IGNORE_FILE)
    const isLeftOut = leftOut(listed ? await this.#text(listed) : '')
    const files = inside
      .map((file) => ({ ...file, path: file.path.slice(root.length) }))
      .filter(({ path }) => !isLeftOut(path))
    if (files.length > limits.filesPerDeploy) {
      throw new PayloadTooLarge(`A deploy has at most ${limits.filesPerDeploy} files, not ${files.length}.`)
    }
    for (const { size, path } of files) {
      if (size > limits.deployFileBytes) {
        throw new PayloadTooLarge(`${shown(path)} has ${size} bytes; a file has at most ${limits.deployFileBytes}.`)
      }
    }
    checkSizes(files, this.#zip.fileSize, limits)
    return { files, skipped: all.length - files.length }
  }

  /** The bytes of a file. Fails with InvalidRequest when they are not those that the archive announced. */
  read({ entry, path }: ArchivedFile): Readable {
    const zip = this.#zip
    const chunks = async function* () {
      let sum = 0
      try {
        // The library ends it with an error at the first byte beyond the size announced, or when one is missing.
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

  /** @throws InvalidRequest when the file is not as announced */
  async digest(file: ArchivedFile): Promise<string> {
    const hash = createHash('sha256')
    for await (const chunk of this.read(file)) hash.update(chunk)
    return hash.digest('hex')
  }

  async #text(file: ArchivedFile): Promise<string> {
    if (file.size > IGNORE_FILE_BYTES) throw new InvalidRequest(`${IGNORE_FILE} is larger than 64 KiB.`)
    return Buffer.concat(await this.read(file).toArray()).toString()
  }

  /** Every entry, its name checked. */
  async #entries(limits: DeployLimits): Promise<ArchivedFile[]> {
    const most = limits.filesPerDeploy * ENTRIES_PER_FILE
    if (this.#zip.entryCount > most) {
      throw new PayloadTooLarge(`The archive has ${this.#zip.entryCount} entries; at most ${most} are read.`)
    }
    const entries: ArchivedFile[] = []
    const names = new Map<string, string>()
    try {
      for await (const entry of this.#zip.eachEntry()) {
        // Macs write names decomposed.
        const path = entry.fileName.normalize('NFC')
        checkEntry(entry, path)
        const key = path.toLowerCase()
        const same = names.get(key)
        if (same !== undefined) {
          throw new InvalidRequest(
            same === path
              ? `The archive has ${shown(path)} twice.`
              : `The archive has ${shown(same)} and ${shown(path)}, which many disks take for one file.`,
          )
        }
        names.set(key, path)
        entries.push({ path, size: entry.uncompressedSize, entry })
      }
    } catch (error) {
      throw refusal(error)
    }
    return entries
  }
}

const FILE_TYPE = 0o170000
const REGULAR = 0o100000
const FOLDER = 0o040000
const SYMBOLIC_LINK = 0o120000

function checkEntry(entry: Entry, path: string): void {
  const refuse = (problem: string) => new InvalidRequest(`The archive's entry ${shown(path)} ${problem}.`)
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE
  if (type === SYMBOLIC_LINK) throw refuse('is a symbolic link; put the file itself there')
  if (type !== 0 && type !== REGULAR && type !== FOLDER) throw refuse('is a device or the like')
  if (entry.isEncrypted()) throw refuse('is encrypted')
  if (!entry.canDecodeFileData()) throw refuse('is compressed in an unusual way; use Deflate')
  const isFolder = path.endsWith('/')
  if (isFolder && entry.uncompressedSize > 0) throw refuse('is a folder with content of its own')
  if (!isFolder && type === FOLDER) throw refuse('is a folder by its mode and a file by its name')
  if (isLitter(path)) return
  const problem = problemOf(isFolder ? path.slice(0, -1) : path)
  // Secrets and the platform's own prefixes are looked at again when it is known which folder is the root.
  if (problem && !/^(?:is reserved|belongs to|is an environment)/.test(problem)) throw refuse(problem)
}

/** Entries that share bytes turn kilobytes into gigabytes. */
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
      throw new InvalidRequest(`The archive is broken or malicious: ${shown(path)} overlaps what follows it.`)
    }
  }
}

function checkSizes(files: readonly ArchivedFile[], archiveBytes: number, limits: DeployLimits): void {
  const total = files.reduce((sum, { size }) => sum + size, 0)
  if (total > limits.deployBytes) {
    throw new PayloadTooLarge(`The files have ${total} bytes together; a deploy has at most ${limits.deployBytes}.`)
  }
  if (total > archiveBytes * MOST_RATIO + RATIO_SLACK_BYTES) {
    throw new InvalidRequest(`The archive is taken for a bomb: ${archiveBytes} bytes unpack to ${total}.`)
  }
}

/** The one folder that everything is in, when the `index.html` is in there: people zip the folder, not what it holds. */
function rootOf(paths: readonly string[]): string {
  const meant = paths.filter((path) => !isLitter(path))
  if (meant.includes('index.html')) return ''
  const [first = ''] = meant
  const root = first.slice(0, first.indexOf('/') + 1)
  return root && meant.includes(`${root}index.html`) && meant.every((path) => path.startsWith(root)) ? root : ''
}

/** The library's errors speak of the archive only; its file may have bytes in a name that no page should repeat. */
function refusal(error: unknown, path?: string): unknown {
  if (error instanceof InvalidRequest || error instanceof PayloadTooLarge) return error
  const { message, code, syscall } = error as NodeJS.ErrnoException
  if (syscall) return error
  const what = path === undefined ? 'The archive' : `The archive's entry ${shown(path)}`
  const why = code?.startsWith('Z_') ? 'its compressed data is broken' : shown(message)
  return new InvalidRequest(`${what} can't be unpacked: ${why}.`).with({ cause: error })
}
