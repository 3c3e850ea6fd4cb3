import { Command, CommanderError, Help } from 'commander'
import { COMMANDS } from './command-list.ts'
import { type Installation, packageInstallation } from './installation.ts'

/**
 * Runs one command line and sets the exit code: 0 for success, 1 for failure, 2 for wrong usage.
 *
 * @param argv as `process.argv`: the arguments begin at the third
 */
export async function main(argv: string[], installation: Installation = packageInstallation()): Promise<void> {
  // A reader such as `head` may close the pipe early; that is not a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
  })
  try {
    const program = await createProgram(installation, namedIn(argv.slice(2)))
    await program.parseAsync(argv)
  } catch (error) {
    process.exitCode = await exitCodeOf(error)
  }
}

const EVERY = '*'

/** Returns the command name: the first word, or the word after `help`. */
function namedIn(arguments_: string[]): string | undefined {
  const words = arguments_.filter((argument) => !argument.startsWith('-'))
  return words[0] === 'help' ? words[1] : words[0]
}

/**
 * Creates the program with all command names, and with one of the commands loaded. A command imports its dependencies
 * only when it runs, so that help is fast.
 *
 * @param wanted the name of the command to load; `EVERY` loads all
 */
async function createProgram(installation: Installation, wanted: string | undefined): Promise<Command> {
  const program = new Command('gameyard')
    .description('The game platform you host yourself.')
    .version(installation.version, '-V, --version', 'print the version')
    .exitOverride()
    .configureHelp(HELP)
    .showHelpAfterError('Run `gameyard --help` for the commands, `gameyard help COMMAND` for one.')
    .helpOption('-h, --help', 'show this')
    .addHelpCommand(new Command('help').argument('[command]').summary('show what a command takes').helpGroup('Other:'))
    .addHelpText('after', EXAMPLES)
  for (const { name, summary, group, load } of COMMANDS) {
    const command = program.command(name).summary(summary).helpGroup(group)
    if (name !== wanted && wanted !== EVERY) continue
    const { configure } = await load()
    configure(command, installation, () => createProgram(installation, EVERY))
  }
  return program
}

/** The options of every client command, listed below a command's own. */
const GENERAL = ['--url', '--json', '--help']

/** The help format of every command. */
const HELP: Partial<Help> & ThisType<Help> = {
  visibleOptions(command) {
    const options = Help.prototype.visibleOptions.call(this, command)
    return options.sort((a, b) => GENERAL.indexOf(a.long ?? '') - GENERAL.indexOf(b.long ?? ''))
  },
  commandDescription(command) {
    const summary = command.summary()
    return command.description() || (summary && `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.`)
  },
}

const EXAMPLES = `
Examples:
  gameyard serve                     start on http://localhost:8080, data in ./data
  gameyard login                     sign in to it, in your browser
  gameyard deploy dist --create      make a game of a folder, and play it
  gameyard backup FILE               copy the data, also while the platform runs`

/** Prints an error for the user. Prints the stack only for an unexpected error, which is a bug of the program. */
async function exitCodeOf(error: unknown): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2 // commander has printed the message
  const { isPlatformError, StartupError } = await import('../core/errors.ts')
  const expected = error instanceof StartupError || isPlatformError(error)
  console.error(expected ? error.message : error)
  return 1
}
