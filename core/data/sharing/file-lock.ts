import type { DatabaseSync } from 'node:sqlite'

/** SQLite's result code for a lock that another process holds. */
const SQLITE_BUSY = 5

/**
 * An operating system lock on a file, which ends with the process, however the process ends. SQLite takes it, since Node
 * has no call for file locks. It works between containers with separate process ids.
 */
export class FileLock {
  readonly #database: DatabaseSync

  private constructor(database: DatabaseSync) {
    this.#database = database
  }

  /**
   * Takes the lock without waiting, and creates the file when it does not exist.
   *
   * @param mode `shared`: any number of processes at once; `exclusive`: one, while nobody shares it
   * @returns null while another process excludes this one
   * @throws when the file system supports no locks
   */
  static async take(file: string, mode: 'exclusive' | 'shared' = 'exclusive'): Promise<FileLock | null> {
    const { DatabaseSync } = await import('node:sqlite')
    let database: DatabaseSync | null = null
    try {
      database = new DatabaseSync(file, { timeout: 0 })
      // The transaction never writes, so it needs no rollback journal on disk.
      database.exec('pragma journal_mode = memory')
      database.exec(mode === 'exclusive' ? 'begin exclusive' : 'begin; select count(*) from sqlite_master')
      return new FileLock(database)
    } catch (error) {
      database?.close()
      if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null
      throw error
    }
  }

  get isHeld(): boolean {
    return this.#database.isOpen
  }

  release(): void {
    if (this.#database.isOpen) this.#database.close()
  }
}
