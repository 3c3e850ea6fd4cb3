import type { Command } from 'commander'
import type { DayCounts } from '../../clients/cli/games.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & { from?: string; to?: string }

/**
 * Configures `gameyard games analytics`, the statistics of a game by day.
 *
 * @param chosen returns the id of the target game
 */
export function configureAnalytics(
  games: Command,
  installation: Installation,
  chosen: (client: Client, named: string | undefined) => Promise<{ game: { id: string } }>,
): void {
  withClientOptions(games.command('analytics'))
    .summary('show how often a game is played')
    .description('Shows the plays, players and sign-ins of a game by day (UTC), by default of the last 30 days.')
    .argument('[game]', 'slug or id; default: that of gameyard.json')
    .option('--from <day>', 'the first day, such as 2026-11-01')
    .option('--to <day>', 'the last day')
    .addHelpText(
      'after',
      '\nExamples:\n  gameyard games analytics duo\n  gameyard games analytics duo --from 2026-11-01 --json > november.json',
    )
    .action((game: string | undefined, options: Options) =>
      runClient(options, installation, async (client) => show(client, (await chosen(client, game)).game.id, options)),
    )
}

async function show(client: Client, gameId: string, { from, to }: Options): Promise<void> {
  const [api, { readAnalytics }] = await Promise.all([client.api(), import('../../clients/cli/games.ts')])
  const analytics = await readAnalytics(api, gameId, { from, to })
  const { terminal } = client
  const row = (name: string, { plays, uniquePlayers, signIns, peakPlayers }: DayCounts) => [
    name,
    ...[plays, uniquePlayers, signIns, peakPlayers].map(String),
  ]
  terminal.result(analytics, () =>
    terminal.table(
      ['DAY', 'PLAYS', 'PLAYERS', 'SIGN-INS', 'AT ONCE'],
      [
        // Days on which nothing happened would hide the others.
        ...analytics.days.filter(({ date: _, ...counts }) => Object.values(counts).some((count) => count > 0)),
        { date: 'Total', ...analytics.totals },
      ].map(({ date, ...counts }) => row(date, counts)),
    ),
  )
}
