import { fileReason } from '../clients/cli/errors.ts'

/**
 * Makes output that can't be written, such as on a full disk, the failure of the command.
 *
 * @param keepsRunning whether the command serves others, and so outlives its output
 */
export function guardStandardStreams(keepsRunning: boolean): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader such as `head` may close the pipe early; that is not a failure.
    if (error.code === 'EPIPE') process.exit(0)
    if (keepsRunning) return
    process.stderr.write(`Standard output can't be written: ${fileReason(error)}.\n`)
    process.exit(1)
  })
  // Messages are for a reader, who may go away. The work goes on.
  process.stderr.on('error', () => {})
}
