import { existsSync } from 'node:fs'
import { lchown, lstat, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { StartupError } from '../../errors.ts'
import { MOVED_FILE, RESTORE_PREFIX } from '../data-folder.ts'
import { syncFile, syncFolder } from '../durability/fsync.ts'
import { makeFolder, notWritable } from '../folders/make-folder.ts'
import { BackupError } from './archive.ts'
import { isAbandoned, MARK, WorkingFolder } from './working-folder.ts'

/** Entries of an empty file system. */
const EMPTY = new Set(['lost+found'])

/**
 * The place of a data folder that is being restored. The content is written beside it, and appears at once: a new folder
 * gets its name. A folder that exists, such as a mount point, stays itself, and the content is moved into it.
 */
export class RestoreFolder {
  /** The folder to restore into. */
  readonly folder: string
  readonly #target: string
  readonly #work: WorkingFolder
  readonly #exists: boolean

  private constructor(target: string, work: WorkingFolder, exists: boolean) {
    this.#target = target
    this.#work = work
    this.#exists = exists
    this.folder = join(work.path, 'data')
  }

  /** @throws BackupError when the folder is not empty, or nothing can be written there */
  static async open(dataDir: string): Promise<RestoreFolder> {
    const target = await realpath(dataDir).catch(() => resolve(dataDir))
    if (target === resolve(dataDir) && (await lstat(target).catch(() => null))?.isSymbolicLink())
      throw new BackupError(`${target} is a link that leads nowhere; create the folder that it names.`)
    const exists = (await stat(target).catch(() => null)) !== null
    try {
      if (exists) {
        await undoInterrupted(target)
        const [other] = (await readdir(target)).filter((name) => !EMPTY.has(name) && !name.startsWith(RESTORE_PREFIX))
        if (other !== undefined)
          throw new BackupError(`${target} is not empty; restore into a new folder, or move it away.`)
      } else await makeFolder(dirname(target))
      const prefix = exists ? join(target, RESTORE_PREFIX) : join(dirname(target), `.${basename(target)}-restore-`)
      const place = new RestoreFolder(target, await WorkingFolder.create(prefix), exists)
      await mkdir(place.folder, { mode: 0o700 })
      return place
    } catch (error) {
      if (error instanceof StartupError || !(error as NodeJS.ErrnoException).code) throw error
      const fault = notWritable(exists ? target : dirname(target), error as NodeJS.ErrnoException)
      throw new BackupError(`${fault}: make it writable, or choose another data folder.`)
    }
  }

  /**
   * Lets the content appear, and runs `then`. If that fails, the content disappears again.
   *
   * @param last the path of the file in the folder that appears last, because the platform begins with it
   */
  async publish(last: string, then: () => Promise<void>): Promise<void> {
    const owner = await stat(this.#exists ? this.#target : dirname(this.#target))
    await giveTo(owner, this.folder)
    await syncFolder(this.folder)
    const names = (await readdir(this.folder)).sort((a, b) => Number(isIn(last, a)) - Number(isIn(last, b)))
    try {
      if (this.#exists) {
        const list = join(this.#work.path, MOVED_FILE)
        await writeFile(list, JSON.stringify(names))
        await syncFile(list)
        await syncFolder(this.#work.path)
        for (const name of names) await rename(join(this.folder, name), join(this.#target, name))
      } else await rename(this.folder, this.#target)
      await then()
    } catch (error) {
      const appeared = this.#exists ? names.map((name) => join(this.#target, name)) : [this.#target]
      for (const path of appeared) await rm(path, { recursive: true, force: true })
      throw error
    }
    await this.close()
    await syncFolder(this.#exists ? this.#target : dirname(this.#target))
  }

  /** Removes what was not published. */
  close(): Promise<void> {
    return this.#work.remove()
  }
}

const isIn = (path: string, name: string): boolean => path === name || path.startsWith(name + sep)

/** Removes what a killed restore has left in an existing folder. */
async function undoInterrupted(target: string): Promise<void> {
  for (const name of (await readdir(target)).filter((entry) => entry.startsWith(RESTORE_PREFIX))) {
    const path = join(target, name)
    if (existsSync(join(path, MARK)) && !(await isAbandoned(path)))
      throw new BackupError(`Another restore into ${target} is under way.`)
    const moved: string[] = JSON.parse(await readFile(join(path, MOVED_FILE), 'utf8').catch(() => '[]'))
    for (const one of moved) await rm(join(target, one), { recursive: true, force: true })
    await rm(path, { recursive: true, force: true })
  }
}

/** Gives everything to the owner of the data folder, when root restores it for a service. */
async function giveTo({ uid, gid }: { uid: number; gid: number }, folder: string): Promise<void> {
  if (process.getuid?.() !== 0 || uid === 0) return
  for (const name of ['', ...(await readdir(folder, { recursive: true }))]) await lchown(join(folder, name), uid, gid)
}
