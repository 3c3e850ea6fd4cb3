import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StartupError } from '../../errors.ts'

/** What a code of the system means for a folder. */
const REASONS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  ENOTDIR: 'a file is in the way',
  EEXIST: 'a file is in the way',
  ELOOP: 'it is a link that leads nowhere',
}

/** Returns the meaning of a code of the system in words; undefined for one that says nothing about a folder. */
export const folderReason = (code: string): string | undefined => REASONS[code]

/** Says why a file can't be written into a folder, as the middle of a sentence. */
export function notWritable(folder: string, { code = '' }: NodeJS.ErrnoException): string {
  return `${folder} can't be written to (${code === 'ENOENT' ? 'there is no such folder' : (folderReason(code) ?? code)})`
}

/** A folder can't be made. The message is one sentence. */
export class FolderError extends StartupError {
  /** The system's; `ELOOP` also for a link that leads nowhere. */
  readonly code: string
  /** The folder, or the one above it that is the cause. */
  readonly path: string
  readonly reason: string

  constructor(path: string, code: string, cause: unknown) {
    const reason = code === 'ENOENT' ? 'the system makes no folders there' : (folderReason(code) ?? code)
    super(`The folder ${path} can't be made (${reason}): repair that, or name another place.`, { cause })
    this.path = path
    this.code = code
    this.reason = reason
  }
}

/**
 * Creates a folder and those above it that are missing. Only this user can enter what is created; what exists stays as it
 * is. Node's own recursive `mkdir` never ends where the system makes no folders, such as /proc.
 *
 * @throws FolderError
 */
export async function makeFolder(path: string): Promise<void> {
  const fault = await make(path)
  if (fault === null) return
  const parent = dirname(path)
  if (parent === path || !(fault.code === 'ENOENT' || fault.code === 'ENOTDIR')) throw fault
  await makeFolder(parent)
  const again = await make(path)
  if (again !== null) throw again
}

/** @returns null when the folder is there; otherwise why it can't be made */
async function make(path: string): Promise<FolderError | null> {
  try {
    await mkdir(path, { mode: 0o700 })
    return null
  } catch (error) {
    // A folder that is there may be refused for another reason, such as a read-only file system.
    const there = await stat(path).catch(() => null)
    if (there?.isDirectory()) return null
    const { code = String(error) } = error as NodeJS.ErrnoException
    return new FolderError(path, code === 'EEXIST' && !there ? 'ELOOP' : code, error)
  }
}
