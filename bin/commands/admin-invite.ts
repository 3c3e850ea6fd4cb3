import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { StartupError } from '../../core/errors.ts'
import { commandActor, withInvitations } from '../admin-services.ts'
import type { Installation } from '../installation.ts'
import { printResult, withJson } from '../json-output.ts'
import { type ConfigOptions, loadPlatformConfig, withConfigOptions } from '../options.ts'

type Options = ConfigOptions & { json?: true; names?: string }

/** Adds `gameyard admin invite`, which makes the links of new accounts. */
export function configureInvite(admin: Command, installation: Installation): void {
  withJson(withConfigOptions(admin.command('invite')))
    .summary('make links, each for one new account')
    .description(
      'Makes an invitation for each name, or one. It makes one account within fourteen days, also by its code, which one types at /sign-up. The name is a note for you.',
    )
    .argument('[names...]', 'for whom, a link each')
    .option('--names <file>', 'a file with a name in each line; - is standard input')
    .addHelpText(
      'after',
      `
Examples:
  gameyard admin invite
  gameyard admin invite Ada "Grace Hopper"
  gameyard admin invite --names class.txt > links.txt`,
    )
    .action((names: string[], options: Options) => invite(names, options, installation))
}

async function invite(given: string[], options: Options, installation: Installation): Promise<void> {
  const names = [...given, ...(options.names === undefined ? [] : await namesIn(options.names))]
  const { config } = await loadPlatformConfig(options)
  await withInvitations(options, installation, async (invitations) => {
    const made = await invitations.make(names.length > 0 ? names : [''], commandActor())
    const { signUp } = config.auth as { signUp?: string }
    if (signUp === 'closed') console.error('Sign-up is closed: invitations work once auth.signUp is `invite`.')
    printResult(options, { invitations: made }, () =>
      made.map(({ note, link }) => (note ? `${note}\t${link}` : link)).join('\n'),
    )
  })
}

/** Reads the lines of a file, without the empty ones. @throws StartupError */
async function namesIn(file: string): Promise<string[]> {
  const content = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch((error: Error) => {
    throw new StartupError(`${file} can't be read: ${error.message}.`)
  })
  const names = content.split('\n').filter((line) => line.trim() !== '')
  if (names.length === 0) throw new StartupError(`There is no name in ${file}.`)
  return names
}
