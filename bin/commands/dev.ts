import { once } from 'node:events'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Game } from '../../clients/cli/games.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & { game?: string; port: number; open?: true; offline?: true }

export function configure(command: Command, installation: Installation): void {
  withClientOptions(command)
    .description(
      'Serves a folder on this machine, and reloads the page when a file changes. Sign-in, session, rooms and ' +
        'scripts of the platform are those of the deployed game.',
    )
    .argument('[dir]', 'the folder with index.html (default: that of gameyard.json, or this one)')
    .option('--game <game>', 'slug or id (default: that of gameyard.json)')
    .addOption(
      new Option('-p, --port <number>', 'listen on this port; 0 picks a free one').argParser(portNumber).default(4000),
    )
    .option('--open', 'open it in the browser')
    .option('--offline', 'the files alone, without a platform')
    .addHelpText(
      'after',
      `
Examples:
  gameyard dev
  gameyard dev dist --game duo --open
  gameyard dev --offline --port 4001`,
    )
    .action((dir: string | undefined, options: Options) =>
      runClient(options, installation, (client) => run(client, dir, options)),
    )
}

function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('expected 0 to 65535.')
  return Number(text)
}

async function run(
  client: Client,
  dir: string | undefined,
  { game: named, port, open, offline }: Options,
): Promise<void> {
  const { terminal, cwd, env, signal } = client
  const [{ chooseFolder }, { startDevServer }, { CliError, usageError }] = await Promise.all([
    import('../../clients/cli/deploy/target.ts'),
    import('../../clients/cli/dev/server.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  const { stat } = await import('node:fs/promises')
  const project = await client.project()
  const folder = await chooseFolder(dir, project, cwd)
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new CliError(`${folder} is no folder.`, { code: 'no_build', hint: 'gameyard dev dist' })
  const idOrSlug = named ?? project?.gameId
  let game: Game | null = null
  if (!offline && idOrSlug !== undefined) {
    const [api, { getGame }] = await Promise.all([client.api(), import('../../clients/cli/games.ts')])
    game = await getGame(api, idOrSlug)
  }
  if (offline && named !== undefined) throw usageError('--offline goes without --game.')
  const server = await startDevServer({
    folder,
    port,
    game,
    changed: (names) =>
      terminal.note(
        terminal.styleNote('dim', `changed: ${names.slice(0, 3).join(', ')}${names.length > 3 ? ' …' : ''}`),
      ),
  })
  terminal.result({ url: server.url, folder, game: game?.slug ?? null }, () =>
    [
      `${terminal.style('green', 'Playing')}  ${server.url}`,
      `  Files     ${folder}`,
      `  Platform  ${game ? `${game.url} (sign-in, rooms)` : 'none: sign-in and rooms need --game'}`,
      terminal.style('dim', 'Ctrl-C stops it.'),
    ].join('\n'),
  )
  if (open) {
    const { openBrowser } = await import('../../clients/cli/open-browser.ts')
    await openBrowser(server.url, env)
  }
  if (!signal.aborted) await once(signal, 'abort')
  await server.close()
}
