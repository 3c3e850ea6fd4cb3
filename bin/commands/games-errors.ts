import type { Command } from 'commander'
import type { GameError } from '../../clients/cli/games.ts'
import { printable } from '../../clients/cli/terminal.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

/**
 * Configures `gameyard games errors`, the exceptions in the browsers of a game's players.
 *
 * @param chosen returns the id of the target game
 */
export function configureErrors(
  games: Command,
  installation: Installation,
  chosen: (client: Client, named: string | undefined) => Promise<{ game: { id: string } }>,
): void {
  withClientOptions(games.command('errors'))
    .summary('show exceptions in the browsers of players')
    .description(
      'Shows the exceptions in the browsers of players, the latest first, of pages that load /__service/errors.js.',
    )
    .argument('[game]', 'slug or id; default: that of gameyard.json')
    .option('--clear', 'forget them; what occurs again appears again')
    .addHelpText('after', '\nExamples:\n  gameyard games errors duo\n  gameyard games errors duo --clear')
    .action((game: string | undefined, options: ClientOptions & { clear?: true }) =>
      runClient(options, installation, async (client) => {
        const { id } = (await chosen(client, game)).game
        await (options.clear ? clear(client, id) : list(client, id))
      }),
    )
}

async function list(client: Client, gameId: string): Promise<void> {
  const [api, { listErrors }] = await Promise.all([client.api(), import('../../clients/cli/games.ts')])
  const errors = await listErrors(api, gameId)
  const { terminal } = client
  terminal.result({ errors }, () =>
    errors.length === 0
      ? 'No errors are reported. The pages of the game report them with <script src="/__service/errors.js"></script>'
      : terminal.table(
          ['LAST', 'TIMES', 'WHERE', 'WHAT'],
          errors.map((error) => [
            `${error.lastAt.slice(0, 16).replace('T', ' ')} UTC`,
            String(error.count),
            placeOf(error),
            printable(error.message).replaceAll('\n', ' '),
          ]),
        ),
  )
}

async function clear(client: Client, gameId: string): Promise<void> {
  const [api, { clearErrors }] = await Promise.all([client.api(), import('../../clients/cli/games.ts')])
  await clearErrors(api, gameId)
  client.terminal.result({ cleared: true }, () => 'The errors are forgotten.')
}

function placeOf({ source, ...error }: GameError): string {
  const { path, line, column } = source ?? error
  return path === null ? '–' : printable([path, line, column].filter((part) => part !== null).join(':'))
}
