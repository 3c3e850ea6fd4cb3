import { type Command, Option } from 'commander'
import { type Client, type ClientOptions, positive, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & { game?: string; follow?: true; limit: number }

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description(
      "Prints what the scripts of a game's rooms have logged, with room.log or by an exception. The platform keeps the " +
        'last 1,000 lines of a game.',
    )
    .option('--game <game>', 'slug or id (default: that of gameyard.json)')
    .option('-f, --follow', 'go on with every further line, until Ctrl-C')
    .addOption(new Option('--limit <number>', 'begin with so many lines').argParser(positive).default(50))
    .addHelpText(
      'after',
      `
Examples:
  gameyard logs
  gameyard logs --follow --game duo
  gameyard logs --json | jq -r '.lines[].text'
  gameyard logs --follow --json                   one JSON document a line`,
    )
    .action((options: Options) => runClient(options, installation, (client) => run(client, options)))
}

async function run(client: Client, { game: named, follow, limit }: Options): Promise<void> {
  const { terminal, signal } = client
  const [{ chosenGame }, { readLogs, followLogs, formatLine }] = await Promise.all([
    import('./games.ts'),
    import('../../clients/cli/logs.ts'),
  ])
  const [api, { game }] = await Promise.all([client.api(), chosenGame(client, named)])
  if (follow) {
    const most = Math.min(limit, 100)
    return followLogs(api, game.id, { limit: most, signal }, (line) =>
      terminal.entry(line, () => formatLine(terminal, line)),
    )
  }
  const lines = await readLogs(api, game.id, limit)
  terminal.result({ lines }, () =>
    lines.length === 0
      ? `The room scripts of ${game.title} have logged nothing.`
      : lines.map((line) => formatLine(terminal, line)).join('\n'),
  )
}
