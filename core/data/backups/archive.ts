import { createHash } from 'node:crypto'
import { constants, createReadStream, createWriteStream } from 'node:fs'
import { access, lstat, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import tar from 'tar-stream'
import { StartupError } from '../../errors.ts'
import { folderReason } from '../folders/make-folder.ts'

/** A backup or restore failed and changed nothing. The message is one sentence. */
export class BackupError extends StartupError {
  override name = 'BackupError'
}

/** A file in an archive, with hex SHA-256 and size in bytes. */
export interface Member {
  name: string
  size: number
  sha256: string
}

const FORMAT = 1
const MANIFEST = 'manifest.json'

/** Writes a tar file. Records the digest of each member, and appends the list of members. */
export class Archive {
  readonly file: string
  readonly members: Member[] = []
  readonly #pack = tar.pack()

  constructor(file: string) {
    this.file = file
  }

  /**
   * Runs `work`, which adds the members, and resolves when the archive is on the disk.
   *
   * @param about further JSON to store in the list of members
   */
  async during(work: () => Promise<void>, about: object | null = null): Promise<void> {
    // Backups contain the secrets of the platform, so only the owner may read the file.
    const written = pipeline(this.#pack, createWriteStream(this.file, { flags: 'wx', mode: 0o600, flush: true }))
    written.catch(() => {}) // the await below handles the rejection; until then `work` notices it
    try {
      await work()
      this.#pack.entry({ name: MANIFEST }, JSON.stringify({ format: FORMAT, about, members: this.members }))
      this.#pack.finalize()
    } catch (error) {
      // The first error wins: that of the file, if there is one.
      this.#pack.destroy(error as Error)
    }
    await written
  }

  async addFile(name: string, path: string): Promise<void> {
    await this.add(name, (await stat(path)).size, createReadStream(path))
  }

  async add(name: string, size: number, content: Readable): Promise<void> {
    const hash = createHash('sha256')
    await pipeline(content, hashing(hash), this.#pack.entry({ name, size, mode: 0o600 }))
    this.members.push({ name, size, sha256: hash.digest('hex') })
  }
}

/**
 * Refuses a file that is missing or can't be read, before anything is made.
 *
 * @throws BackupError
 */
export async function mustBeReadable(file: string): Promise<void> {
  const which = 'name one that `gameyard backup` wrote'
  try {
    await access(file, constants.R_OK)
    if ((await stat(file)).isDirectory()) throw new BackupError(`${file} is a folder, and no backup; ${which}.`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!code) throw error
    const isLink = (await lstat(file).catch(() => null))?.isSymbolicLink()
    if (isLink && code === 'ENOENT') throw new BackupError(`${file} is a link that leads nowhere; ${which}.`)
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new BackupError(`There is no file ${file}; ${which}.`)
    throw new BackupError(`${file} can't be read (${folderReason(code) ?? code}); run the command as a user who may.`)
  }
}

/**
 * Reads an archive to its end.
 *
 * @param isOurs whether a member may have this name
 * @returns the members, and the `about` object stored with them, or null when there is none
 * @throws BackupError when the content differs from what was saved, or a member is missing or unexpected
 */
export async function verifiedMembers(
  file: string,
  isOurs: (name: string) => boolean,
): Promise<{ members: Member[]; about: unknown }> {
  const found: Member[] = []
  let manifest: { format?: number; about?: unknown; members?: Member[] } | undefined
  const damaged = (reason: string) => new BackupError(`${file} is damaged or no backup of Gameyard: ${reason}.`)
  try {
    await eachMember(file, async (name, size, content) => {
      if (name === MANIFEST) {
        manifest = JSON.parse((await buffer(content)).toString('utf8'))
        return
      }
      const hash = createHash('sha256')
      for await (const chunk of content) hash.update(chunk)
      found.push({ name, size, sha256: hash.digest('hex') })
    })
  } catch (error) {
    throw damaged((error as Error).message)
  }
  if (!manifest) throw damaged('its end is missing')
  if (manifest.format !== FORMAT)
    throw new BackupError(`${file} was written by a newer Gameyard (format ${manifest.format}); use that version.`)
  const { members = [], about = null } = manifest
  const wrong = found.find(
    ({ name, sha256 }, index) => members[index]?.name !== name || members[index].sha256 !== sha256,
  )
  if (wrong) throw damaged(`${wrong.name} is not what was saved`)
  if (found.length !== members.length) throw damaged(`${members[found.length]?.name} is missing`)
  const foreign = found.find(({ name }) => !isOurs(name))
  if (foreign) throw damaged(`it holds ${foreign.name}`)
  return { members, about }
}

type Visitor = (name: string, size: number, content: Readable) => Promise<unknown>

/** Calls `visit` for each member in turn; `visit` must read the content to its end. */
export async function eachMember(file: string, visit: Visitor): Promise<void> {
  const entries = tar.extract()
  const bytes = createReadStream(file)
  bytes.on('error', (error) => entries.destroy(error))
  bytes.pipe(entries)
  try {
    for await (const entry of entries) {
      const { name, size = 0, type } = entry.header
      if (type !== 'file') throw new Error(`${name} is a ${type}`)
      await visit(name, size, Readable.from(entry, { objectMode: false }))
    }
  } finally {
    bytes.destroy()
  }
}

const hashing = (hash: ReturnType<typeof createHash>) =>
  async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      hash.update(chunk)
      yield chunk
    }
  }
