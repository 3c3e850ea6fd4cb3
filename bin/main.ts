import { Command, Help } from 'commander'
import { COMMANDS } from './command-list.ts'
import { type Installation, packageInstallation } from './installation.ts'
import { guardStandardStreams } from './standard-streams.ts'

/**
 * Runs one command line and sets the exit code: 0 for success, 1 for failure, 2 for wrong usage.
 *
 * @param argv as `process.argv`: the arguments begin at the third
 */
export async function main(argv: string[], installation: Installation = packageInstallation()): Promise<void> {
  const name = namedIn(argv.slice(2))
  const isService = name !== undefined && SERVICES.has(name)
  guardStandardStreams(isService)
  const report = async (error: unknown) => {
    const { reportError } = await import('./error-report.ts')
    return reportError(error, wantsJson(argv.slice(2)))
  }
  // An error of an event that nobody awaits is reported like any other.
  if (!isService) process.once('uncaughtException', (error) => void report(error).then((code) => process.exit(code)))
  try {
    const program = await createProgram(installation, name)
    await program.parseAsync(argv)
  } catch (error) {
    process.exitCode = await report(error)
  }
}

/** Commands that run until they are stopped, for others. */
const SERVICES = new Set(['serve', 'worker'])

/** Whether the arguments ask for JSON, also if the rest of them is wrong. */
function wantsJson(arguments_: string[]): boolean {
  const end = arguments_.indexOf('--')
  return (end < 0 ? arguments_ : arguments_.slice(0, end)).includes('--json')
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
    .addHelpCommand(describeHelp(new Command('help')))
    .addHelpText('after', EXAMPLES)
  for (const { name, summary, group, load } of COMMANDS) {
    const command = program.command(name).summary(summary).helpGroup(group)
    if (name !== wanted && wanted !== EVERY) continue
    const { configure } = await load()
    configure(command, installation, () => createProgram(installation, EVERY))
  }
  // The parser's own knows one level of names, which is enough for the commands below this one.
  program.helpCommand(false)
  describeHelp(program.command('help'))
    .allowExcessArguments()
    .action((_name: string, _options: object, { args }: Command) => helpOf(program, args))
  return program
}

const describeHelp = (help: Command): Command =>
  help.argument('[command]').summary('show what a command takes').helpGroup('Other:')

/** Shows the help of a command, such as `games list`. A name that the program doesn't know is an error. */
async function helpOf(program: Command, names: string[]): Promise<void> {
  let command = program
  for (const name of names) {
    if (command.commands.length === 0) break
    const below = command.commands.find((candidate) => candidate.name() === name)
    // The parser reports the unknown command, and suggests a similar one.
    if (!below) return void (await command.parseAsync(['--', name], { from: 'user' }))
    command = below
  }
  command.outputHelp()
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
