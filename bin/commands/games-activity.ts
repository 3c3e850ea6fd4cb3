import { type Command, Option } from 'commander'
import type { ActivityEntry } from '../../clients/cli/games.ts'
import { type Client, type ClientOptions, positive, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

/**
 * Configures `gameyard games activity`, the list of a game's changes.
 *
 * @param chosen returns the id of the target game
 */
export function configureActivity(
  games: Command,
  installation: Installation,
  chosen: (client: Client, named: string | undefined) => Promise<{ game: { id: string } }>,
): void {
  withClientOptions(games.command('activity'))
    .summary('show who changed a game')
    .description(
      'Shows who changed a game, and when: people, tokens, coding assistants and the platform. Each entry is kept for 180 days, where the platform does not set another limit.',
    )
    .argument('[game]', 'slug or id; default: that of gameyard.json')
    .addOption(new Option('--limit <number>', 'at most so many').argParser(positive).default(20))
    .addHelpText('after', '\nExample:\n  gameyard games activity duo --limit 50')
    .action((game: string | undefined, options: ClientOptions & { limit: number }) =>
      runClient(options, installation, async (client) => {
        const { id } = (await chosen(client, game)).game
        await list(client, id, options.limit)
      }),
    )
}

async function list(client: Client, gameId: string, limit: number): Promise<void> {
  const [api, { listActivity }] = await Promise.all([client.api(), import('../../clients/cli/games.ts')])
  const activity = await listActivity(api, gameId, limit)
  const { terminal } = client
  terminal.result({ activity }, () =>
    activity.length === 0
      ? 'Nothing has changed lately.'
      : terminal.table(
          ['WHEN', 'WHO', 'WHAT', 'DETAIL'],
          activity.map(({ at, by, action, target, detail }) => [
            `${at.slice(0, 16).replace('T', ' ')} UTC`,
            authorOf(by),
            action,
            [target, detail].filter(Boolean).join('  ') || '–',
          ]),
        ),
  )
}

function authorOf({ kind, player, name, tool }: ActivityEntry['by']): string {
  if (kind === 'staff' || kind === 'platform') return kind
  const who = player?.name ?? 'a former player'
  return kind === 'person' ? who : `${who} (${[`${kind} ${name}`, tool].filter(Boolean).join(', ')})`
}
