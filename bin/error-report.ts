import { CommanderError } from 'commander'
import { CliError } from '../clients/cli/errors.ts'
import { Terminal } from '../clients/cli/terminal.ts'

/** The number of details that people see. */
const SHOWN_DETAILS = 10

/**
 * Reports why a command failed: on standard error as a sentence and a hint, with `--json` also as JSON on standard
 * output. The stack appears only for an unexpected error, which is a bug of the program.
 *
 * @returns the exit code: 1 for failure, 2 for wrong usage, 130 for a stop from the keyboard; 0 for help and version
 */
export async function reportError(error: unknown, json: boolean): Promise<number> {
  if (error instanceof CommanderError && error.exitCode === 0) return 0
  const terminal = new Terminal({ json })
  const { message, code, hint, details, reason, exitCode } = await failureOf(error)
  if (json) {
    const listed = details.length > 0 ? { details } : {}
    const described = { message, code, ...(hint ? { hint } : {}), ...listed }
    terminal.result({ error: described, ...(reason ? { reason } : {}) }, () => '')
  }
  // Commander has printed its message.
  if (error instanceof CommanderError) return exitCode
  if (code === 'internal') {
    console.error(error)
    return exitCode
  }
  terminal.note(terminal.styleNote('red', message))
  for (const { path, message: trouble } of details.slice(0, SHOWN_DETAILS)) terminal.note(`  ${path}: ${trouble}`)
  if (hint) terminal.note(`  ${hint}`)
  return exitCode
}

async function failureOf(error: unknown): Promise<CliError> {
  if (error instanceof CliError) return error
  if (error instanceof CommanderError) {
    const isHelp = error.code === 'commander.help'
    const message = isHelp ? 'A command is missing.' : error.message.replace(/^error: /, '')
    return new CliError(message, { code: 'usage', exitCode: 2 })
  }
  const { isPlatformError, StartupError } = await import('../core/errors.ts')
  if (error instanceof StartupError) return new CliError(error.message)
  if (isPlatformError(error)) return new CliError(error.message, { code: error.code })
  return (
    surroundingsOf(error as NodeJS.ErrnoException) ??
    new CliError(String((error as Error)?.message ?? error), { code: 'internal' })
  )
}

/** Explains a failure of what every command stands on; null for another one. */
function surroundingsOf({ syscall }: NodeJS.ErrnoException): CliError | null {
  if (syscall === 'uv_cwd')
    return new CliError('The working directory no longer exists.', { hint: 'Change to another one: cd' })
  if (syscall === 'uv_os_homedir' || syscall === 'uv_os_get_passwd')
    return new CliError('This user has no home folder.', { hint: 'Set HOME to a folder that this user may write to.' })
  return null
}
