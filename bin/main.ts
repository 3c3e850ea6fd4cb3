import { Command, CommanderError } from 'commander'
import { isPlatformError, StartupError } from '../core/errors.ts'
import { addAdmin } from './commands/admin.ts'
import { addBackup } from './commands/backup.ts'
import { addConfig } from './commands/config.ts'
import { addInit } from './commands/init.ts'
import { addRestore } from './commands/restore.ts'
import { addServe } from './commands/serve.ts'
import { addVersion } from './commands/version.ts'
import { type Installation, packageInstallation } from './installation.ts'

/**
 * Runs one command line and sets the exit code: 0 done, 1 failed, 2 wrong usage.
 *
 * @param argv as `process.argv`: the arguments begin at the third
 */
export async function main(argv: string[], installation: Installation = packageInstallation()): Promise<void> {
  try {
    await createProgram(installation).parseAsync(argv)
  } catch (error) {
    process.exitCode = exitCodeOf(error)
  }
}

/** The commands; each imports what it runs on only when it runs, so that --help is at once there. */
function createProgram(installation: Installation): Command {
  const program = new Command('gameyard')
    .description('The game platform you host yourself.')
    .version(installation.version, '-V, --version', 'print the version')
    .exitOverride()
    .showHelpAfterError('Run `gameyard --help` for the commands, `gameyard help COMMAND` for one.')
    .addHelpText('after', EXAMPLES)
  for (const add of [addServe, addInit, addConfig, addAdmin, addBackup, addRestore, addVersion])
    add(program, installation)
  return program
}

const EXAMPLES = `
Examples:
  gameyard serve                     start on http://localhost:8080, data in ./data
  gameyard init                      write an annotated gameyard.yaml
  gameyard config check              validate it, every mistake with its line
  gameyard backup FILE               copy the data, also while the platform runs`

/** Prints an error the way a person needs it. What is nobody's mistake but ours comes with its stack. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2 // commander has printed it
  const expected = error instanceof StartupError || isPlatformError(error)
  console.error(expected ? error.message : error)
  return 1
}
