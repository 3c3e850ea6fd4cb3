/** Additions to the message. */
export interface ErrorExtras {
  /** For programs, snake_case: the platform's own code where it said one. */
  code?: string
  /** The fix: one or two sentences, or a command. */
  hint?: string
  /** 1 failed, 2 wrong usage, 130 stopped from the keyboard. */
  exitCode?: number
  cause?: unknown
  /** The platform's list of what was wrong where. */
  details?: { path: string; message: string }[]
}

/** Something that went wrong in a way that a person can do something about: one sentence, and the way out. */
export class CliError extends Error {
  readonly code: string
  readonly hint: string | null
  readonly exitCode: number
  readonly details: { path: string; message: string }[]

  constructor(message: string, { code = 'failed', hint, exitCode = 1, cause, details = [] }: ErrorExtras = {}) {
    super(message, { cause })
    this.name = 'CliError'
    this.code = code
    this.hint = hint ?? null
    this.exitCode = exitCode
    this.details = details
  }
}

/** A command line that can't be carried out as it was typed. */
export const usageError = (message: string, hint?: string): CliError =>
  new CliError(message, { code: 'usage', exitCode: 2, ...(hint ? { hint } : {}) })

const REASONS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'a file is in the way',
  EISDIR: 'it is a folder',
  ENOENT: 'it does not exist',
  EMFILE: 'too many files are open',
}

/** Why a file or folder could not be used, in words. */
export const fileReason = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return (code && REASONS[code]) || code || message
}
