/** Additions to the message. */
export interface ErrorExtras {
  /** A snake_case code for programs: the platform's code if it sent one. */
  code?: string
  /** The fix: one or two sentences, or a command. */
  hint?: string
  /** 1 for a failure, 2 for wrong usage, 130 for a stop from the keyboard. */
  exitCode?: number
  cause?: unknown
  /** The platform's list of problems with their locations. */
  details?: { path: string; message: string }[]
  /** The platform's reason why a generation failed. */
  reason?: string | null
}

/** An error that the user can fix. It has one sentence about the problem and one about the fix. */
export class CliError extends Error {
  readonly code: string
  readonly hint: string | null
  readonly exitCode: number
  readonly details: { path: string; message: string }[]
  readonly reason: string | null

  constructor(
    message: string,
    { code = 'failed', hint, exitCode = 1, cause, details = [], reason = null }: ErrorExtras = {},
  ) {
    super(message, { cause })
    this.name = 'CliError'
    this.code = code
    this.hint = hint ?? null
    this.exitCode = exitCode
    this.details = details
    this.reason = reason
  }
}

/** Creates the error for an invalid command line. */
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

/** Describes why a file or folder could not be used. */
export const fileReason = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return (code && REASONS[code]) || code || message
}
