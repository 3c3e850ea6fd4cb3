import type { Command } from 'commander'
import type { Game } from '../../clients/cli/games.ts'
import { type Client, type ClientOptions, runClient, withClientOptions } from '../client.ts'
import type { Installation } from '../installation.ts'

type Options = ClientOptions & { deploy?: string; output?: string }

/**
 * Configures `gameyard games download`, the files of a deploy.
 *
 * @param chosen returns the target game
 */
export function configureDownload(
  games: Command,
  installation: Installation,
  chosen: (client: Client, named: string | undefined) => Promise<{ game: Game }>,
): void {
  withClientOptions(games.command('download'))
    .summary('download the files of a deploy')
    .description(
      'Saves all files of a deploy in a ZIP archive, by default those of the live one, with the room script and a gameyard.json.',
    )
    .argument('[game]', 'slug or id; default: that of gameyard.json')
    .option('--deploy <deploy>', 'its id; `gameyard rollback --list` shows them')
    .option('-o, --output <file>', 'the file, the folder, or - for standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  gameyard games download duo\n  gameyard games download duo -o duo.zip && unzip duo.zip -d duo',
    )
    .action((game: string | undefined, options: Options) =>
      runClient(options, installation, async (client) => download(client, (await chosen(client, game)).game, options)),
    )
}

async function download(client: Client, game: Game, { deploy, output }: Options): Promise<void> {
  const { terminal, env } = client
  const [api, { save }, { ProgressBar }, { formatBytes }, { CliError }] = await Promise.all([
    client.api(),
    import('../../clients/cli/download.ts'),
    import('../../clients/cli/progress.ts'),
    import('../../clients/cli/terminal.ts'),
    import('../../clients/cli/errors.ts'),
  ])
  const deployId = deploy ?? game.liveDeployId
  if (!deployId)
    throw new CliError(`${game.title} has no live build.`, { code: 'not_found', hint: 'gameyard rollback --list' })
  const answer = await api.ask('GET', `/api/games/${game.id}/deploys/${encodeURIComponent(deployId)}/archive`, {
    idleMs: 120_000,
  })
  const bar = new ProgressBar(terminal, env)
  bar.start('Loading', Number(answer.headers['content-length'] ?? 0))
  const name = `${game.slug}-${deployId.slice(-10).toLowerCase()}.zip`
  const saved = await save(answer, { to: output, name, advance: (bytes) => bar.advance(bytes) }).finally(() =>
    bar.clear(),
  )
  if (saved.file !== '-')
    terminal.result({ ...saved, deployId }, () => `Saved ${saved.file} (${formatBytes(saved.bytes)})`)
}
